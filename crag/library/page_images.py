"""Page images: a PDF page with the cited passage and its deciding sentence highlighted."""

from __future__ import annotations

import io
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag.errors import NotFound
from crag.text.language import split_sentences

if TYPE_CHECKING:
    from PIL.Image import Image


PixelBox = tuple[int, int, int, int]  # left, upper, right, lower in pixels

_PIXELS_PER_POINT = 1.9
_MAX_PIXELS = 12_000_000
_PALE_COLOUR, _STRONG_COLOUR = (255, 244, 200), (255, 214, 102)
_SHORTEST_MATCH = 8  # letters
_SHORTEST_FRAGMENT = 16  # letters, of a sentence that something else interrupts on the page
_LEAST_COVERED = 0.5  # share of a sentence that its fragments must cover
_PAPER_BRIGHTNESS = 250  # brightness from which a pixel counts as empty
_MARGIN = 24  # pixels, like the following
_PASSAGE_MARGIN = 90
_LEAD_HEIGHT = 40  # what is shown of a passage above its deciding sentence, so that this is in view
_CUT_HEIGHT = 90  # where a row is sought above which to cut: a picture behind the text leaves no empty one
_GUTTER_WIDTH = 16
_WIDEST_SPACE = 1.5  # in letter heights: a wider gap is one between columns or cells
_MIN_COLUMN_SHARE = 0.25  # of the width of the text: anything narrower is a cell of a table
# PDFium is not thread-safe.
_PDFIUM_LOCK = threading.Lock()


def count_pages(path: Path) -> int:
    """Return the number of pages of a PDF. Raises `NotFound` if it cannot be opened."""
    with _open_pdf(path) as pdf:
        return len(pdf)


@dataclass(frozen=True, slots=True)
class PageImage:
    """A PNG of a page.

    `mark` is where the highlighted text begins, as shares of its width and height; None if none was found, as on every
    scanned page.
    """

    png: bytes
    mark: tuple[float, float] | None


def render_page(
    path: Path, page: int, highlight: str = "", strong: str = "", *, around_passage: bool = False
) -> PageImage:
    """Render page `page` (from 1) without margins, with `highlight` marked pale and `strong` marked strongly.

    Text on another page, or not found on this one, is not marked. `around_passage` crops to the columns of the marked
    part, one below the other, without cutting through a line. Use only for files that were parsed at ingest, which
    happens in a process that can be killed. Raises `NotFound`.
    """
    with _open_pdf(path) as pdf:
        if not 1 <= page <= len(pdf):
            raise NotFound(f"The document has no page {page}.")
        sheet = pdf[page - 1]
        with closing(sheet.render(scale=_page_scale(sheet))) as bitmap:
            image = bitmap.to_pil().convert("RGB").copy()
            letters = _PageLetters(sheet.get_textpage(), bitmap.get_posconv(sheet))
        pale, dark = letters.boxes(highlight), letters.boxes(strong)
    marked = _highlight_boxes(image, pale, dark)
    ink = _Ink(image)
    areas = (ink.areas(pale, dark) if around_passage else []) or [ink.whole]
    picture = _stack_images([marked.crop(area) for area in areas])
    mark = _locate([*dark, *pale][0], areas) if pale or dark else None
    return PageImage(_encode_png(picture), mark and (mark[0] / picture.width, mark[1] / picture.height))


@contextmanager
def _open_pdf(path: Path) -> Iterator[Any]:
    """Open a PDF under the PDFium lock. Raises `NotFound`."""
    import pypdfium2

    with _PDFIUM_LOCK:
        try:
            pdf = pypdfium2.PdfDocument(path)
            try:
                yield pdf
            finally:
                pdf.close()
        except (pypdfium2.PdfiumError, OSError) as error:
            raise NotFound("The page cannot be drawn; its text is still there.") from error


def _page_scale(sheet: Any) -> float:
    """Return the pixels per point: 1.9, less for posters."""
    points = max(1.0, sheet.get_width() * sheet.get_height())
    return float(min(_PIXELS_PER_POINT, (_MAX_PIXELS / points) ** 0.5))


