"""Hostile PDF files made by hand, and a server that must never be contacted."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

_TEXT = b"BT /F 12 Tf 20 200 Td (Hello from the page) Tj ET"
_PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
_PAGES = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
_DRAWING = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>"


def pdf(*objects: bytes) -> bytes:
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, content) for n, content in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF"


def stream(data: bytes, entries: bytes = b"", length: bytes = b"") -> bytes:
    return b"<<%s/Length %s>>stream\n%s\nendstream" % (entries, length or b"%d" % len(data), data)


def says_length(length: bytes) -> bytes:
    return pdf(_CATALOG, _PAGES, _PAGE, stream(_TEXT, length=length), _FONT)


def page_tree_in_a_ring() -> bytes:
    pages = b"<</Type/Pages/Kids[2 0 R 3 0 R]/Count 2>>"
    return pdf(_CATALOG, pages, _PAGE, stream(_TEXT), _FONT)


def outline_in_a_ring() -> bytes:
    catalog = b"<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>"
    outline = b"<</First 7 0 R/Last 7 0 R/Count 1>>"
    entries = [
        b"<</Title(A)/Parent 6 0 R/First 7 0 R/Next %d 0 R/Dest[3 0 R/Fit]>>" % following for following in (8, 7)
    ]
    return pdf(catalog, _PAGES, _PAGE, stream(_TEXT), _FONT, outline, *entries)


def xref_in_a_ring() -> bytes:
    whole = says_length(b"")[: -len(b"%%EOF")]
    table = b"xref\n0 1\n0000000000 65535 f \ntrailer<</Root 1 0 R/Size 6/Prev %d>>\nstartxref\n%d\n%%%%EOF"
    return whole + table % (len(whole), len(whole))


def drawings_in_a_ring() -> bytes:
    entries = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R/Y 6 0 R>>>>"
    drawing = stream(b"/X Do /Y Do", entries)
    return pdf(_CATALOG, _PAGES, _DRAWING, stream(b"/X Do"), drawing, drawing)


def lzw_bomb(megabytes: int) -> bytes:
    """A page whose content unpacks to as many spaces: runs code themselves ever longer (TIFF 6.0, section 13)."""
    bits, length = ["100000000", f"{ord(' '):09b}"], 1
    for entry in range(3_800):
        width = 9 + sum(entry >= limit for limit in (253, 765, 1789))
        bits.append(f"{258 + entry:0{width}b}")
        length += entry + 2
    begin, *run = bits
    clear, end = f"{256:012b}", f"{257:012b}"  # as wide as the codes have become
    whole = begin + clear.join(["".join(run)] * ((megabytes << 20) // length)) + end
    data = int(whole + "0" * (-len(whole) % 8), 2).to_bytes((len(whole) + 7) // 8, "big")
    return pdf(_CATALOG, _PAGES, _PAGE, stream(data, b"/Filter/LZWDecode"), _FONT)


@contextmanager
def canary() -> Iterator[tuple[str, socket.socket]]:
    """An address that nothing may connect to, and the socket that would notice."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", listening


def was_asked(listening: socket.socket) -> bool:
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True
