"""Child process that extracts the links of a page or a sitemap."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterable
from typing import Any

from crag.ingest.parse.confinement import SendReply, run_confined
from crag.ingest.parse.document import ParseLimits
from crag.ingest.parse.markup import parse_html
from crag.ingest.parse.plain_text import decode_text
from crag.ingest.parse.zip_container import xml_parser

MAX_OUTLINKS = 5_000
_MAX_ADDRESS_CHARACTERS = 4_096
_GZIP_MAGIC = b"\x1f\x8b"
_SITEMAP_TAG = re.compile(rb"<(?:[\w.-]+:)?(?:urlset|sitemapindex)[\s>]")  # sitemaps.org, “XML tag definitions”
_TAB_OR_NEWLINE = re.compile(r"[\t\r\n]")


def main() -> None:
    """Read the page and reply; anything but a page or a sitemap has no links."""
    run_confined(_send_outlinks)


def _send_outlinks(request: dict[str, Any], limits: ParseLimits, answer: SendReply) -> None:
    data = _decompress(sys.stdin.buffer.read(), limits.inflated)
    answer(
        _sitemap_outlinks(data)
        if _SITEMAP_TAG.search(data[:4096])
        else _page_outlinks(decode_text(data, request["charset"], html=True))
    )


def _decompress(data: bytes, most: int) -> bytes:
    """Decompress a gzipped sitemap, ignoring everything after `most` bytes."""
    return (
        zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(data, most) if data.startswith(_GZIP_MAGIC) else data
    )


def _sitemap_outlinks(data: bytes) -> dict[str, Any]:
    """Return the addresses of a sitemap, or of the sitemaps that an index names, up to the first damage."""
    from lxml import etree

    root = etree.fromstring(data, xml_parser(recover=True))
    return {
        "is_sitemap": True,
        "pages": _clean_addresses(root.xpath("/*/*[local-name()='url']/*[local-name()='loc']/text()")),
        "sitemaps": _clean_addresses(root.xpath("/*/*[local-name()='sitemap']/*[local-name()='loc']/text()")),
    }


def _page_outlinks(text: str) -> dict[str, Any]:
    tree = parse_html(text)
    if tree is None:
        return {}
    base, pages = tree.xpath("string(//base/@href)"), tree.xpath("//a/@href | //area/@href")
    return {"base": base[:_MAX_ADDRESS_CHARACTERS], "pages": _clean_addresses(pages)}


def _clean_addresses(written: Iterable[str]) -> list[str]:
    """Return the distinct addresses in order, as browsers read them (WHATWG URL, section 4.4); bounded in number."""
    tidied = (_TAB_OR_NEWLINE.sub("", address.strip()).replace(" ", "%20") for address in written)
    return list(dict.fromkeys(address for address in tidied if 0 < len(address) <= _MAX_ADDRESS_CHARACTERS))[
        :MAX_OUTLINKS
    ]


if __name__ == "__main__":
    main()