class _PageLetters:
    """The letters and digits of a page in order, with their positions on the image."""

    def __init__(self, text: Any, positions: Any) -> None:
        import pypdfium2.raw as pdfium

        self._text = text
        self._positions = positions
        self._places: list[int] = []
        squeezed: list[str] = []
        for place in range(text.count_chars()):
            code = pdfium.FPDFText_GetUnicode(text, place)
            letters = _normalize_letters(chr(code)) if code <= 0x10FFFF else ""
            squeezed.append(letters)
            self._places += [place] * len(letters)
        self._squeezed = "".join(squeezed)

    def boxes(self, passage: str) -> list[PixelBox]:
        """Return one box per line of the passage: found as a whole, else sentence by sentence."""
        whole = self._find(_normalize_letters(passage), 0)
        spans = [whole] if whole else list(self._find_sentences(passage))
        return [box for start, end in spans for box in self._lines(self._places[start:end])]

    def _find_sentences(self, passage: str) -> Iterator[tuple[int, int]]:
        last = 0
        for sentence in split_sentences(passage):
            letters = _normalize_letters(sentence)
            span = self._find(letters, last) or self._find(letters, 0)
            for start, end in [span] if span else self._find_fragments(letters, last):
                last = end
                yield start, end

    def _find_fragments(self, letters: str, last: int) -> list[tuple[int, int]]:
        """Find a sentence that a column, a footnote or a picture interrupts; nothing if most of it is elsewhere."""
        spans: list[tuple[int, int]] = []
        at = 0
        while at + _SHORTEST_FRAGMENT <= len(letters):
            beginning = letters[at : at + _SHORTEST_FRAGMENT]
            start = next((found for begin in (last, 0) if (found := self._squeezed.find(beginning, begin)) >= 0), -1)
            if start < 0:
                at += 1
                continue
            length = _common_length(letters, at, self._squeezed, start)
            spans.append((start, start + length))
            at, last = at + length, start + length
        covered = sum(end - start for start, end in spans)
        return spans if covered >= _LEAST_COVERED * len(letters) else []

    def _find(self, letters: str, start: int) -> tuple[int, int] | None:
        at = self._squeezed.find(letters, start) if len(letters) >= _SHORTEST_MATCH else -1
        return (at, at + len(letters)) if at >= 0 else None

    def _lines(self, indexes: Sequence[int]) -> Iterator[PixelBox]:
        """Yield the boxes of adjacent letters, joined while they are on one line of the image."""
        line: PixelBox | None = None
        for place in indexes:
            letter = self._box_to_pixels(*self._text.get_charbox(place, loose=True))
            if line and _is_on_line(line, letter):
                line = _enclose([line, letter])
                continue
            if line:
                yield line
            line = letter
        if line:
            yield line

    def _box_to_pixels(self, left: float, bottom: float, right: float, top: float) -> PixelBox:
        """Convert a box to pixels; a page may be rotated."""
        corners = [self._positions.to_bitmap(x, y) for x, y in ((left, bottom), (right, top))]
        (x1, x2), (y1, y2) = (sorted(values) for values in zip(*corners, strict=True))
        return x1, y1, x2, y2


def _common_length(text: str, start: int, other: str, other_start: int) -> int:
    """Return how many characters are the same from these places on."""
    longest = min(len(text) - start, len(other) - other_start)
    return next((n for n in range(longest) if text[start + n] != other[other_start + n]), longest)


def _is_on_line(line: PixelBox, letter: PixelBox) -> bool:
    """Return whether a letter continues a line, which runs upwards or downwards on a rotated page."""
    left, upper, right, lower = letter
    if min(line[3], lower) - max(line[1], upper) > min(line[3] - line[1], lower - upper) / 2:
        apart = max(left - line[2], line[0] - right)
        return apart < _WIDEST_SPACE * (lower - upper)
    width = right - left
    return abs(left - line[0]) + abs(right - line[2]) < width / 4 and max(upper - line[3], line[1] - lower) < width


def _enclose(boxes: Sequence[PixelBox]) -> PixelBox:
    """Return the smallest box around all boxes."""
    left, upper, right, lower = zip(*boxes, strict=True)
    return min(left), min(upper), max(right), max(lower)


