"""PDF files to blocks, page by page: lines joined to paragraphs, words that were broken at line ends mended."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from crag.errors import SourceRefused
from crag.language import CHARACTERS, cjk
from crag.library.document import Block, Document
from crag.library.parse.limits import too_large
from crag.library.parse.request import Request

_BROKEN = re.compile("([^\\W\\d_]+)(?:[\ufffe\x02\u00ad]\\s*|-\n)([^\\W\\d_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_WIDE = f"[{CHARACTERS}\u3000-\u303f\uff00-\uffef]"
_SPACED = re.compile(f"(?<={_WIDE}) +(?={_WIDE})")
_BULLET = re.compile(r"(?:[•‣▪●◦–—*-]|\(?\d{1,2}[.)]|\(?[a-z]\))\s")
_ENDED = re.compile(r"[.!?:;。！？]['\"”’)\]]*$")
_NO_TITLE = re.compile(r"(?i)\s*(?:untitled.*|microsoft .*|.*\.(?:docx?|pdf|tex|dvi|indd|qxd|rtf|pptx?))?\s*")
_PASSWORD_NEEDED = 4  # FPDF_ERR_PASSWORD
_LARGEST_PAGE = 1_000_000  # points, many times what any program makes
_LONGEST_HEADING = 150


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a page; lengths in points, `bottom` from the lower edge of the page."""

    text: str
    left: float
    bottom: float
    height: float


def read_pdf(request: Request) -> Document:
    """The text of all pages. Raises `SourceRefused` (`encrypted`, `corrupt`, `no_text`, `too_large`)."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(request.data)
        count = len(pdf)
    except pypdfium2.PdfiumError as error:
        raise _refusal(error) from error
    if count > request.limits.pages:
        raise too_large(f"has {count:,} pages, more than the limit of {request.limits.pages:,}")
    pages = list(_pages(pdf, count, request))
    lines = [line for page in pages for line in page or ()]
    if not lines:
        raise _damaged() if all(page is None for page in pages) else _scan()
    _check_characters("".join(line.text for line in lines))
    body = statistics.median([line.height for line in lines for _ in range(1 + len(line.text) // 20)])
    words = set(_WORD.findall(" ".join(line.text for line in lines).lower()))
    blocks = [block for n, page in enumerate(pages, 1) for block in _blocks(page or [], n, body, words)]
    title = str(pdf.get_metadata_dict().get("Title", ""))
    return Document("" if _NO_TITLE.fullmatch(title) else title, "pdf", count, tuple(blocks))


def _refusal(error: Any) -> SourceRefused:
    if error.err_code == _PASSWORD_NEEDED:
        return SourceRefused(
            "encrypted", "Needs a password.", "Save it without one, then add it again. Nothing was stored."
        )
    return _damaged()


def _damaged() -> SourceRefused:
    return SourceRefused("corrupt", "The PDF is damaged and cannot be read.", "Open it, save it anew and add that.")


def _scan() -> SourceRefused:
    return SourceRefused("no_text", "This is a scan without text.", "Add a copy whose text can be selected.")


def _check_characters(text: str) -> None:
    """Fonts without a character map give signs of nobody's alphabet, which must not be taken for text."""
    odd = sum(character == "\ufffd" or "\ue000" <= character <= "\uf8ff" for character in text)
    if odd > 0.3 * len(text):
        raise SourceRefused(
            "no_text", "The fonts of this PDF do not say which letters they draw.", "Add a copy made another way."
        )


def _pages(pdf: Any, count: int, request: Request) -> Iterator[list[Line] | None]:
    """The lines of each page, None for a page that is damaged. Raises `SourceRefused` over the text limit."""
    import pypdfium2

    left = request.limits.characters
    for index in range(count):
        request.progress("Reading page", index + 1, count)
        try:
            page = pdf[index]
            if max(page.get_size()) > _LARGEST_PAGE:
                raise pypdfium2.PdfiumError("impossible page")
            lines = list(_lines(page.get_textpage()))
            page.close()
        except pypdfium2.PdfiumError:
            yield None
            continue
        left -= sum(len(line.text) for line in lines)
        if left < 0:
            raise too_large(f"holds more than {request.limits.characters:,} characters of text")
        yield lines


def _lines(page: Any) -> Iterator[Line]:
    import pypdfium2.raw as pdfium

    position = 0
    for text in page.get_text_range().split("\r\n"):
        box = pdfium.FS_RECTF()
        at = pdfium.FPDFText_GetCharIndexFromTextIndex(page, position)
        pdfium.FPDFText_GetLooseCharBox(page, at, box)
        if text.strip():
            yield Line(text, box.left, box.bottom, box.top - box.bottom)
        position += len(text) + len("\r\n")


def _blocks(lines: list[Line], page: int, body: float, words: set[str]) -> Iterator[Block]:
    leadings = [before.bottom - line.bottom for before, line in pairwise(lines)]
    usual = statistics.median([leading for leading in leadings if leading > 1] or [body])
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or _parted(lines[end - 1], lines[end], usual):
            yield _block(lines[start:end], page, body, words)
            start = end


def _parted(before: Line, line: Line, usual: float) -> bool:
    """Whether a new paragraph begins with `line`: by its distance, letter size, bullet or indentation."""
    if _BULLET.match(line.text) or abs(line.height - before.height) > 0.2 * max(line.height, before.height):
        return True
    leading = before.bottom - line.bottom
    if leading < 0:  # the next column; a sentence may go on there
        return bool(_ENDED.search(before.text))
    merged = 1 + before.text.count("\ufffe")  # lines that end in a hyphen come joined to the next
    if leading > 1.35 * max(usual, line.height) * merged:  # the lines of a heading stand farther apart
        return True
    return line.left > before.left + 0.5 * line.height and bool(_ENDED.search(before.text))


def _block(lines: list[Line], page: int, body: float, words: set[str]) -> Block:
    text = _mend("\n".join(line.text.strip() for line in lines), words)
    text = _close_up(re.sub(r"\n", "" if cjk(text) else " ", text))
    size = lines[0].height / body if body else 1
    if size > 1.15 and len(text) <= _LONGEST_HEADING and not _ENDED.search(text) and re.search(r"[^\W\d_]{2}", text):
        return Block(text, "heading", page, 1 if size > 1.6 else 2 if size > 1.3 else 3)
    return Block(text, "item" if _BULLET.match(text) else "paragraph", page)


def _close_up(text: str) -> str:
    """Chinese and Japanese, which some programs write with a space behind every character, without them."""
    spaced = len(_SPACED.findall(text))
    return _SPACED.sub("", text) if 2 * spaced > len(re.findall(f"[{CHARACTERS}]", text)) else text


def _mend(text: str, words: set[str]) -> str:
    """Words that a hyphen broke at a line end, whole again; one that is written with a hyphen elsewhere keeps it."""

    def mended(broken: re.Match[str]) -> str:
        left, right = broken.groups()
        with_hyphen = f"{left}-{right}"
        compound = with_hyphen.lower() in words and (left + right).lower() not in words
        return with_hyphen if compound or right[0].isupper() else left + right

    return _BROKEN.sub(mended, text)
