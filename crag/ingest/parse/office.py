"""Parsers for Word, PowerPoint, Excel and OpenDocument text files."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from crag.ingest.parse.document import (
    Block,
    Document,
    ParseRequest,
    choose_title,
    damaged_refusal,
    password_refusal,
    too_large_refusal,
    too_much_text_refusal,
)
from crag.ingest.parse.table_rows import table_blocks
from crag.ingest.parse.zip_container import read_xml
from crag.text.table_headers import is_figure, names_period
from crag.text.tables import write_row

_HEADING_STYLE = re.compile(r"heading (\d)", re.IGNORECASE)


def read_docx(request: ParseRequest) -> Document:
    """Parse paragraphs and table rows, with headings by their style. Raises `SourceRefused`."""
    import docx
    from lxml.etree import LxmlError

    request.progress("Reading the document", 0, 0)
    try:
        document = docx.Document(io.BytesIO(request.data))
        blocks = [block for part in document.iter_inner_content() for block in _word_blocks(part)]
        title, author = document.core_properties.title, document.core_properties.author
    except (LxmlError, KeyError, ValueError, AttributeError, IndexError) as error:
        raise damaged_refusal("The Word file is damaged and cannot be read.") from error
    return Document(choose_title(title, blocks), None, tuple(blocks), author)


def _word_blocks(part: Any) -> list[Block]:
    from docx.table import Table

    if isinstance(part, Table):
        return _word_table_blocks(part)
    style = (part.style.name if part.style is not None else "") or ""
    if style == "Title":
        return [Block(part.text, "heading", level=1)]
    if found := _HEADING_STYLE.match(style):
        return [Block(part.text, "heading", level=max(1, min(6, int(found[1]))))]
    if part.text.strip() and (style.startswith("List") or _is_numbered(part)):
        return [Block(f"- {part.text}", "item")]
    return [Block(part.text)]


def _is_numbered(paragraph: Any) -> bool:
    properties = paragraph._p.pPr  # noqa: SLF001 — python-docx has no public API for numbering
    return properties is not None and properties.numPr is not None


def _word_table_blocks(table: Any) -> list[Block]:
    """Return the rows of a table. `row.cells` repeats a cell for each column and row that it spans."""
    rows = []
    for row in table.rows:
        texts = [" ".join(cell.text.split()) for cell in row.cells]
        elements = [cell._tc for cell in row.cells]  # noqa: SLF001 — python-docx has no public API for merged cells
        again = [at > 0 and elements[at] is elements[at - 1] for at in range(len(elements))]
        is_single = sum(bool(text) and not each for text, each in zip(texts, again, strict=True)) == 1
        pairs = zip(texts, again, strict=True)
        rows.append(["" if each and (is_single or is_figure(text)) else text for text, each in pairs])
    return table_blocks(rows)


_LONGEST_TITLE = 150  # characters of the title of a slide


def read_pptx(request: ParseRequest) -> Document:
    """Parse each slide: title as heading, text, table rows, then the notes. Raises `SourceRefused` (`too_large`)."""
    from pptx import Presentation

    presentation = Presentation(io.BytesIO(request.data))
    count = len(presentation.slides)
    if count > request.limits.pages:
        raise too_large_refusal(f"The file has {count:,} slides, more than the limit of {request.limits.pages:,}.")
    blocks: list[Block] = []
    for number, slide in enumerate(presentation.slides, 1):
        request.progress("Reading slide", number, count)
        blocks += _slide_blocks(slide, number)
    return Document(choose_title(presentation.core_properties.title, blocks), count, tuple(blocks))


def _slide_blocks(slide: Any, number: int) -> Iterator[Block]:
    title = slide.shapes.title
    if title is not None and len(title.text_frame.text) > _LONGEST_TITLE:  # all text of the slide is in its title box
        title = None
    if title is not None:
        yield Block(" ".join(title.text_frame.text.split()), "heading", number, 1)
    for shape in _flatten_groups(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape_blocks(shape, number)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        yield from (Block(f"Notes: {line}", page=number) for line in notes.text.splitlines() if line.strip())


def _flatten_groups(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield the shapes in slide order, with groups replaced by their members."""
    from pptx.enum.shapes import MSO_SHAPE_TYPE

    for shape in shapes:
        if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
            yield from _flatten_groups(shape.shapes)
        elif not _is_footer(shape):
            yield shape