@lru_cache(4_096)
def _normalize_letters(text: str) -> str:
    """Reduce text to lower-case letters and digits without ligatures and accents, which line breaks cannot change."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", text).casefold() if sign.isalnum())


def _highlight_boxes(image: Image, pale: Sequence[PixelBox], dark: Sequence[PixelBox]) -> Image:
    """Multiply the highlight colours onto the page, like a marker pen: the text under them stays black."""
    from PIL import Image as Pictures
    from PIL import ImageChops, ImageDraw

    if not pale and not dark:
        return image
    colours = Pictures.new("RGB", image.size, "white")
    brush = ImageDraw.Draw(colours)
    for boxes, colour in ((pale, _PALE_COLOUR), (dark, _STRONG_COLOUR)):
        for box in boxes:
            brush.rectangle(box, fill=colour)
    return ImageChops.multiply(image, colours)


def _group_columns(boxes: Sequence[PixelBox]) -> list[list[PixelBox]]:
    """Group boxes into columns that do not overlap horizontally, from the left."""
    columns: list[list[PixelBox]] = []
    for box in sorted(boxes):
        if columns and box[0] < max(right for _, _, right, _ in columns[-1]):
            columns[-1].append(box)
        else:
            columns.append([box])
    return columns


def _stack_images(images: Sequence[Image]) -> Image:
    """Stack the images vertically."""
    from PIL import Image as Pictures

    size = max(one.width for one in images), sum(one.height for one in images)
    sheet = Pictures.new("RGB", size, "white")
    top = 0
    for one in images:
        sheet.paste(one, (0, top))
        top += one.height
    return sheet


def _locate(box: PixelBox, areas: Sequence[PixelBox]) -> tuple[int, int] | None:
    """Return the left upper corner of a box in the stacked pictures of these areas; None if it is in none of them."""
    top = 0
    for area in areas:
        if _overlap(box, area) and area[1] <= box[1] < area[3]:
            return max(0, box[0] - area[0]), top + box[1] - area[1]
        top += area[3] - area[1]
    return None


class _Ink:
    """The pixels of a page that are not empty, and the areas that can be cut out without cutting through them."""

    def __init__(self, image: Image) -> None:
        import numpy as np

        self._dark: Any = np.asarray(image.convert("L")) < _PAPER_BRIGHTNESS
        rows, columns = np.flatnonzero(self._dark.any(axis=1)), np.flatnonzero(self._dark.any(axis=0))
        height, width = self._dark.shape
        self._text = (
            (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
            if len(rows)
            else (0, 0, width, height)
        )

    @property
    def whole(self) -> PixelBox:
        """The page without its empty margins."""
        return self._with_margin(self._text)

    def areas(self, pale: Sequence[PixelBox], dark: Sequence[PixelBox]) -> list[PixelBox]:
        """Return an area for each column with marks, in reading order, beginning a little above the first dark mark."""
        groups = _group_columns([*pale, *dark])
        cut = [self._column_area(group, dark) for group in groups]
        while overlapping := next(
            ((n, m) for m in range(len(cut)) for n in range(m) if _overlap(cut[n], cut[m])), None
        ):  # cells of a table, or lines below a wide title
            n, m = overlapping
            groups[n] += groups.pop(m)
            cut.pop(m)
            cut[n] = self._column_area(groups[n], dark)
        first = next((n for n, group in enumerate(groups) if any(box in group for box in dark)), 0)
        return cut[first:]

    def _column_area(self, marks: Sequence[PixelBox], dark: Sequence[PixelBox]) -> PixelBox:
        decisive = [box[1] for box in marks if box in dark]
        top = max(min(box[1] for box in marks), min(decisive) - _LEAD_HEIGHT if decisive else 0)
        upper, lower = top - _PASSAGE_MARGIN, max(box[3] for box in marks) + _PASSAGE_MARGIN
        upper, lower = max(self._text[1], upper), min(self._text[3], lower)
        left, right = self._column_edges(marks, upper, lower)
        empty = ~self._dark[:, left:right].any(axis=1)
        rows = range(upper, max(upper - _CUT_HEIGHT, self._text[1]), -1)
        upper = min(rows, key=lambda row: self._dark[row, left:right].sum(), default=upper)
        lower = next((row for row in range(lower, self._text[3]) if empty[row]), self._text[3])
        left, right = self._column_edges(marks, upper, lower)
        return self._with_margin((left, upper, right, lower))

    def _column_edges(self, marks: Sequence[PixelBox], upper: int, lower: int) -> tuple[int, int]:
        """Return the left and right edges of the columns that hold the marks."""
        left, _, right, _ = _enclose(marks)
        columns = [column for column in self._columns(upper, lower) if column[0] < right and left < column[1]]
        return (columns[0][0], columns[-1][1]) if columns else (self._text[0], self._text[2])

    def _columns(self, upper: int, lower: int) -> list[tuple[int, int]]:
        """Return the left and right edges of the columns of text between two rows; cells of tables are no columns."""
        import numpy as np

        inked = np.flatnonzero(self._dark[upper:lower].any(axis=0))
        if not len(inked):
            return []
        gaps = np.flatnonzero(np.diff(inked) > _GUTTER_WIDTH)
        lefts = [int(inked[0]), *(int(inked[gap + 1]) for gap in gaps)]
        rights = [*(int(inked[gap]) + 1 for gap in gaps), int(inked[-1]) + 1]
        columns = list(zip(lefts, rights, strict=True))
        narrow = _MIN_COLUMN_SHARE * (self._text[2] - self._text[0])
        if any(right - left < narrow for left, right in columns):
            return [(columns[0][0], columns[-1][1])]
        return columns

    def _with_margin(self, area: PixelBox) -> PixelBox:
        """Add a margin that stops before the next column and the next line."""
        left, upper, right, lower = area
        height, width = self._dark.shape
        inside = self._dark[upper:lower].any(axis=0)
        beside = self._dark[:, left:right].any(axis=1)
        left = next((x + 1 for x in range(left - 1, left - _MARGIN, -1) if x < 0 or inside[x]), left - _MARGIN)
        right = next((x for x in range(right, right + _MARGIN) if x >= width or inside[x]), right + _MARGIN)
        upper = next((y + 1 for y in range(upper - 1, upper - _MARGIN, -1) if y < 0 or beside[y]), upper - _MARGIN)
        lower = next((y for y in range(lower, lower + _MARGIN) if y >= height or beside[y]), lower + _MARGIN)
        return max(0, left), max(0, upper), min(width, right), min(height, lower)


def _overlap(first: PixelBox, second: PixelBox) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def _encode_png(image: Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=3)
    return out.getvalue()
