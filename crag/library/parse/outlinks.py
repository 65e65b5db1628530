"""Child process that extracts the links of a page or sitemap from standard input, under limits.

It replies with one line: `{"base": …, "pages": […]}` or `{"is_sitemap": true, "pages": […], "sitemaps": […]}`, with the
addresses as written.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterable
from typing import Any

from crag.library.parse.confinement import Answer, run_confined
from crag.library.parse.encoding import decode
from crag.library.parse.limits import Limits
from crag.library.parse.webpage import parse_html

MOST = 5_000
_LONGEST = 4_096
_GZIP = b"\x1f\x8b"
_SITEMAP = re.compile(rb"<(?:[\w.-]+:)?(?:urlset|sitemapindex)[\s>]")  # sitemaps.org, “XML tag definitions”
_BREAKS = re.compile(r"[\t\r\n]")


def main() -> None:
    """Read the page and reply; anything but a page or a sitemap has no links."""
    run_confined(_read)


def _read(request: dict[str, Any], limits: Limits, answer: Answer) -> None:
    data = _inflated(sys.stdin.buffer.read(), limits.inflated)
    answer(_sitemap(data) if _SITEMAP.search(data[:4096]) else _page(decode(data, request["charset"], html=True)))


def _inflated(data: bytes, most: int) -> bytes:
    """Decompress a gzipped sitemap, ignoring everything after `most` bytes."""
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress(data, most) if data.startswith(_GZIP) else data


def _sitemap(data: bytes) -> dict[str, Any]:
    """Return the addresses of a sitemap, or of the sitemaps that an index names, up to the first damage."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, recover=True
    )
    root = etree.fromstring(data, parser)
    return {
        "is_sitemap": True,
        "pages": _addresses(root.xpath("/*/*[local-name()='url']/*[local-name()='loc']/text()")),
        "sitemaps": _addresses(root.xpath("/*/*[local-name()='sitemap']/*[local-name()='loc']/text()")),
    }


def _page(text: str) -> dict[str, Any]:
    tree = parse_html(text)
    if tree is None:
        return {}
    base, pages = tree.xpath("string(//base/@href)"), tree.xpath("//a/@href | //area/@href")
    return {"base": base[:_LONGEST], "pages": _addresses(pages)}


def _addresses(written: Iterable[str]) -> list[str]:
    """Return the distinct addresses in order, as browsers read them (WHATWG URL, section 4.4); bounded in number."""
    tidied = (_BREAKS.sub("", address.strip()).replace(" ", "%20") for address in written)
    return list(dict.fromkeys(address for address in tidied if 0 < len(address) <= _LONGEST))[:MOST]


if __name__ == "__main__":
    main()
