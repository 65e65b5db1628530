"""The process that reads one foreign file from standard input, under limits, and writes JSON lines to standard output.

The lines are `{"progress": [stage, done, total]}`, then `{"document": …}` or `{"refused": [code, message, remedy]}`.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crag.errors import SourceRefused
from crag.library.cleaning import clean_text, display_name
from crag.library.document import Block, Document
from crag.library.parse.formats import read
from crag.library.parse.limits import Limits, too_large
from crag.library.parse.request import Request

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def main() -> None:
    """Read the file and answer."""
    answer = _only_answers()
    values: dict[str, Any] = json.loads(sys.argv[1])
    limits = Limits(**values.pop("limits"))
    _restrict(limits)

    def progress(stage: str, done: int, total: int) -> None:
        answer({"progress": [stage, done, total]})

    try:
        request = Request(data=sys.stdin.buffer.read(), limits=limits, progress=progress, **values)
        answer({"document": _finished(read(request), request).as_json()})
    except SourceRefused as refused:
        answer(_refused(refused))
    except MemoryError:
        answer(_refused(too_large("needs more memory than it may use")))


def _refused(refused: SourceRefused) -> dict[str, Any]:
    return {"refused": [refused.code, refused.message, refused.remedy]}


def _only_answers() -> Callable[[dict[str, Any]], None]:
    """What writes one line to the parent; anything a library prints goes elsewhere."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(message: dict[str, Any]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    return answer


def _restrict(limits: Limits) -> None:
    """Bound memory and processor time, forbid writing files, where the system can (macOS ignores RLIMIT_AS)."""
    try:
        import resource
    except ImportError:  # Windows has none of this; the parent's deadline still holds
        return
    seconds = math.ceil(limits.seconds)
    wanted = {"RLIMIT_AS": limits.memory, "RLIMIT_DATA": limits.memory, "RLIMIT_CPU": seconds, "RLIMIT_CORE": 0}
    for name, value in (wanted | {"RLIMIT_FSIZE": 0}).items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (soft, hard))
        except (ValueError, OSError):  # macOS knows the name and refuses the value
            continue


def _finished(document: Document, request: Request) -> Document:
    """Cleaned, without empty blocks, within the limit, and with a title. Raises `SourceRefused`."""
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
