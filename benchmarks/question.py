"""Overhead of one question over 10,000 passages, without model time: median and 95th percentile by node.

Measured with a chat model of zero latency (leaving embedding of the question, search, graph, events and prompts) and
with the built-in engine (which adds its own grading, refining and reading).
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.corpus import documents
from benchmarks.tables import print_milliseconds
from crag.app.application import Application, open_application
from crag.cancellation import Cancellation
from crag.grading.explained import ExplainedGrader
from crag.grading.refiners import ExplainedRefiner
from crag.library.library import Library
from crag.models.writer import ModelRewriter, ModelWriter
from crag.options import RunOptions
from crag.protocols import Engine, Reply, ReplyPiece, TokenChoice
from crag.runs.service import RunService
from crag.runs.trace import Trace
from crag.runs.worker import RunResourceBuilder, RunResources
from crag.settings import Settings
from crag.types import Prompt, Usage

PASSAGES = 10_000
QUESTIONS = 60
WARM_UP = 5


class InstantModel:
    """A chat model of zero latency: accepts every passage, keeps every strip, writes twenty words."""

    name = fingerprint = "instant"
    host = ""
    window, answer_limit, concurrency = 8192, 1024, 4

    def count_tokens(self, text: str) -> int:
        """Return a quarter of the number of characters, as an instant estimate."""
        return len(text) // 4

    def complete(self, prompts: Sequence[Prompt], stop: Cancellation, *, schema: dict[str, Any] | None = None) -> Reply:
        """Return a reply that fits either schema."""
        return Reply(json.dumps({"verdict": "yes", "reason": "It does.", "keep": [1, 2]}))

    def first_token(self, prompts: Sequence[Prompt], stop: Cancellation) -> TokenChoice:
        """Return yes at once."""
        return TokenChoice("Yes", {"Yes": -0.1, "No": -2.4})

    def choose_word(self, prompts: Sequence[Prompt], words: Sequence[str], stop: Cancellation) -> TokenChoice:
        """Return the first word at once."""
        return TokenChoice(json.dumps({"verdict": words[0]}))

    def stream(self, prompts: Sequence[Prompt], stop: Cancellation) -> Iterator[ReplyPiece]:
        """Yield twenty words at once."""
        for _ in range(20):
            yield ReplyPiece("word ")
        yield ReplyPiece("[1].", Usage(100, 21, "stop"))


def main() -> None:
    """Fill the library, ask and print."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), chat_model="builtin", embedder="builtin")
        application = open_application(settings)
        try:
            _fill(application)
            with closing(RunService(application.database, _instant(application.library))) as runs:
                _measure("Instant model", runs)
            _measure("Built-in engine", application.runs)
        finally:
            application.close()


def _fill(application: Application) -> None:
    began = time.perf_counter()
    for name, data in documents(PASSAGES):
        result = application.library.pipeline.add_bytes(name, data)
        if result.error:
            raise SystemExit(result.error.message)
    sources, passages, _ = application.library.counts()
    print(f"{passages:,} passages in {sources} documents, added in {time.perf_counter() - began:.1f} s")


def _instant(library: Library) -> RunResourceBuilder:
    model = InstantModel()
    engine = Engine(
        "instant", "Instant", ExplainedGrader(model), ExplainedRefiner(model), ModelRewriter(model), ModelWriter(model)
    )
    resources = RunResources(engine, library.retriever, embedder="", web=None, web_missing="")
    return lambda *_: resources


def _measure(title: str, runs: RunService) -> None:
    rows: dict[str, list[float]] = defaultdict(list)
    for number, question in enumerate(_questions()):
        began = time.perf_counter()
        run = runs.start(None, question, RunOptions(model="builtin"))
        trace = Trace().apply_all(event for _, event in run.follow())
        if number >= WARM_UP:
            rows["in all"].append(time.perf_counter() - began)
            for step in trace.steps:
                rows[step.node].append(step.seconds or 0.0)
    print_milliseconds(f"{title}, one question, k = 4", rows)


def _questions() -> list[str]:
    """Return questions of eight consecutive words of a passage, so that each finds something."""
    chance = random.Random(2)
    questions = []
    for _, data in islice(documents(PASSAGES), QUESTIONS):
        words = data.decode().split()
        start = chance.randrange(len(words) - 8)
        questions.append(f"What of {' '.join(words[start : start + 8])}?")
    return questions
