"""Parses one file in a child process: sends it, follows its progress, kills it at a limit or on cancellation.

Every file gets a new process, text files too: encoding detection also runs third-party code over untrusted bytes, one
path is simpler than two, and a start costs less than embedding a page. No file can affect the next one.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from crag.errors import SourceRefused
from crag.library.parse.document import Document
from crag.library.parse.limits import Limits
from crag.library.parse.process import Child, Deadline, deadline, running, why_ended
from crag.progress import Report, silent
from crag.stopping import Stop
from crag.types import Progress


def parse(
    name: str,
    data: bytes | Path,
    *,
    content_type: str = "",
    charset: str | None = None,
    stop: Stop,
    limits: Limits | None = None,
    progress: Report | None = None,
) -> Document:
    """Parse `data`, bytes or a file. `name`, `content_type` and `charset` are hints; the content decides.

    Raises `SourceRefused` (`empty`, `no_text`, `encrypted`, `unsupported`, `corrupt`, `too_large`, `too_slow`) and
    `Stopped`.
    """
    limits = limits or Limits()
    request = {"name": name, "content_type": content_type, "charset": charset}
    request["tesseract"] = shutil.which("tesseract") or ""
    with (
        running("crag.library.parse.child", request, data, limits, stop) as child,
        deadline(child, limits.seconds) as until,
    ):
        reply = _last_reply(child, limits, until, progress or silent)
    if "document" in reply:
        return Document.from_json(reply["document"])
    if "refused" in reply:
        raise SourceRefused(*reply["refused"])
    raise why_ended(child, until.is_set(), replace(limits, seconds=until.seconds))


def _last_reply(child: Child, limits: Limits, until: Deadline, progress: Report) -> dict[str, Any]:
    """Return the last line of the child, reporting earlier ones as progress; empty if the child ended before it."""
    assert child.stdout  # noqa: S101 — opened as a pipe
    longest = 8 * limits.characters + 1_000_000
    while line := child.stdout.readline(longest):
        try:
            message: dict[str, Any] = json.loads(line)
        except ValueError:
            return {}
        if "progress" in message:
            progress(Progress(*message["progress"]))
        elif "ocr" in message and until.seconds == limits.seconds:
            until.extend(limits.with_ocr(message["ocr"]))
        else:
            return message
    return {}
