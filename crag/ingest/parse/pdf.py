"""PDF parser: text page by page, with OCR for pages without text."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from crag.errors import SourceRefused
from crag.ingest.parse.document import (
    Block,
    Document,
    ParseRequest,
    damaged_refusal,
    describe_unread_pages,
    password_refusal,
    too_large_refusal,
    too_much_text_refusal,
)
from crag.ingest.parse.images import MAX_OCR_PIXELS
from crag.ingest.parse.ocr import INSTALL_OCR, OCR_TIMED_OUT, OcrParagraphs, ScanReader, ocr_too_slow_refusal
from crag.ingest.parse.page_layout import (
    HeadingLevels,
    build_paragraphs,
    collect_words,
    join_lines,
    normalize_heading,
    order_lines,
    plain_block,
    remove_running_headers,
)
from crag.ingest.parse.page_text import PageText, read_page_text
from crag.ingest.parse.table_rows import table_blocks
from crag.text.tables import table_cells, write_row
from crag.translation import N_

if TYPE_CHECKING:
    from PIL.Image import Image


_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_MAX_PAGE_POINTS = 1_000_000  # points, far beyond what any program creates
_OCR_SCALE = 300 / 72  # pixels per point: Tesseract works best at 300 dpi
_MAX_OUTLINE_ENTRIES = 10_000


def read_pdf(request: ParseRequest) -> Document:
    """Parse all pages. Raises `SourceRefused` (`encrypted`, `corrupt`, `no_text`, `too_large`, `too_slow`)."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(request.data)
        count = len(pdf)
    except pypdfium2.PdfiumError as error:
        raise _pdfium_refusal(error) from error
    if count > request.limits.pages:
        raise too_large_refusal(f"The file has {count:,} pages, more than the limit of {request.limits.pages:,}.")
    pages = list(_read_pages(pdf, count, request))
    if all(page is None for page in pages):
        raise damaged_refusal("The PDF is damaged and cannot be read.")
    seen, late = _read_by_ocr(pdf, pages, request)
    blocks = list(_document_blocks([page or PageText() for page in pages], seen, _outline_headings(pdf)))
    if not blocks:
        raise ocr_too_slow_refusal() if late else _no_text_refusal(pages, request)
    metadata = pdf.get_metadata_dict()
    title, author = str(metadata.get("Title", "")).strip(), str(metadata.get("Author", ""))
    return Document(title, count, tuple(blocks), author, note=_unread_note(pages, seen, late, request))


def _unread_note(
    pages: Sequence[PageText | None], seen: Mapping[int, OcrParagraphs], late: int, request: ParseRequest
) -> str:
    left = sum(page is not None and page.unread and number not in seen for number, page in enumerate(pages))
    missing = N_("install Tesseract") if request.rapidocr else N_("install Tesseract or RapidOCR")
    unread = {} if request.tesseract else {missing: left}
    return describe_unread_pages(len(pages), {N_("damaged content"): pages.count(None), **unread, OCR_TIMED_OUT: late})


def _pdfium_refusal(error: Any) -> SourceRefused:
    if error.err_code == _PASSWORD_ERROR:
        return password_refusal()
    return damaged_refusal("The PDF is damaged and cannot be read.")


def _no_text_refusal(pages: Sequence[PageText | None], request: ParseRequest) -> SourceRefused:
    selectable = "Add a copy whose text can be selected."
    if request.can_read_scans:
        return SourceRefused("no_text", "No text was found, not even in its pictures.", selectable)
    if any(page and page.garbled for page in pages):
        return SourceRefused(
            "no_text",
            "The text of this PDF cannot be extracted because of its fonts.",
            "Install Tesseract or RapidOCR, or add a copy made another way.",
        )
    return SourceRefused("no_text", "This is a scan without text.", INSTALL_OCR)


