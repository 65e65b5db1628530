"""A scripted LangSmith: stores over real HTTP what it is sent, and fails on request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from tests.doubles.http_double import DoubleHandler, HttpDouble

TENANT = "5f0ccd7d-1fc5-4a5f-9ad5-3f4d8e5d7a10"
_EARLY = "2026-01-01T00:00:00+00:00"

Reply = tuple[int, Any]


class _Handler(DoubleHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self) -> None:
        script, body = self.script, self.read_body()
        script.requests.append((self.command, self.path, self.headers.get("x-api-key", "")))
        script.raw.append(body)
        script.wait()
        if script.fails_from < len(script.requests) and (script.status != 200 or script.body is not None):
            return self.reply(script.body or b"{}", script.status, script.headers)
        status, value = script.answer(self.command, self.path, body, self.headers.get("Content-Type", ""))
        return self.reply(json.dumps(value).encode(), status, script.headers)


@dataclass
class LangSmithServer(HttpDouble):
    """Fails, if its status or body says so, from request `fails_from` (from 0) on.

    `requests` are method, path and key of all that was asked; what was kept:
    `datasets` and `projects` by name, `examples`, `runs` and `feedback` by id.
    """

    handler = _Handler
    fails_from: int = 0
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    datasets: dict[str, dict[str, Any]] = field(default_factory=dict)
    projects: dict[str, dict[str, Any]] = field(default_factory=dict)
    examples: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    feedback: dict[str, dict[str, Any]] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)

    @property
    def sent(self) -> str:
        """All bodies that came, one after the other."""
        return b"\n".join(self.raw).decode("utf-8", "replace")

    def answer(self, method: str, address: str, body: bytes, content_type: str) -> Reply:
        """What the real one would reply."""
        parts = urlsplit(address)
        query = parse_qs(parts.query)
        match method, parts.path.strip("/").split("/"):
            case "GET", ["datasets"]:
                return 200, [one for name, one in self.datasets.items() if name == query["name"][0]]
            case "POST", ["datasets"]:
                return self._made(self.datasets, json.loads(body))
            case "GET", ["sessions"]:
                return 200, list(self.projects.values())[:1]
            case "POST", ["sessions"]:
                return self._upserted(json.loads(body))
            case "PATCH", ["sessions", which]:
                project = next(one for one in self.projects.values() if one["id"] == which)
                project.update({name: value for name, value in json.loads(body).items() if value is not None})
                return 200, project
            case "GET", ["examples"]:
                start = int(query.get("offset", ["0"])[0])
                found = [one for one in self.examples.values() if one["dataset_id"] == query["dataset"][0]]
                return 200, found[start : start + int(query["limit"][0])]
            case "POST", ["examples", "bulk"]:
                return self._added(json.loads(body))
            case "POST", ["runs", "multipart"]:
                self._ingest(body, content_type)
                return 202, {}
        return 404, {"detail": "Not Found"}

    def _made(self, kept: dict[str, dict[str, Any]], wanted: dict[str, Any]) -> Reply:
        if wanted["name"] in kept:
            return 409, {"detail": "exists"}
        kept[wanted["name"]] = {**wanted, "id": str(uuid4()), "tenant_id": TENANT, "created_at": _EARLY}
        return 200, kept[wanted["name"]]

    def _upserted(self, wanted: dict[str, Any]) -> Reply:
        there = self.projects.get(wanted["name"], {"id": wanted["id"], "tenant_id": TENANT, "start_time": _EARLY})
        self.projects[wanted["name"]] = {**wanted, **there}
        return 200, self.projects[wanted["name"]]

    def _added(self, wanted: list[dict[str, Any]]) -> Reply:
        if any(one["id"] in self.examples for one in wanted):
            return 409, {"detail": "exists"}
        self.examples |= {one["id"]: one for one in wanted}
        return 200, wanted

    def _ingest(self, body: bytes, content_type: str) -> None:
        """Keep all runs of a request at once: a test that waits for the first one sees the others too."""
        message = BytesParser().parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
        runs: dict[str, dict[str, Any]] = {}
        for part in message.get_payload():
            assert not isinstance(part, str)
            name = str(part.get_param("name", header="content-disposition"))
            kind, which, *rest = name.split(".")
            value = json.loads(part.get_payload(decode=True))  # type: ignore[arg-type]
            if kind == "feedback":
                self.feedback[which] = value
            elif rest:
                runs[which][rest[0]] = value
            else:
                runs[which] = value
        self.runs = self.runs | runs
