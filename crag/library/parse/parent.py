"""Runs the parsing child: hands it one file, follows its progress, and kills it at a limit or a stop.

Each file gets a fresh process, text files too: guessing an encoding runs foreign code over hostile bytes as well, one
path is simpler than two, and a start costs less than embedding a page. No file can disturb the next one.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from crag.errors import SourceRefused
from crag.library.parse.document import Document
from crag.library.parse.limits import Limits
from crag.library.parse.process import Deadline, deadline, end, opened, start, why_ended
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
    """The document in `data`, bytes or a file; `name`, `content_type` and `charset` are hints, the content decides.

    Raises `SourceRefused` (`empty`, `no_text`, `encrypted`, `unsupported`, `corrupt`, `too_large`, `too_slow`) and
    `Stopped`.
    """
    limits = limits or Limits()
    request = {"name": name, "content_type": content_type, "charset": charset, "limits": asdict(limits)}
    request["tesseract"] = shutil.which("tesseract") or ""
    with opened(data, limits) as file:
        return _Child(request, file, limits, stop).follow(progress or silent)


class _Child:
    """One child process that reads one file."""

    def __init__(self, request: dict[str, Any], file: IO[bytes], limits: Limits, stop: Stop) -> None:
        self._limits = limits
        self._stop = stop
        self._process = start("crag.library.parse.child", request, file)

    def follow(self, progress: Report) -> Document:
        """Its document. Raises `SourceRefused`, `Stopped`."""
        with self._process as process, self._stop.breaking(lambda: end(process)):
            try:
                with deadline(process, self._limits.seconds) as until:
                    reply = self._reply(progress, until)
            finally:
                end(process)
        self._stop.check()
        return self._document(reply, until)

    def _reply(self, progress: Report, until: Deadline) -> dict[str, Any]:
        """The last line that the child wrote, or nothing when it ended before that; earlier lines are progress."""
        assert self._process.stdout  # noqa: S101 — opened as a pipe
        longest = 8 * self._limits.characters + 1_000_000
        while line := self._process.stdout.readline(longest):
            try:
                message: dict[str, Any] = json.loads(line)
            except ValueError:
                return {}
            if "progress" in message:
                progress(Progress(*message["progress"]))
            elif "ocr" in message and until.seconds == self._limits.seconds:
                until.extend(self._limits.with_ocr(message["ocr"]))
            else:
                return message
        return {}

    def _document(self, reply: dict[str, Any], until: Deadline) -> Document:
        if "document" in reply:
            return Document.from_json(reply["document"])
        if "refused" in reply:
            raise SourceRefused(*reply["refused"])
        raise why_ended(self._process, until.is_set(), replace(self._limits, seconds=until.seconds))
