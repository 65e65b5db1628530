"""What scripted servers share: a real HTTP server in a thread, whose handler knows the script it serves."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self


class DoubleHandler(BaseHTTPRequestHandler):
    """`script` is the double that is served."""

    script: Any

    def answer(self) -> None:
        """Reply to the request, whatever its method."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    do_POST = do_PATCH = do_GET  # noqa: N815 — as the server of the standard library calls them

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()

    def reply(self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send a whole reply; without a body if the status forbids one."""
        self.begin(status, {"Content-Length": str(len(body)), **(headers or {})})
        if status != 204:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that leaves, or a script that raises, ends the connection without a reply."""


@dataclass(kw_only=True)
class HttpDouble:
    """Serves while its block is open. Each reply waits for `delay`; what waits ends with `closing`.

    `status`, `body` and `headers` are sent instead of what the handler would say.
    """

    handler: ClassVar[type[DoubleHandler]]
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: threading.Event | None = None
    closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), type("Handler", (self.handler,), {"script": self}))
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        if self.delay:
            self.delay.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait(self) -> None:
        """Wait until replies may be sent."""
        if self.delay:
            self.delay.wait()

    def encode(self, value: Any) -> bytes:
        """Return the scripted body, or else this value as JSON."""
        return json.dumps(value).encode() if self.body is None else self.body
