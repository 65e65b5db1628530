"""Text of a PDF page as PDFium sees it: lines with their positions, and whether the page shows more than they say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crag.ingest.parse.page_layout import WIDE_GAP, TextLine
from crag.ingest.parse.page_tables import PageTable, find_ruled_tables
from crag.text.tables import write_row

_UNMAPPED_CHARACTER = re.compile("[\ufffd\ue000-\uf8ff]")  # produced by fonts without a Unicode mapping
_LETTER = re.compile(r"[^\W_]")
_NOTE_MARK = re.compile(  # after a word or a sentence; after anything shorter it may be an exponent
    r"(?:(?<=[^\W\d_]{4})|(?<=[가-힣\u4e00-\u9fff]{2})|(?<=[.,;:!?)\]”’\"'。，、）」]))\d{1,3}(?!\w)"
)
_MAX_MARK_HEIGHT = 0.9  # of the character before it; ordinary figures differ by rounding alone
_MIN_LETTERS = 30  # from here on the text layer of a page is trusted
_LARGE_IMAGE_SHARE = 0.5  # share of the page


@dataclass(frozen=True, slots=True)
class PageText:
    """Text of one page.

    `garbled`: its fonts have no Unicode mapping. `unread`: the page shows text that its lines lack.
    """

    lines: Sequence[TextLine] = ()
    garbled: bool = False
    unread: bool = False


def read_page_text(sheet: Any) -> PageText:
    """Read the text of a page and judge whether it is complete. Raises `PdfiumError`."""
    page = sheet.get_textpage()
    lines = list(_page_lines(page))
    text = "".join(line.text for line in lines)
    if len(_UNMAPPED_CHARACTER.findall(text)) > 0.3 * len(text):
        return PageText(garbled=True, unread=True)
    letters = len(_LETTER.findall(text))
    lines = _put_rows(lines, find_ruled_tables(sheet, page)) if lines else lines
    return PageText(lines, unread=letters < _MIN_LETTERS and _may_show_more_text(sheet, letters))


def _put_rows(lines: Sequence[TextLine], tables: Sequence[PageTable]) -> list[TextLine]:
    """Return the lines with the rows of ruled tables in place of the lines inside them."""
    found = list(lines)
    for table in tables:
        inside = [line for line in found if table.contains((line.left + line.right) / 2, line.bottom + line.height / 2)]
        if inside:
            at, height = found.index(inside[0]), min(line.height for line in inside)
            found = [line for line in found if line not in inside]
            found[at:at] = [
                TextLine(write_row(cells), table.left, bottom, height, table.right, is_row=True, cells=cells)
                for cells, bottom in zip(table.rows, table.bottoms, strict=True)
            ]
    return found


def _may_show_more_text(sheet: Any, letters: int) -> bool:
    """Return whether images or drawings may contain text."""
    import pypdfium2.raw as pdfium

    if letters == 0:
        objects: int = pdfium.FPDFPage_CountObjects(sheet)
        return objects > 0
    width, height = sheet.get_size()
    covered = 0.0
    for picture in sheet.get_objects([pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = picture.get_bounds()
        covered += (right - left) * (top - bottom)
    return bool(covered > _LARGE_IMAGE_SHARE * width * height)


def _page_lines(page: Any) -> Iterator[TextLine]:
    position = 0
    for text in page.get_text_range().split("\r\n"):
        if text.strip():
            letter = next((place for place, sign in enumerate(text) if sign.isalnum()), 0)  # signs vary in size
            box = _loose_box(page, position + letter)
            bottom, height, beginning = box.bottom, box.top - box.bottom, box.left
            marks = _note_mark_places(page, position, text)
            for begin, end, left, right in _split_at_gaps(page, position, len(text), height):
                if part := "".join(text[at] for at in range(begin, end) if at not in marks).strip():
                    yield TextLine(part, left if begin else beginning, bottom, height, right)
        position += len(text) + len("\r\n")


def _note_mark_places(page: Any, position: int, text: str) -> set[int]:
    """Return the offsets of raised note numbers, which would be read as part of the word or figure before them."""
    places: set[int] = set()
    for mark in _NOTE_MARK.finditer(text):
        before, own = (_loose_box(page, position + at) for at in (mark.start() - 1, mark.start()))
        height = before.top - before.bottom
        if own.top - own.bottom < _MAX_MARK_HEIGHT * height and own.bottom + own.top > before.bottom + before.top:
            places.update(range(*mark.span()))
    return places


def _loose_box(page: Any, text_index: int) -> Any:
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(page, pdfium.FPDFText_GetCharIndexFromTextIndex(page, text_index), box)
    return box


def _split_at_gaps(page: Any, position: int, length: int, height: float) -> Iterator[tuple[int, int, float, float]]:
    """Yield (begin, end, left, right) for each run of one line, as text offsets and in points."""
    import pypdfium2.raw as pdfium

    first = pdfium.FPDFText_GetCharIndexFromTextIndex(page, position)
    boxes = [page.get_rect(number) for number in range(page.count_rects(first, length))]
    begin = 0
    left, right = (boxes[0][0], boxes[0][2]) if boxes else (0.0, 0.0)
    wide = WIDE_GAP * max([height, *(box[3] - box[1] for box in boxes)])  # a line may begin with a small sign
    for box in boxes[1:]:
        if max(box[0] - right, left - box[2]) > wide:
            at = _text_index(page, box, height) - position
            if begin < at < length:
                yield begin, at, left, right
                begin, left, right = at, box[0], box[2]
                continue
        left, right = min(left, box[0]), max(right, box[2])
    yield begin, length, left, right


def _text_index(page: Any, box: tuple[float, float, float, float], height: float) -> int:
    """Return the text offset at which the box begins, or -1 if unknown."""
    import pypdfium2.raw as pdfium

    left, bottom, right, top = box
    middle = (bottom + top) / 2
    places = [pdfium.FPDFText_GetCharIndexAtPos(page, x, middle, 2, height / 2) for x in (left + 0.5, right - 0.5)]
    found = [place for place in places if place >= 0]
    return int(pdfium.FPDFText_GetTextIndexFromCharIndex(page, min(found))) if found else -1
