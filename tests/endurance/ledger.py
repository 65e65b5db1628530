"""What a library must hold according to the output of a killed worker, and a check that it does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from crag.app.application import Application
from tests.crashing import check_whole
from tests.endurance.mixed_work import mark_of, question_of, text_of
from tests.waiting import PATIENCE, wait_until

Held = tuple[str, str]  # SHA-256 and collection


@dataclass
class Ledger:
    """For each document what may be held of it: one state when all was acknowledged, two after a deed broken off."""

    may_hold: dict[str, set[Held | None]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)  # by SHA-256
    asked: dict[str, str] = field(default_factory=dict)  # questions by conversation
    deeds: int = 0
    refused: list[str] = field(default_factory=list)  # in words, because the database did not answer
    errors: list[str] = field(default_factory=list)

    def read(self, lines: Iterable[str]) -> None:
        """Takes in what a worker wrote; its last line may be torn."""
        begun: dict[str, dict[str, Any]] = {}
        for line in lines:
            if not line.endswith("\n"):
                break
            word, number, deed, *result = json.loads(line)
            if word == "owner":
                continue
            if word == "begin":
                begun[number] = deed
                continue
            del begun[number]
            self.deeds += 1
            self._acknowledged(deed, result[0])
        for deed in begun.values():  # may have happened or not
            before = self.may_hold.get(deed["name"], {None})
            self.may_hold[deed["name"]] = before | {self._after(deed, state) for state in before}

    def check(self, application: Application) -> dict[str, tuple[str, int]]:
        """Asserts that the home holds just what it must; gives {document: (id, version)} for the next worker."""
        library = application.library
        application.jobs.resume()
        wait_until(lambda: not application.jobs.active)
        check_whole(library)
        self._check_questions(application)
        sources = {source.title.removesuffix(".txt"): source for source in library.sources()}
        assert len(sources) == len(library.sources()), "a document is there twice"
        for name in self.may_hold | sources:
            source = sources.get(name)
            held = (source.sha256, source.collection) if source else None
            assert held in self.may_hold.get(name, {None}), (
                f"{name}: {held} of {self.may_hold.get(name)}, {self.errors}"
            )
            self.may_hold[name] = {held}
        for name, source in list(sources.items())[:5]:
            mark = mark_of(name, self.versions[source.sha256])
            assert any(mark in hit.text for hit in library.search(mark, k=2)), f"{name} is not found"
        return {name: (source.id, self.versions[source.sha256]) for name, source in sources.items()}

    def _check_questions(self, application: Application) -> None:
        """Every question is there, with an answer or what there was of it."""
        for conversation, question in self.asked.items():
            if (run := application.runs.active(conversation)) is not None:
                list(run.follow(seconds=PATIENCE))
            asked, answer = application.conversations.messages(conversation)
            assert answer.state not in ("running", "waiting"), f"{question} does not end"
            assert asked.text == question
            assert answer.text or answer.state != "done", f"{question} was answered with nothing"
            assert answer.state != "failed" or self.refused, f"{question} failed"

    def _acknowledged(self, deed: dict[str, Any], result: dict[str, Any]) -> None:
        if "error" in result or result.get("found") is False:
            self.errors.append(f"{deed['kind']} {deed['name']}: {result}")
            return
        before = self.may_hold.get(deed["name"], {None})
        after = {self._after(deed, state) for state in before}
        if "refused" in result:
            self.refused.append(result["refused"])
            after |= before
        if "conversation" in result:
            self.asked[result["conversation"]] = question_of(deed["name"])
        self.may_hold[deed["name"]] = after

    def _after(self, deed: dict[str, Any], before: Held | None) -> Held | None:
        if deed["kind"] in ("add", "change", "submit"):
            text = text_of(deed["name"], deed["version"], deed["size"])
            sha256 = hashlib.sha256(text.encode()).hexdigest()
            self.versions[sha256] = deed["version"]
            return sha256, before[1] if before else "Documents"
        if deed["kind"] == "remove":
            return None
        if deed["kind"] == "move" and before:
            return before[0], deed["collection"]
        return before
