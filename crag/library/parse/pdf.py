"""Parser for PDF files, page by page, with OCR for pages without text."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from crag.errors import SourceRefused
from crag.library.parse.columns import in_order
from crag.library.parse.document import Block, Document, note_unread
from crag.library.parse.letters import Page, read_page
from crag.library.parse.limits import too_large
from crag.library.parse.ocr import INSTALL, TOO_LONG, Ocr, Paragraphs, too_slow
from crag.library.parse.paragraphs import Levels, joined, paragraphs, plain, squeezed, without_running_headers
from crag.library.parse.picture import MOST_PIXELS
from crag.library.parse.request import Request

if TYPE_CHECKING:
    from PIL.Image import Image

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NO_TITLE = re.compile(r"(?i)\s*(?:untitled.*|microsoft .*|.*\.(?:docx?|pdf|tex|dvi|indd|qxd|rtf|pptx?))?\s*")
_PASSWORD_NEEDED = 4  # FPDF_ERR_PASSWORD
_LARGEST_PAGE = 1_000_000  # points, far beyond what any program creates
_OCR_SCALE = 300 / 72  # pixels per point: Tesseract works best at 300 dpi
_MOST_OUTLINE = 10_000


def read_pdf(request: Request) -> Document:
    """Parse all pages. Raises `SourceRefused` (`encrypted`, `corrupt`, `no_text`, `too_large`, `too_slow`)."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(request.data)
        count = len(pdf)
    except pypdfium2.PdfiumError as error:
        raise _refusal(error) from error
    if count > request.limits.pages:
        raise too_large(f"has {count:,} pages, more than the limit of {request.limits.pages:,}")
    pages = list(_pages(pdf, count, request))
    if all(page is None for page in pages):
        raise _damaged()
    seen, late = _seen(pdf, pages, request)
    blocks = list(_blocks([page or Page() for page in pages], seen, _outline(pdf)))
    if not blocks:
        raise too_slow() if late else _no_text(pages, request)
    said = pdf.get_metadata_dict()
    title, author = str(said.get("Title", "")), str(said.get("Author", ""))
    title = "" if _NO_TITLE.fullmatch(title) else title
    return Document(title, "pdf", count, tuple(blocks), author, note=_note(pages, late, request))


def _note(pages: Sequence[Page | None], late: int, request: Request) -> str:
    unread = 0 if request.tesseract else sum(page is not None and page.unread for page in pages)
    return note_unread(len(pages), {"damaged": pages.count(None), "install Tesseract": unread, TOO_LONG: late})


def _refusal(error: Any) -> SourceRefused:
    if error.err_code == _PASSWORD_NEEDED:
        return SourceRefused(
            "encrypted", "Needs a password.", "Save it without one, then add it again. Nothing was stored."
        )
    return _damaged()


def _damaged() -> SourceRefused:
    return SourceRefused("corrupt", "The PDF is damaged and cannot be read.", "Open it, save it anew and add that.")


def _no_text(pages: Sequence[Page | None], request: Request) -> SourceRefused:
    selectable = "Add a copy whose text can be selected."
    if request.tesseract:
        return SourceRefused("no_text", "There is no text in it, not in its pictures either.", selectable)
    if any(page and page.garbled for page in pages):
        what = "The fonts of this PDF do not say which letters they draw."
        return SourceRefused("no_text", what, "Install Tesseract, or add a copy made another way.")
    return SourceRefused("no_text", "This is a scan without text.", INSTALL)


def _pages(pdf: Any, count: int, request: Request) -> Iterator[Page | None]:
    """Yield each page, or None for a damaged one. Raises `SourceRefused` over the text limit."""
    import pypdfium2

    left = request.limits.characters
    for index in range(count):
        request.progress("Reading page", index + 1, count)
        try:
            sheet = pdf[index]
            if max(sheet.get_size()) > _LARGEST_PAGE:
                raise pypdfium2.PdfiumError("impossible page")
            page = read_page(sheet)
            sheet.close()
        except pypdfium2.PdfiumError:
            yield None
            continue
        left -= sum(len(line.text) for line in page.lines)
        if left < 0:
            raise too_large(f"holds more than {request.limits.characters:,} characters of text")
        yield replace(page, lines=in_order(page.lines))


def _seen(pdf: Any, pages: Sequence[Page | None], request: Request) -> tuple[dict[int, Paragraphs], int]:
    """Read pages with missing text by OCR; return the results by page index and the number of timeouts.

    A page is left out where OCR finds no more text than the page already has.
    """
    if not request.tesseract:
        return {}, 0
    wanted = {number: page for number, page in enumerate(pages) if page and page.unread}
    read = list(Ocr(request).read((_picture(pdf[number]) for number in wanted), len(wanted))) if wanted else []
    seen = {
        number: found
        for (number, page), found in zip(wanted.items(), read, strict=True)
        if found and sum(len(line) for lines in found for line in lines) > sum(len(line.text) for line in page.lines)
    }
    return seen, read.count(None)


def _picture(sheet: Any) -> Image:
    points = max(1.0, sheet.get_width() * sheet.get_height())
    bitmap = sheet.render(scale=min(_OCR_SCALE, (MOST_PIXELS / points) ** 0.5), grayscale=True)
    picture: Image = bitmap.to_pil().convert("L")
    return picture


def _outline(pdf: Any) -> dict[int, Levels]:
    """Return the headings that the PDF outline names, by page index."""
    found: dict[int, Levels] = {}
    for entry in islice(pdf.get_toc(max_depth=6), _MOST_OUTLINE):
        place = entry.get_dest()
        page = place.get_index() if place else None
        if page is not None and (title := squeezed(entry.get_title())):
            found.setdefault(page, {})[title] = min(6, entry.level + 1)
    return found


def _blocks(pages: list[Page], seen: dict[int, Paragraphs], outline: dict[int, Levels]) -> Iterator[Block]:
    texts = without_running_headers([page.lines for page in pages])
    lines = [line for text in texts for line in text]
    heights = [line.height for line in lines for _ in range(1 + len(line.text) // 20)]
    body = statistics.median(heights) if heights else 0.0
    words = set(_WORD.findall(" ".join(line.text for line in lines).lower()))
    for number, text in enumerate(texts):
        if number in seen:
            yield from (plain(joined(found, words), number + 1) for found in seen[number])
        else:
            yield from paragraphs(text, number + 1, body, words, outline.get(number, {}))
