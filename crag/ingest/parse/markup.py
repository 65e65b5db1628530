"""Parsers for web pages, EPUB books and e-mails."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any
from urllib.parse import unquote

from crag.errors import SourceRefused
from crag.ingest.parse.document import Block, Document, ParseRequest
from crag.ingest.parse.plain_text import decode_text, request_text, text_blocks
from crag.ingest.parse.table_rows import table_blocks
from crag.ingest.parse.zip_container import read_xml
from crag.text.language import is_cjk
from crag.text.tables import write_row

_SKIPPED_TAGS = frozenset({"script", "style", "template", "svg", "head", "rt", "rp"})
_HEADING_TAG = re.compile("h[1-6]")
_BLOCK_TAGS = frozenset(
    """
    address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 header hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul
    """.split()  # noqa: SIM905 — a list of that many quoted strings would be harder to read
)


def html_blocks(element: Any, in_list: bool = False) -> Iterator[Block]:
    """Yield headings, paragraphs, list items, table rows and code below `element`, in order."""
    loose = [element.text or ""]
    for child in element:
        if not isinstance(child.tag, str) or child.tag in _SKIPPED_TAGS:
            pass
        elif any(inner.tag in _BLOCK_TAGS for inner in child.iter()):
            yield from _flush_paragraph(loose, in_list)
            yield from _element_blocks(child, in_list)
        else:
            loose.append("\n" if child.tag == "br" else _visible_text(child))
        loose.append(child.tail or "")
    yield from _flush_paragraph(loose, in_list)


def _element_blocks(element: Any, in_list: bool) -> Iterator[Block]:
    if _HEADING_TAG.fullmatch(element.tag):
        yield Block(_collapse_spaces(_visible_text(element)), "heading", level=int(element.tag[1]))
    elif element.tag == "tr":
        cells = [_collapse_spaces(_visible_text(cell)) for cell in element.iterchildren("td", "th")]
        yield Block(write_row(cells) if any(cells) else "", "row")
    elif element.tag == "pre":
        yield Block(_visible_text(element), "code")
    else:
        yield from html_blocks(element, in_list or element.tag == "li")


def _flush_paragraph(loose: list[str], in_list: bool) -> Iterator[Block]:
    text = _collapse_spaces("".join(loose))
    loose.clear()
    if text:
        yield Block(f"- {text}", "item") if in_list else Block(text)


def _visible_text(element: Any) -> str:
    """Return all text inside, without comments, scripts and ruby annotations (`rt`, `rp`)."""
    if not isinstance(element.tag, str) or element.tag in _SKIPPED_TAGS:
        return ""
    if element.tag == "br":
        return "\n"
    return (element.text or "") + "".join(_visible_text(child) + (child.tail or "") for child in element)


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())


_NAVIGATION = "//nav | //*[@role='navigation']"
_BOILERPLATE = "//noscript | //aside | //footer | //body/header | //*[@aria-hidden='true']"
_MAX_CELL_LINKS = 20  # more are a menu
_SPANS = "colspan", "rowspan"
_MAX_SPAN = 60  # columns or rows
_MAX_COPIED = 200  # characters of a cell that spans several
_MIN_MAIN_TEXT_CHARACTERS = 50  # trafilatura's default of 250 characters would be a whole page in Chinese


def read_html(request: ParseRequest) -> Document:
    """Parse the main text found by trafilatura, or else all text of the page. Raises `SourceRefused`."""
    return _parse_page(request, request_text(request, html=True))


def _parse_page(request: ParseRequest, text: str) -> Document:
    request.progress("Reading the page", 0, 0)
    tree = parse_html(text)
    if tree is None:
        raise _no_text_refusal()
    _drop_elements(tree, _NAVIGATION)  # before extraction: trafilatura mistook its entries for authors
    _drop_note_marks(tree)
    _unlink_cells(tree)
    _repeat_spanning_cells(tree)
    found = _extract_main_text(tree)
    blocks = list(_main_text_blocks(found.body)) if found is not None else []
    title = (found and found.title) or " ".join((tree.findtext(".//title") or "").split())
    author, published = _author_names(found, tree), (found and found.date) or ""
    if sum(bool(block.text.strip()) for block in blocks) < 2:  # a single block means that trafilatura failed
        blocks = _all_text_blocks(tree) or blocks
    if not any(block.text.strip() for block in blocks):
        raise _no_text_refusal()
    return Document(title, None, tuple(blocks), author, published)


_NOTE_MARK = re.compile(r"[\[(]?(?:\d{1,3}|[a-z*†‡§])[\])]?|\d{1,3}(?:[,–-]\s?\d{1,3})*|[*†‡§]+|주\s?\d{0,3}\)?")
_BEFORE_NOTE = re.compile(r"(?:[^\W\d_]{4}|[가-힣\u4e00-\u9fff]{2}|[.,;:!?)\]”’\"'。，、）」%])\Z")
# Such as [dubious – discuss], and the page of a reference: 111, 228.
_EDITORIAL_MARK = re.compile(r"\[[^\[\]\d]{3,80}\]|:\s*\d[\w\s,–-]{0,40}")
_LENGTH_UNIT = re.compile(r"(?:met(?:er|re)s?|feet|foot|inch(?:es)?|miles?|yards?|미터|米|里)\s*$", re.IGNORECASE)


def _drop_note_marks(tree: Any) -> None:
    """Remove raised references to notes, which would be read as part of the word or figure before them.

    So are raised remarks of editors, and pages behind a reference. Exponents and ordinals stay: raised figures without
    a link count only after a word or the end of a sentence.
    """
    for mark in list(tree.iter("sup")):
        text = "".join(mark.itertext()).strip()
        is_linked = any("#" in (link.get("href") or "") for link in mark.iter("a")) or mark.getparent().tag == "a"
        before = mark.getprevious()
        preceding = (before.tail or "".join(before.itertext())) if before is not None else (mark.getparent().text or "")
        is_after_word = bool(_BEFORE_NOTE.search(preceding.rstrip()[-4:]))
        is_after_word = is_after_word and not (text.isalpha() or _LENGTH_UNIT.search(preceding))
        is_note = bool(_NOTE_MARK.fullmatch(text)) and (is_linked or is_after_word)
        if is_note or _EDITORIAL_MARK.fullmatch(text):
            mark.drop_tree()


def _unlink_cells(tree: Any) -> None:
    """Replace the links in table cells with their text; trafilatura drops cells of nothing but links as navigation."""
    from lxml import etree

    for cell in tree.iter("td", "th"):
        if len(cell.findall(".//a")) <= _MAX_CELL_LINKS:
            etree.strip_tags(cell, "a")


def _repeat_spanning_cells(tree: Any) -> None:
    """Write a cell that spans several columns or rows into each of them, unless it spans all columns of a table."""
    for table in tree.iter("table"):
        if table.find(".//table") is not None:
            continue
        rows = [list(row.iterchildren("td", "th")) for row in table.iter("tr")]
        width = max((sum(_span(cell, "colspan") for cell in row) for row in rows), default=0)
        if width > _MAX_SPAN or all(_span(cell, name) == 1 for row in rows for cell in row for name in _SPANS):
            continue
        below: dict[int, tuple[int, Any]] = {}  # cells of rows above by column, with how many rows they go on
        for cells in rows:
            _fill_row(cells, width, below)


def _fill_row(cells: Sequence[Any], width: int, below: dict[int, tuple[int, Any]]) -> None:
    """Add to a row the copies of its own cells and of those `below` which it is; update these."""
    column, rest = 0, list(cells)
    while rest or column in below:
        if column in below:
            height, cell = below.pop(column)
            copied = _copy_cell(cell)
            if rest:
                rest[0].addprevious(copied)
            elif cells:
                cells[0].getparent().append(copied)
            if height > 1:
                below[column] = height - 1, cell
            column += 1
            continue
        cell = rest.pop(0)
        across, down = (_span(cell, name) for name in _SPANS)
        for name in _SPANS:
            cell.attrib.pop(name, None)  # trafilatura would add empty cells
        is_alone = across == width
        for at in range(column, column + across):
            if down > 1 and not is_alone:
                below[at] = down - 1, cell
            if at > column and not is_alone:
                cell.addnext(_copy_cell(cell))
        column += across


def _copy_cell(cell: Any) -> Any:
    copied = cell.makeelement(cell.tag)
    text = " ".join(cell.text_content().split())
    copied.text = text if len(text) <= _MAX_COPIED else ""
    return copied


def _span(cell: Any, name: str) -> int:
    """Return how many columns or rows a cell spans; 1 where that is no sensible number."""
    text = (cell.get(name) or "").strip()
    return int(text) if text.isdigit() and 1 <= int(text[:4]) <= _MAX_SPAN else 1


def _no_text_refusal() -> SourceRefused:
    return SourceRefused(
        "no_text", "The page contains no text. It may need JavaScript.", "Save it as a PDF and add that."
    )


def _extract_main_text(tree: Any) -> Any:
    """Return main text and metadata from trafilatura, or None.

    Dates are used only where the page states them; they are never guessed from the text.
    """
    import trafilatura
    from trafilatura.settings import set_date_params, use_config

    config = use_config()
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", str(_MIN_MAIN_TEXT_CHARACTERS))
    try:
        return trafilatura.bare_extraction(
            tree,
            include_comments=False,
            favor_recall=True,
            with_metadata=True,
            date_extraction_params=set_date_params(extensive=False),
            config=config,
        )
    except (ValueError, RecursionError):
        return None


def _author_names(found: Any, tree: Any) -> str:
    """Return the distinct author names.

    A one-word name is accepted only in scripts that write names without spaces. In other scripts it is usually an
    account name.
    """
    stated = (found.author or "").split("; ") if found is not None else []
    if not any(stated):
        stated = [name for name in tree.xpath("//meta[@name='author']/@content") if is_cjk(name)]
    names: dict[str, str] = {}
    for name in stated:
        names.setdefault("".join(name.lower().split()), name.strip())
    return "; ".join(names.values())


def _main_text_blocks(element: Any) -> Iterator[Block]:
    """Yield the blocks of trafilatura's tree (TEI names: head, p, list, item, table, row, cell, code, quote)."""
    for child in element:
        if child.tag == "head":
            yield Block(_element_text(child), "heading", level=int(child.get("rend", "h2")[-1]))
        elif child.tag == "table":
            yield from _table_blocks(child)
        elif child.tag == "list":
            yield from _list_item_blocks(child)
        elif child.tag == "code":
            yield Block("".join(child.itertext()), "code")
        elif child.tag in ("quote", "div", "main") and len(child):
            yield from _loose_text_block(child.text)
            yield from _main_text_blocks(child)
        else:
            yield Block(_element_text(child))
        yield from _loose_text_block(child.tail)


