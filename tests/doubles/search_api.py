"""A scripted server of a search provider over real HTTP, which remembers its requests."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.doubles.http_double import DoubleHandler, HttpDouble


class _Handler(DoubleHandler):
    def answer(self) -> None:
        self.read_body()
        script, url = self.script, urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        script.asked.append((url.path, query, dict(self.headers)))
        script.wait()
        if script.endless:
            self.begin(script.status, script.headers)
            self.send_endlessly()
        else:
            self.reply(script.encode(script.reply), script.status, script.headers)

    def send_endlessly(self) -> None:
        with suppress(OSError):
            while not self.script.closing.wait(self.script.pause):
                self.wfile.write(self.script.endless)
        self.script.gone.set()


@dataclass
class SearchApi(HttpDouble):
    """Sends `reply` as JSON. With `endless`, it sends that again and again until the client is `gone`.

    Between two pieces it makes a `pause` of some seconds.
    """

    handler = _Handler
    reply: Any = None
    endless: bytes = b""
    pause: float = 0.0
    gone: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    """Path, query and headers of each request."""
