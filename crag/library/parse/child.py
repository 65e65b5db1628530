"""Child process that parses one untrusted file from standard input, under limits, and replies in JSON lines.

The lines are `{"progress": […]}` and `{"ocr": pages}`, then `{"document": …}` or `{"refused": […]}`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

from crag.errors import SourceRefused
from crag.library.cleaning import clean_text, display_name
from crag.library.parse.confinement import Answer, run_confined
from crag.library.parse.document import Block, Document
from crag.library.parse.formats import read
from crag.library.parse.limits import Limits, too_large
from crag.library.parse.request import Request

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def main() -> None:
    """Parse the file and send the replies."""
    run_confined(_read)


def _read(values: dict[str, Any], limits: Limits, answer: Answer) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        answer({"progress": [stage, done, total]})

    def begin_ocr(pages: int) -> float:
        answer({"ocr": pages})
        return limits.with_ocr(pages)

    data = sys.stdin.buffer.read()
    request = Request(data=data, limits=limits, progress=progress, begin_ocr=begin_ocr, **values)
    answer({"document": _finished(read(request), request).as_json()})


def _finished(document: Document, request: Request) -> Document:
    """Clean the text, drop empty blocks, check the size limit and set a title. Raises `SourceRefused`."""
    blocks = tuple(block for block in map(_cleaned, document.blocks) if block.text)
    if not blocks:
        raise SourceRefused("no_text", "The file holds no text.")
    if sum(len(block.text) for block in blocks) > request.limits.characters:
        raise too_large(f"holds more than {request.limits.characters:,} characters of text")
    title = _line(document.title) or display_name(request.name)
    published = document.published if _DAY.fullmatch(document.published) else ""
    return replace(document, title=title, author=_line(document.author), published=published, blocks=blocks)


def _line(text: str) -> str:
    return " ".join(clean_text(text).split())[:200]


def _cleaned(block: Block) -> Block:
    text = clean_text(block.text)
    return replace(block, text=text.strip("\n") if block.kind == "code" else text.strip())


if __name__ == "__main__":
    main()
