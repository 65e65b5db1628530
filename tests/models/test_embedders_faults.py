"""What an embedder may answer in place of sound vectors, on Ollama and at a provider over real HTTP, and the words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from crag.errors import ModelFault
from crag.models.embedders import open_embedder
from crag.protocols import Embedder
from crag.settings import Settings
from tests.doubles.ledger import ListLedger
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.openai import Completion, OpenAIServer

TEXTS = ["Paris is the capital of France.", "Bananas are rich in potassium."]
Rows = Callable[[list[str], int], Any]


class OnOllama:
    """An embedder on the scripted Ollama server."""

    name = "nomic-embed-text"

    def __init__(self, ollama: ScriptedOllama) -> None:
        self._server = ollama
        self.embedder = open_embedder("ollama:nomic-embed-text", Settings(ollama_host=ollama.url))

    def answer(self, rows: Rows) -> None:
        self._server.embed = rows

    def refuse_what_is_too_long(self) -> None:
        self._server.fail_next(1, 400, "the input length exceeds the context length")


class AtOpenAI:
    """One at a server that acts like OpenAI's."""

    name = "openai:text-embedding-3-small"

    def __init__(self, server: OpenAIServer) -> None:
        self._server = server
        settings = Settings(keys={"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.url})
        self.embedder = open_embedder(self.name, settings, ListLedger())

    def answer(self, rows: Rows) -> None:
        self._server.embed = rows

    def refuse_what_is_too_long(self) -> None:
        said = "This model's maximum context length is 8192 tokens."
        self._server.replies.append(Completion(status=400, error=said, code="context_length_exceeded"))


@pytest.fixture(params=["ollama", "openai"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnOllama | AtOpenAI]:
    if request.param == "ollama":
        with ScriptedOllama() as ollama:
            yield OnOllama(ollama)
        return
    pytest.importorskip("langchain_openai")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "")  # so that what is put there for the provider's package is taken back
        monkeypatch.delenv(name)
    with OpenAIServer() as server:
        yield AtOpenAI(server)


def fault_of(embedder: Embedder) -> ModelFault:
    with pytest.raises(ModelFault) as fault:
        embedder.embed_documents(TEXTS)
    with pytest.raises(ModelFault):
        embedder.embed_query(TEXTS[0])
    return fault.value


def lose(_texts: list[str], _size: int) -> Any:
    raise ConnectionResetError


def test_sound_vectors_pass(place: OnOllama | AtOpenAI) -> None:
    assert len(place.embedder.embed_documents(TEXTS)) == 2


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (lambda texts, size: [[float("nan")] * size for _ in texts], "hold values that are not numbers"),
        (lambda texts, size: [[0.0] * size for _ in texts], "hold one that is all zeros"),
        (lambda texts, size: [[1.0] * (size + 1) for _ in texts], "dimensions"),
        (lambda texts, size: [[1.0] * (size - 1) for _ in texts], "dimensions"),
    ],
    ids=["not numbers", "zero", "too long", "too short"],
)
def test_vectors_that_are_none_are_refused_in_words(place: OnOllama | AtOpenAI, rows: Rows, words: str) -> None:
    place.answer(rows)
    fault = fault_of(place.embedder)
    assert fault.code == "embedding_failed"
    assert fault.message.startswith(f"The vectors of {place.embedder.space.label} ")
    assert words in fault.message
    assert fault.message.endswith("so they were not used.")
    assert "choose another embedder" in fault.remedy


@pytest.mark.parametrize("rows", [lambda texts, size: [[1.0] * size] * (len(texts) - 1), lambda texts, size: []])
def test_too_few_vectors_are_refused_in_words(place: OnOllama | AtOpenAI, rows: Rows) -> None:
    place.answer(rows)
    fault = fault_of(place.embedder)
    assert fault.code == "embedding_failed"
    assert any(words in fault.message for words in ("for 2 texts", "could not embed this text"))


def test_a_text_that_is_too_long_is_told(place: OnOllama | AtOpenAI) -> None:
    place.refuse_what_is_too_long()
    with pytest.raises(ModelFault) as fault:
        place.embedder.embed_documents(TEXTS)
    assert fault.value.code == "embedding_failed"
    assert "A passage is longer than" in fault.value.message
    assert place.name in fault.value.message
    assert "Choose another embedder" in fault.value.remedy


def test_a_connection_that_is_closed_is_told(place: OnOllama | AtOpenAI) -> None:
    place.answer(lose)
    with pytest.raises(ModelFault) as fault:
        place.embedder.embed_documents(TEXTS)
    assert fault.value.code in ("embedding_failed", "unreachable")
    assert fault.value.message.endswith(("could not embed this text.", "cannot be reached."))
