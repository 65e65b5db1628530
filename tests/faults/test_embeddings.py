"""68 and 69: embedders that send unsound vectors, or become another model, while documents are added and searched."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from crag.options import RunOptions
from crag.runs.trace import Trace
from tests.applications import opened_with, wait
from tests.doubles.little_model import embed_words
from tests.doubles.ollama_values import LLAMA, Say
from tests.faults.asking import QUESTION
from tests.faults.conftest import NOTES
from tests.waiting import PATIENCE

EMBEDDER = "ollama:nomic-embed-text"
OTHER = "Bees dance on the comb to tell the others where flowers are."
AGAIN = "Try again, or choose another embedder in the settings."
BY_WORDS = (
    "The embedder of your documents (ollama:nomic-embed-text) could not be used, so they were searched by words: "
)


@pytest.fixture
def application(ollama, tmp_path):
    """A library that Ollama embeds, with one document."""
    given = {"chat_model": "auto", "embedder": EMBEDDER, "ollama_host": ollama.url}
    with opened_with(tmp_path / "embedded", {"traces.md": NOTES["traces.md"]}, **given) as made:
        assert made.library.counts()[:2] == (1, 1)
        yield made


def ask(application, question: str = QUESTION) -> Trace:
    return wait(application.runs.start(None, question, RunOptions(model="builtin")))


@dataclass(frozen=True)
class Row:
    """What the server sends for texts in place of vectors; `added` and `asked` are the words for either."""

    name: str
    embed: Callable[[list[str], int], Any]
    added: str
    asked: str = ""


ROWS = [
    Row(
        "68-nan",
        lambda texts, size: [[math.nan] * size for _ in texts],
        "The embeddings of ollama:nomic-embed-text were not used: they hold values that are not numbers.",
    ),
    Row(
        "68-too-few",
        lambda texts, size: embed_words(texts, size)[:-1],
        "The embeddings of ollama:nomic-embed-text were not used: they are 1 for 2 texts.",
        "The embeddings of ollama:nomic-embed-text were not used: they are 0 for 1 text.",
    ),
    Row(
        "68-none-at-all",
        lambda texts, size: None,
        "nomic-embed-text on Ollama could not embed this text.",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_are_no_vectors_is_never_stored_nor_searched_with(application, ollama, row):
    ollama.embed = row.embed
    refused = application.library.pipeline.add_bytes("bees.md", OTHER.encode())
    assert (refused.status, refused.error.code) == ("failed", "embedding_failed")
    assert refused.error.message == f"{row.added} {AGAIN}"
    assert application.library.counts()[:2] == (1, 1), "nothing is half stored"
    trace = ask(application)
    assert (trace.state, trace.outcome) == ("done", "quoted")
    assert trace.notes == [f"{BY_WORDS}{row.asked or row.added} {AGAIN}"]
    assert_mended(application, ollama)


def assert_mended(application, ollama) -> None:
    """With the server in order again the same document is added, found and answered from, and nothing is noted."""
    ollama.embed = embed_words
    ollama.next_replies.clear()
    assert application.library.pipeline.add_bytes("bees.md", OTHER.encode()).status == "added"
    assert application.library.count_missing_vectors() == 0
    trace = ask(application, "Why do bees dance?")
    assert (trace.state, trace.outcome, trace.notes) == ("done", "quoted", [])


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        pytest.param(
            Say(status=400, error="the input length exceeds the context length"),
            "A passage is too long for nomic-embed-text on Ollama, so it was not embedded. "
            "Choose another embedder in the settings.",
            id="68-400-too-long",
        ),
        pytest.param(
            Say(status=500, error="llama runner process has terminated"),
            f"nomic-embed-text on Ollama could not embed this text. {AGAIN}",
            id="68-500",
        ),
        pytest.param(
            Say(status=500, error="CUDA error: out of memory"),
            "There is not enough memory for nomic-embed-text. "
            "Close other programs or choose a smaller model, then try again.",
            id="59-out-of-memory",
        ),
        pytest.param(
            Say(status=503, error="server busy"),
            "Ollama is busy: its queue is full. Wait a moment, then ask again.",
            id="60-busy-for-ever",
        ),
    ],
)
def test_an_embedder_that_refuses(application, ollama, reply, words, monkeypatch):
    ollama.next_replies.extend([reply] * 20)
    refused = application.library.pipeline.add_bytes("bees.md", OTHER.encode())
    assert (refused.status, refused.error.code) == ("failed", "embedding_failed")
    assert refused.error.message == words
    assert application.library.counts()[:2] == (1, 1)
    trace = ask(application)
    assert (trace.state, trace.outcome, trace.notes) == ("done", "quoted", [f"{BY_WORDS}{words}"])
    assert_mended(application, ollama)


def test_60_busy_at_first_and_then_embedded(application, ollama):
    ollama.fail_next(2, 503)
    assert application.library.pipeline.add_bytes("bees.md", OTHER.encode()).status == "added"


def test_68_the_embedder_was_deleted(application, ollama):
    ollama.models = [LLAMA]
    application.library.spaces.active_embedder.recheck()
    trace = ask(application)
    assert (trace.state, trace.outcome) == ("done", "quoted")
    (note,) = trace.notes
    assert note == (
        f"{BY_WORDS}Ollama has no model called nomic-embed-text. "
        "Get it with `ollama pull nomic-embed-text`, then try again."
    )


def test_57_stop_is_heard_while_an_embedder_hangs(application, ollama):
    gate = threading.Event()
    ollama.embed = lambda texts, size: embed_words(texts, size) if gate.wait(PATIENCE) else None
    run = application.runs.start(None, QUESTION, RunOptions(model="builtin"))
    ollama.wait_until(lambda: any(asked.outcome is None for asked in ollama.asked("/api/embed")))
    application.runs.stop(run.id)
    assert wait(run).state == "stopped"
    gate.set()
    assert_mended(application, ollama)