def _is_footer(shape: Any) -> bool:
    """Return whether the shape is a date, footer or slide number, which every slide repeats."""
    from pptx.enum.shapes import PP_PLACEHOLDER

    running = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER)
    return shape.is_placeholder and shape.placeholder_format.type in running


def _shape_blocks(shape: Any, number: int) -> Iterator[Block]:
    if getattr(shape, "has_table", False):
        for row in shape.table.rows:
            cells = [" ".join(cell.text.split()) for cell in row.cells if not cell.is_spanned]
            yield Block(write_row(cells) if any(cells) else "", "row", number)
    elif shape.has_text_frame:
        texts = [" ".join(paragraph.text.split()) for paragraph in shape.text_frame.paragraphs]
        texts = [text for text in texts if text]
        listed = shape.is_placeholder and len(texts) > 1  # several paragraphs in a placeholder are a list
        yield from (Block(f"- {text}", "item", number) if listed else Block(text, page=number) for text in texts)


_LEAST_NAMES = 3  # of columns, in a sheet without figures


def read_xlsx(request: ParseRequest) -> Document:
    """Parse each sheet: its name as heading, then its non-empty rows. Raises `SourceRefused` (`too_large`)."""
    from openpyxl import load_workbook

    workbook = load_workbook(io.BytesIO(request.data), read_only=True, data_only=True, keep_links=False)
    sheets: list[tuple[str, list[list[str]]]] = []
    left = request.limits.characters
    for number, sheet in enumerate(workbook.worksheets, 1):
        request.progress("Reading sheet", number, len(workbook.worksheets))
        rows = []
        for row in _sheet_rows(sheet):
            left -= len(" | ".join(row))
            if left < 0:
                raise too_much_text_refusal(request.limits)
            rows.append(row)
        sheets.append((sheet.title, rows))
    return Document(workbook.properties.title or "", None, tuple(_workbook_blocks(sheets)))


def _workbook_blocks(sheets: Sequence[tuple[str, list[list[str]]]]) -> Iterator[Block]:
    """Yield the sheets, with their names above tables that are otherwise alike, or whose period the name tells."""
    blocks = [(name, rows, table_blocks(rows, least_names=_LEAST_NAMES)) for name, rows in sheets if rows]
    headers = Counter(
        text for *_, found in blocks for text in {block.text for block in found if block.kind == "header"}
    )
    for name, rows, found in blocks:
        is_alike = any(block.kind == "header" and headers[block.text] > 1 for block in found)
        yield Block(" ".join(name.split()), "heading", level=1)
        if is_alike or names_period(name):
            yield from table_blocks(rows, least_names=_LEAST_NAMES, title=name)
        else:
            yield from found


