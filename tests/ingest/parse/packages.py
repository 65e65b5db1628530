"""E-books and OpenDocument files made by hand, member by member."""

from __future__ import annotations

import io
import zipfile

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
_OFFICE = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table", "style")
)


def zipped(members: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def page(body: str, title: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>'
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>{title}</title></head><body>{body}</body></html>'
    )


def epub(chapters: dict[str, str], more: dict[str, str | bytes] | None = None, beginning: str = "") -> bytes:
    """`chapters` by address, in the order of the spine; `beginning` stands before the package's root."""
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    package = (
        f'{beginning}<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>On Foxes</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    members: dict[str, str | bytes] = {"mimetype": "application/epub+zip", "META-INF/container.xml": CONTAINER}
    members |= {"OEBPS/book.opf": package} | {f"OEBPS/{name}": text for name, text in reversed(chapters.items())}
    return zipped(members | (more or {}))


def odt(body: str, more: dict[str, str | bytes] | None = None, beginning: str = "") -> bytes:
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/>'
    content = (
        f"{beginning}<office:document-content {_OFFICE}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content} | (more or {}))
