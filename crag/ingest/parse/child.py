"""Child process that parses one untrusted file."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from crag.errors import SourceRefused
from crag.ingest.parse.confinement import SendReply, run_confined
from crag.ingest.parse.detection import detect_format
from crag.ingest.parse.document import (
    Block,
    Document,
    ParseLimits,
    ParseRequest,
    choose_title,
    is_generic_title,
    too_much_text_refusal,
)
from crag.text.sanitization import clean_display_name, clean_text

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def main() -> None:
    """Parse the file and send the replies."""
    run_confined(_parse_file)


def _parse_file(values: dict[str, Any], limits: ParseLimits, answer: SendReply) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        answer({"progress": [stage, done, total]})

    def begin_ocr(pages: int) -> float:
        answer({"ocr": pages})
        return limits.seconds_with_ocr(pages)

    data = sys.stdin.buffer.read()
    request = ParseRequest(data=data, limits=limits, progress=progress, begin_ocr=begin_ocr, **values)
    answer({"document": _finish_document(_parse(request), request).as_json()})


def _parse(request: ParseRequest) -> Document:
    """Parse the requested file; its text is not yet cleaned.

    Raises `SourceRefused`, `MemoryError`, and whatever a library raises for a damaged file. Such an exception ends the
    process, which the parent reports as a damaged file.
    """
    found = detect_format(request)
    document = found.load_reader()(request)
    return replace(document, kind=document.kind or found.kind)


def _finish_document(document: Document, request: ParseRequest) -> Document:
    """Clean the text, drop empty blocks, check the size limit and set a title. Raises `SourceRefused`."""
    blocks = tuple(block for block in map(_clean_block, document.blocks) if block.text)
    if not blocks:
        raise SourceRefused("no_text", "The file contains no text.")
    if sum(len(block.text) for block in blocks) > request.limits.characters:
        raise too_much_text_refusal(request.limits)
    title = "" if is_generic_title(document.title) else _single_line(document.title)
    name = clean_display_name(request.name)
    if not title and is_generic_title(PurePath(name).stem):
        title = _single_line(choose_title("", blocks))
    published = document.published if _ISO_DATE.fullmatch(document.published) else ""
    return replace(
        document, title=title or name, author=_single_line(document.author), published=published, blocks=blocks
    )


def _single_line(text: str) -> str:
    return " ".join(clean_text(text).split())[:200]


def _clean_block(block: Block) -> Block:
    text = clean_text(block.text)
    return replace(block, text=text.strip("\n") if block.kind == "code" else text.strip())


if __name__ == "__main__":
    main()
