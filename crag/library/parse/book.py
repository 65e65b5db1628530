"""Parser for e-books (EPUB 2 and 3): the chapters in reading order."""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from crag.errors import SourceRefused
from crag.library.parse.document import Block, Document
from crag.library.parse.encoding import decode
from crag.library.parse.markup import blocks_of
from crag.library.parse.package import read_xml
from crag.library.parse.request import Request
from crag.library.parse.webpage import parse_html

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTERS = ("application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document")


def read_epub(request: Request) -> Document:
    """Parse all chapters of the spine. Raises `SourceRefused` (`encrypted` for copy protection, `corrupt`)."""
    with zipfile.ZipFile(io.BytesIO(request.data)) as archive:
        rootfile = read_xml(archive, _CONTAINER).find(".//{*}rootfile")
        path = "" if rootfile is None else rootfile.get("full-path", "")
        package = read_xml(archive, path)
        title = (package.findtext(".//{*}metadata/{*}title") or "").strip()
        authors = "; ".join(creator.text or "" for creator in package.iterfind(".//{*}metadata/{*}creator"))
        published = (package.findtext(".//{*}metadata/{*}date") or "").strip()[:10]
        present = set(archive.namelist())
        names = [name for name in _chapters(package, posixpath.dirname(path)) if name in present]
        _check_open(archive, present, names)
        blocks: list[Block] = []
        for number, name in enumerate(names, 1):
            request.progress("Reading chapter", number, len(names))
            blocks += _chapter(archive.read(name), title)
    return Document(title, "epub", None, tuple(blocks), authors, published)


def _chapters(package: Any, folder: str) -> dict[str, None]:
    """Return the distinct members of the spine without the table of contents (EPUB 3.3, section 5.7)."""
    items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    spine = [items.get(reference.get("idref")) for reference in package.iterfind(".//{*}spine/{*}itemref")]
    return {
        _place(folder, item.get("href", "")): None
        for item in spine
        if item is not None
        and item.get("media-type") in _CHAPTERS
        and "nav" not in (item.get("properties") or "").split()
    }


def _place(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))


def _check_open(archive: zipfile.ZipFile, present: set[str], names: list[str]) -> None:
    """Raise `SourceRefused` when chapters are encrypted. Encrypted fonts are common and do not matter."""
    if _ENCRYPTION not in present:
        return
    references = read_xml(archive, _ENCRYPTION).iterfind(".//{*}CipherReference")
    closed = {_place("", reference.get("URI", "")) for reference in references}
    if closed.intersection(names):
        raise SourceRefused("encrypted", "The e-book is copy-protected.", "Add a copy without protection.")


def _chapter(data: bytes, book: str) -> Iterator[Block]:
    """Yield the blocks of a chapter, below its title if it has no heading."""
    tree = parse_html(decode(data, None, html=True)) if data.strip() else None
    if tree is None:
        return
    body = tree.find("body")
    blocks = list(blocks_of(tree if body is None else body))
    title = " ".join((tree.findtext(".//title") or "").split())
    if title and title != book and blocks and not any(block.kind == "heading" for block in blocks):
        yield Block(title, "heading", level=1)
    yield from blocks