def _table_blocks(table: Any) -> list[Block]:
    """Return the rows of a table; a list of properties, with a heading in each row, has no names of columns."""
    rows = [[(_cell_text(cell), cell.get("role") == "head") for cell in row.iter("cell")] for row in table.iter("row")]
    texts = [[text for text, _ in row] for row in rows]
    wide = next((row for row in rows if sum(bool(text) for text, _ in row) > 1), [])
    first = [is_head for text, is_head in wide if text]
    if all(first) or (len(first) > 2 and not any(first)):
        return table_blocks(texts)
    return [Block(_write_property(row), "row") for row in texts if row]


def _write_property(row: Sequence[str]) -> str:
    """Return a row of a list of properties; one with a single filled cell is a title."""
    filled = [text for text in row if text]
    return write_row(row) if len(filled) > 1 else "".join(filled)


def _cell_text(cell: Any) -> str:
    """Return the text of a table cell, with commas between the items of a list."""
    items = [_element_text(item) for item in cell.iterfind("list/item")]
    return ", ".join(items) if len(items) > 1 and len(cell) == 1 else _element_text(cell)


def _list_item_blocks(element: Any) -> Iterator[Block]:
    """Yield the items of a list; items of a nested list follow their parent item."""
    for item in element.iter("item"):
        parts = [item.text or ""]
        for child in item:
            if child.tag not in ("list", "item"):
                parts.append(_element_text(child))
            parts.append(child.tail or "")
        if text := " ".join(" ".join(parts).split()):
            yield Block(f"- {text}", "item")