def _sheet_rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows of a sheet, with merged cells filled and one empty row for blank rows between others."""
    merged = _read_merged_ranges(sheet)
    sheet.reset_dimensions()  # the declared dimensions are not trusted
    is_blank = False
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_cell_text(cell) for cell in row]
        for area in merged.get(number, ()):
            area.fill(number, cells)
        if any(cells):
            if is_blank:
                yield []
            yield cells
        is_blank = not any(cells)


_MERGED_RANGE = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_READ_AT_ONCE = 1 << 20
_MAX_MERGED_CELLS = 100_000  # in all ranges of a sheet; of more nothing is filled
_MAX_RANGE_SOURCE = 200  # bytes of one range in the file


@dataclass(slots=True)
class _MergedRange:
    """Merged cells, from `first` to `last` column of a row, with the text of the first cell."""

    top: int
    first: int
    last: int
    text: str = ""

    def fill(self, row: int, cells: list[str]) -> None:
        """Repeat the text in the other cells of a row that says something else, too; but no figure."""
        if row == self.top:
            self.text = cells[self.first] if self.first < len(cells) else ""
        others = [*cells[: self.first], *cells[self.last + 1 :]]
        if self.text and any(others) and (not is_figure(self.text) or names_period(self.text)):
            cells += [""] * (self.last + 1 - len(cells))
            for column in range(self.first, self.last + 1):
                cells[column] = cells[column] or self.text


def _read_merged_ranges(sheet: Any) -> dict[int, list[_MergedRange]]:
    """Return the merged ranges of a sheet by each row that they cover, read from the XML."""
    from openpyxl.utils import column_index_from_string

    found: set[tuple[bytes, ...]] = set()
    with sheet.parent._archive.open(sheet._worksheet_path) as xml:  # noqa: SLF001 — no public API
        rest = b""
        while block := xml.read(_READ_AT_ONCE):
            found.update(match.groups() for match in _MERGED_RANGE.finditer(rest + block))
            rest = block[-_MAX_RANGE_SOURCE:]
    by_row: dict[int, list[_MergedRange]] = {}
    size = 0
    for left, top, right, bottom in found:
        first, last = (column_index_from_string(name.decode()) - 1 for name in (left, right))
        size += (last + 1 - first) * (int(bottom) + 1 - int(top))
        if size > _MAX_MERGED_CELLS:
            return {}
        area = _MergedRange(int(top), first, last)
        for row in range(int(top), int(bottom) + 1):
            by_row.setdefault(row, []).append(area)
    return by_row


def _cell_text(cell: Any) -> str:
    """Format a cell: ISO 8601 dates without midnight, numbers without floating-point noise."""
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time.min else value.isoformat(" ", "minutes")
    if isinstance(value, dt.time):
        return value.isoformat("minutes")
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in cell.number_format:
        return f"{100 * value:.6g}%"
    if isinstance(value, float):
        return f"{value:.15g}"
    return " ".join(str(value).split())


_STYLE_NAMESPACE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_TEXT_NAMESPACE = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
# Deleted text, comments, tables of contents and layout-only elements.
_SKIPPED_ELEMENTS = frozenset(
    {"tracked-changes", "annotation", "table-of-content", "sequence-decls", "forms", "note-citation"}
)
_SPACE_ELEMENTS = {"s": " ", "tab": " ", "line-break": "\n"}


def read_odt(request: ParseRequest) -> Document:
    """Parse headings, paragraphs, list items and table rows. Raises `SourceRefused` (`encrypted`, `corrupt`)."""
    request.progress("Reading the document", 0, 0)
    with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
        names = archive.namelist()
        manifest = "META-INF/manifest.xml"
        if manifest in names and read_xml(archive, manifest).find(".//{*}encryption-data") is not None:
            raise password_refusal()
        content = read_xml(archive, "content.xml")
        title = read_xml(archive, "meta.xml").findtext(".//{*}title") if "meta.xml" in names else ""
    titles = {"Title"} | {
        style.get(f"{_STYLE_NAMESPACE}name")
        for style in content.iterfind(".//{*}automatic-styles/{*}style")
        if style.get(f"{_STYLE_NAMESPACE}parent-style-name") == "Title"
    }
    blocks = [block for body in content.iterfind(".//{*}body/{*}text") for block in _odt_blocks(body, titles)]
    return Document(choose_title(title, blocks), None, tuple(blocks))


def _odt_blocks(element: Any, titles: set[str], in_list: bool = False) -> Iterator[Block]:
    for child in element:
        name = _local_name(child)
        if name == "h":
            level = child.get(f"{_TEXT_NAMESPACE}outline-level", "1")
            yield Block(
                _collapsed_odt_text(child), "heading", level=max(1, min(6, int(level) if level.isdecimal() else 1))
            )
        elif name == "p" and child.get(f"{_TEXT_NAMESPACE}style-name") in titles:
            yield Block(_collapsed_odt_text(child), "heading", level=1)
        elif name == "p":
            text = _collapsed_odt_text(child)
            yield Block(f"- {text}", "item") if in_list and text else Block(text)
        elif name == "table-row":
            cells = [_collapsed_odt_text(cell) for cell in child if _local_name(cell) == "table-cell"]
            yield Block(write_row(cells) if any(cells) else "", "row")
        elif name not in _SKIPPED_ELEMENTS:
            yield from _odt_blocks(child, titles, in_list or name == "list")


def _local_name(element: Any) -> str:
    """Return the tag without its namespace; empty for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _collapsed_odt_text(element: Any) -> str:
    return " ".join(_odt_text(element).split())


def _odt_text(element: Any) -> str:
    """Return all text inside, with notes at their anchor and a space after each paragraph of a cell or frame."""
    name = _local_name(element)
    if not name or name in _SKIPPED_ELEMENTS:
        return ""
    inner = (element.text or "") + "".join(_odt_text(child) + (child.tail or "") for child in element)
    return f"{inner} " if name in ("p", "h") else inner + _SPACE_ELEMENTS.get(name, "")
