"""A scripted server of a search provider over real HTTP, which remembers its requests."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass
class SearchApi:
    """Sends `reply` as JSON, or `body` as it is, with this status and these headers, after `delay`.

    With `endless`, it sends that again and again, with a `pause` of some seconds, until the client is `gone`.
    """

    reply: Any = None
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: threading.Event | None = None
    endless: bytes = b""
    pause: float = 0.0
    gone: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    """Path, query and headers of each request."""

    def __enter__(self) -> Self:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.do_GET()

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                script.asked.append((url.path, query, dict(self.headers)))
                if script.delay:
                    script.delay.wait()
                body = script.body if script.body is not None else json.dumps(script.reply).encode()
                self.send_response(script.status)
                for name, text in script.headers.items():
                    self.send_header(name, text)
                if script.endless:
                    self.end_headers()
                    self.send_endlessly()
                    return
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def send_endlessly(self) -> None:
                with suppress(OSError):
                    while not script.gone.wait(script.pause):
                        self.wfile.write(script.endless)
                script.gone.set()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.delay:
            self.delay.set()
        self.gone.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"
