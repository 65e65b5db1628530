"""A scripted Tavily server over real HTTP, which remembers its requests."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class TavilyServer:
    """`results` are returned with status 200; otherwise `status` and `body` are sent as they are, after `delay`.

    With a `pause` of some seconds the body comes byte by byte. `usage` is what `GET /usage` says of the account;
    `asked` lists the paths of such requests with their keys.
    """

    results: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: threading.Event | None = None
    pause: float = 0.0
    requests: list[dict[str, Any]] = field(default_factory=list)
    usage: Any = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        if self.delay:
            self.delay.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def queries(self) -> list[str]:
        return [request["query"] for request in self.requests]

    def write(self, line: Any, body: bytes) -> None:
        """Sends the body, at once or byte by byte."""
        pieces = [bytes([byte]) for byte in body] if self.pause else [body]
        for piece in pieces:
            line.write(piece)
            if self.closing.wait(self.pause):
                return

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                script.requests.append(json.loads(self.rfile.read(length)))
                if script.delay:
                    script.delay.wait()
                self.reply({"results": script.results})

            def do_GET(self) -> None:
                script.asked.append((self.path, self.headers.get("Authorization", "")))
                self.reply(script.usage)

            def reply(self, value: Any) -> None:
                body = script.body if script.body is not None else json.dumps(value).encode()
                self.send_response(script.status)
                for name, text in script.headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if script.status != 204:
                    script.write(self.wfile, body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