def _loose_text_block(text: str | None) -> Iterator[Block]:
    if text and text.strip():
        yield Block(" ".join(text.split()))


def _element_text(element: Any) -> str:
    return " ".join(" ".join(element.itertext()).split())


def parse_html(text: str) -> Any:
    """Parse a page with a hardened parser and return its tree, or None when it is empty."""
    from lxml import etree, html

    parser = html.HTMLParser(encoding="utf-8", huge_tree=False, no_network=True)
    try:
        return html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:
        return None


def _drop_elements(tree: Any, path: str) -> None:
    for element in tree.xpath(path):
        if element.getparent() is not None:
            element.drop_tree()


def _all_text_blocks(tree: Any) -> list[Block]:
    """Return all text of the body without the boilerplate that a site repeats on every page."""
    _drop_elements(tree, _BOILERPLATE)
    body = tree.find("body")
    return [] if body is None else list(html_blocks(body))


_EPUB_CONTAINER = "META-INF/container.xml"
_EPUB_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_MEDIA_TYPES = ("application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document")


def read_epub(request: ParseRequest) -> Document:
    """Parse all chapters of the spine. Raises `SourceRefused` (`encrypted` for copy protection, `corrupt`)."""
    with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
        rootfile = read_xml(archive, _EPUB_CONTAINER).find(".//{*}rootfile")
        path = "" if rootfile is None else rootfile.get("full-path", "")
        package = read_xml(archive, path)
        title = (package.findtext(".//{*}metadata/{*}title") or "").strip()
        authors = "; ".join(creator.text or "" for creator in package.iterfind(".//{*}metadata/{*}creator"))
        published = (package.findtext(".//{*}metadata/{*}date") or "").strip()[:10]
        present = set(archive.namelist())
        names = [name for name in _chapter_names(package, posixpath.dirname(path)) if name in present]
        _refuse_copy_protection(archive, present, names)
        blocks: list[Block] = []
        for number, name in enumerate(names, 1):
            request.progress("Reading chapter", number, len(names))
            blocks += _chapter_blocks(archive.read(name), title)
    return Document(title, None, tuple(blocks), authors, published)


