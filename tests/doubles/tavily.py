"""A scripted Tavily server over real HTTP, which remembers its requests."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.http_double import DoubleHandler, HttpDouble


class _Handler(DoubleHandler):
    def answer(self) -> None:
        script = self.script
        if self.command == "POST":
            script.requests.append(json.loads(self.read_body()))
            script.wait()
        else:
            script.asked.append((self.path, self.headers.get("Authorization", "")))
        value = {"results": script.results} if self.command == "POST" else script.usage
        self.reply(script.encode(value), script.status, script.headers)


@dataclass
class TavilyServer(HttpDouble):
    """Returns `results`.

    `usage` is what `GET /usage` says of the account; `asked` lists the paths of such requests with their keys.
    """

    handler = _Handler
    results: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    usage: Any = None
    asked: list[tuple[str, str]] = field(default_factory=list)

    @property
    def queries(self) -> list[str]:
        return [request["query"] for request in self.requests]
