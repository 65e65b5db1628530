"""A scripted web server on loopback, over HTTP or TLS, and a canary that counts connections."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Script = Callable[["Handler"], None]
CERTIFICATE = Path(__file__).with_name("pages.test.pem")
EXPIRED = Path(__file__).with_name("expired.test.pem")


class Handler(BaseHTTPRequestHandler):
    """Answers each path by its script; an unknown path is a 404."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: WebServer

    def do_GET(self) -> None:
        self.close_connection = True
        self.server.seen.append((self.headers["Host"], self.path))
        self.server.headers.append(dict(self.headers))
        script = self.server.scripts.get(self.path.partition("?")[0])
        with suppress(OSError):  # the client may leave at any moment
            if script:
                script(self)
            else:
                self.reply(b"nothing here", status=404, content_type="text/plain")

    def reply(self, body: bytes, *, status: int = 200, content_type: str = "text/html", **headers: str) -> None:
        """One whole answer; header names are written with underscores, `content_type=""` sends none."""
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


class WebServer(ThreadingHTTPServer):
    """`scripts` maps paths to what answers them; `seen` lists (Host header, path), `headers` all of every request."""

    daemon_threads = True

    def __init__(self, certificate: Path | None = None, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), Handler)
        self.scripts: dict[str, Script] = {}
        self.seen: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()
        self._tls = certificate is not None
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def url(self, path: str = "/", host: str = "") -> str:
        return f"{'https' if self._tls else 'http'}://{host or self.server_address[0]}:{self.port}{path}"

    def page(self, path: str, body: bytes, **reply: object) -> str:
        """Serve `body` at `path`; returns its address."""
        self.scripts[path] = lambda handler: handler.reply(body, **reply)
        return self.url(path)

    def redirect(self, path: str, to: str, status: int = 302) -> str:
        """Redirect `path` to `to`; return its address."""
        return self.page(path, b"", status=status, Location=to)

    def drip(self, path: str, piece: bytes, pause: float, head: bytes = b"") -> str:
        """After `head` send `piece` every `pause` seconds redirected too often; returns the address."""

        def script(handler: Handler) -> None:
            handler.wfile.write(head)
            while not self.closing.wait(pause):
                handler.wfile.write(piece)

        self.scripts[path] = script
        return self.url(path)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves is no error."""


@contextmanager
def serving(certificate: Path | None = None, host: str = "127.0.0.1") -> Iterator[WebServer]:
    """A running server, with a certificate over TLS; it is gone when the block ends."""
    with WebServer(certificate, host) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


class Canary:
    """Listens on loopback, in both families where there are two, and must never be touched."""

    def __init__(self, port: int = 0) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", port))]
        self.port = int(self._sockets[0].getsockname()[1])
        with suppress(OSError):
            self._sockets.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        for listener in self._sockets:
            listener.settimeout(0.02)
        self.heard: list[bytes] = []  # what each one said first, to find out who it was

    def hits(self) -> int:
        """How many connected since the last call."""
        return sum(self._hits(listener) for listener in self._sockets)

    def _hits(self, listener: socket.socket) -> int:
        count = 0
        with suppress(TimeoutError):
            while True:
                with listener.accept()[0] as connection:
                    count += 1
                    connection.settimeout(1)
                    with suppress(OSError):
                        self.heard.append(connection.recv(200))
        return count

    def close(self) -> None:
        for listener in self._sockets:
            listener.close()