def _chapter_names(package: Any, folder: str) -> dict[str, None]:
    """Return the distinct members of the spine without the table of contents (EPUB 3.3, section 5.7)."""
    items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    spine = [items.get(reference.get("idref")) for reference in package.iterfind(".//{*}spine/{*}itemref")]
    return {
        _member_path(folder, item.get("href", "")): None
        for item in spine
        if item is not None
        and item.get("media-type") in _CHAPTER_MEDIA_TYPES
        and "nav" not in (item.get("properties") or "").split()
    }


def _member_path(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))


def _refuse_copy_protection(archive: zipfile.ZipFile, present: set[str], names: list[str]) -> None:
    """Raise `SourceRefused` when chapters are encrypted. Encrypted fonts are common and do not matter."""
    if _EPUB_ENCRYPTION not in present:
        return
    references = read_xml(archive, _EPUB_ENCRYPTION).iterfind(".//{*}CipherReference")
    closed = {_member_path("", reference.get("URI", "")) for reference in references}
    if closed.intersection(names):
        raise SourceRefused("encrypted", "The e-book is copy-protected.", "Add a copy without protection.")


def _chapter_blocks(data: bytes, book: str) -> Iterator[Block]:
    """Yield the blocks of a chapter, below its title if it has no heading."""
    tree = parse_html(decode_text(data, None, html=True)) if data.strip() else None
    if tree is None:
        return
    _drop_note_marks(tree)
    body = tree.find("body")
    blocks = list(html_blocks(tree if body is None else body))
    title = " ".join((tree.findtext(".//title") or "").split())
    if title and title != book and blocks and not any(block.kind == "heading" for block in blocks):
        yield Block(title, "heading", level=1)
    yield from blocks


_SHOWN_HEADERS = ("from", "to", "cc", "date")


def read_email(request: ParseRequest) -> Document:
    """Parse the subject as heading, then the plain text or else the main text of the HTML. Raises `SourceRefused`."""
    message = message_from_bytes(request.data, policy=default)
    if not message.keys():
        raise SourceRefused("corrupt", "The file is not an e-mail.", "Save the message again as .eml, then add it.")
    subject = _header_text(message, "subject")
    attached = [name for part in message.walk() if (name := part.get_filename())]
    blocks = [Block(subject, "heading", level=1)] if subject else []
    blocks += [
        Block(f"{name.title()}: {said}", "row") for name in _SHOWN_HEADERS if (said := _header_text(message, name))
    ]
    blocks += _email_body_blocks(message, request)
    blocks += [Block(f"Attachments: {', '.join(attached)}")] if attached else []
    return Document(subject, None, tuple(blocks))


def _header_text(message: EmailMessage, name: str) -> str:
    """Return a header on one line.

    Empty where it is missing, or malformed in a way that makes the standard library raise.
    """
    try:
        return " ".join(str(message[name] or "").split())
    except (IndexError, ValueError, AttributeError):
        return ""


def _email_body_blocks(message: EmailMessage, request: ParseRequest) -> Iterator[Block]:
    part = message.get_body(preferencelist=("plain", "html"))
    data = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(data, bytes) or not data.strip():
        return
    html = part.get_content_subtype() == "html"
    text = decode_text(data, part.get_content_charset(), html)
    yield from _parse_page(request, text).blocks if html else text_blocks(text)
