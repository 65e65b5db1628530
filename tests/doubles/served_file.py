"""One large file on the scripted web server, which supports range requests and breaks off on request."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from tests.doubles.web import Handler
from tests.waiting import wait_until

_BLOCK = 1 << 14


@dataclass
class ServedFile:
    """A script for `WebServer.scripts`. `ranges` lists the Range header of each request, "" where there was none."""

    body: bytes
    etag: str = '"one"'
    honours_ranges: bool = True
    breaks: list[int] = field(default_factory=list)  # each request in turn ends after so many bytes
    holds_at: float = math.inf  # bytes; what lies beyond is sent once this is raised
    ranges: list[str] = field(default_factory=list)

    def __call__(self, handler: Handler) -> None:
        asked = handler.headers["Range"] or ""
        self.ranges.append(asked)
        begin = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked and self.honours_ranges else 0
        if begin >= len(self.body):
            handler.reply(b"", status=416)
            return
        handler.send_response(206 if begin else 200)
        handler.send_header("Content-Length", str(len(self.body) - begin))
        if self.etag:
            handler.send_header("ETag", self.etag)
        if begin:
            handler.send_header("Content-Range", f"bytes {begin}-{len(self.body) - 1}/{len(self.body)}")
        handler.end_headers()
        self._send(handler, self.body[begin:][: self.breaks.pop(0) if self.breaks else None])

    def _send(self, handler: Handler, body: bytes) -> None:
        for begin in range(0, len(body), _BLOCK):
            wait_until(lambda begin=begin: begin < self.holds_at or handler.server.closing.is_set())
            handler.wfile.write(body[begin : begin + _BLOCK])
