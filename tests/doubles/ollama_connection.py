"""One connection to the scripted Ollama server: sends replies whole or in pieces, notices when the client leaves."""

from __future__ import annotations

import json
import select
import socket
import struct
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from tests.doubles.ollama_values import Asked

if TYPE_CHECKING:
    from tests.doubles.ollama import ScriptedOllama, Server


Due = Callable[[], float]  # a time by `time.monotonic`, asked for again while it is waited for

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Dropped(Exception):
    """The client closed its connection."""


class Connection(BaseHTTPRequestHandler):
    """Reads requests, sends replies."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def ollama(self) -> ScriptedOllama:
        return cast("Server", self.server).ollama

    def log_message(self, *_: object) -> None:
        """Silence."""

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return body

    def _record(self, body: dict[str, Any]) -> Asked:
        asked = Asked(self.path, body, time.monotonic())
        self.ollama.requests.append(asked)
        return asked

    def _pause(self, due: Due) -> None:
        """Wait until a time that may yet change, but notice when the client goes away or the server closes."""
        left = 0.0
        while left >= 0:
            ready, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if self.ollama.closing.is_set() or (ready and not self.connection.recv(1, socket.MSG_PEEK)):
                raise Dropped
            left = due() - time.monotonic()

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        raise Dropped

    def _send(self, status: int, value: dict[str, Any] | None) -> None:
        """A whole reply: JSON, or what some other web server would say."""
        if value is None:
            self._send_content(status, b"404 page not found", "text/plain")
        else:
            self._send_content(status, json.dumps(value).encode(), "application/json")

    def _send_content(self, status: int, content: bytes, kind: str, headers: Mapping[str, str] = _NO_HEADERS) -> None:
        self.send_response(status)
        for name, text in {"Content-Type": kind, **headers}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send_line(self, value: dict[str, Any]) -> None:
        self._send_chunk(json.dumps(value).encode() + b"\n")

    def _send_chunk(self, content: bytes) -> None:
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()