def _read_pages(pdf: Any, count: int, request: ParseRequest) -> Iterator[PageText | None]:
    """Yield each page, or None for a damaged one. Raises `SourceRefused` over the text limit."""
    import pypdfium2

    left = request.limits.characters
    for index in range(count):
        request.progress("Reading page", index + 1, count)
        try:
            sheet = pdf[index]
            if max(sheet.get_size()) > _MAX_PAGE_POINTS:
                raise pypdfium2.PdfiumError("impossible page")
            page = read_page_text(sheet)
            sheet.close()
        except pypdfium2.PdfiumError:
            yield None
            continue
        left -= sum(len(line.text) for line in page.lines)
        if left < 0:
            raise too_much_text_refusal(request.limits)
        yield replace(page, lines=order_lines(page.lines))


def _read_by_ocr(
    pdf: Any, pages: Sequence[PageText | None], request: ParseRequest
) -> tuple[dict[int, OcrParagraphs], int]:
    """Read pages with missing text by OCR; return the results by page index and the number of timeouts.

    A page is left out where OCR finds no more text than the page already has.
    """
    if not request.can_read_scans:
        return {}, 0
    wanted = {number: page for number, page in enumerate(pages) if page and page.unread}
    read = (
        list(ScanReader(request).read((_render_page(pdf[number]) for number in wanted), len(wanted))) if wanted else []
    )
    seen = {
        number: found
        for (number, page), found in zip(wanted.items(), read, strict=True)
        if found and sum(len(line) for lines in found for line in lines) > sum(len(line.text) for line in page.lines)
    }
    return seen, read.count(None)


def _render_page(sheet: Any) -> Image:
    points = max(1.0, sheet.get_width() * sheet.get_height())
    bitmap = sheet.render(scale=min(_OCR_SCALE, (MAX_OCR_PIXELS / points) ** 0.5), grayscale=True)
    picture: Image = bitmap.to_pil().convert("L")
    return picture


def _outline_headings(pdf: Any) -> dict[int, HeadingLevels]:
    """Return the headings that the PDF outline names, by page index."""
    found: dict[int, HeadingLevels] = {}
    for entry in islice(pdf.get_toc(max_depth=6), _MAX_OUTLINE_ENTRIES):
        place = entry.get_dest()
        page = place.get_index() if place else None
        if page is not None and (title := normalize_heading(entry.get_title())):
            found.setdefault(page, {})[title] = min(6, entry.level + 1)
    return found


def _document_blocks(
    pages: list[PageText], seen: dict[int, OcrParagraphs], outline: dict[int, HeadingLevels]
) -> Iterator[Block]:
    texts = remove_running_headers([page.lines for page in pages])
    if not any(texts) and not any(page.unread for page in pages):  # a line on each page, which is all there is
        texts = [list(page.lines) for page in pages]
    lines = [line for text in texts for line in text]
    heights = [line.height for line in lines for _ in range(1 + len(line.text) // 20)]
    body = statistics.median(heights) if heights else 0.0
    words = collect_words(line.text for line in lines)
    table: list[Block] = []  # the blocks of the table with which the page before ended
    for number, text in enumerate(texts):
        if number in seen:
            yield from (plain_block(join_lines(found, words), number + 1) for found in seen[number])
            table = []
            continue
        for is_table, group in groupby(text, lambda line: len(line.cells)):
            if is_table:
                table = [
                    replace(block, page=number + 1) for block in _table_blocks([line.cells for line in group], table)
                ]
                yield from table
            else:
                table = []
                yield from build_paragraphs(list(group), number + 1, body, words, outline.get(number, {}))


def _table_blocks(rows: Sequence[Sequence[str]], before: Sequence[Block]) -> list[Block]:
    """Return the blocks of a table; rows that continue the table of the page `before` take over its column names."""
    header = next((block for block in before if block.kind == "header"), None)
    blocks = table_blocks(rows)
    if (
        not header
        or any(block.text == header.text for block in blocks)
        or len(table_cells(header.text)) != len(rows[0])
    ):
        return blocks
    return [header, *(Block(write_row(row), "row") for row in rows)]
