"""Embedders: normalized vectors, prefixes by model, and unsound vectors refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crag.errors import ModelFault
from crag.models.chat_client import MAX_ATTEMPTS
from crag.models.embedders import open_embedder
from crag.protocols import Embedder
from crag.settings import Settings
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import Model
from tests.doubles.openai import Completion, OpenAIServer
from tests.doubles.outbound_log import ListOutboundLog

TEXTS = ["Paris is the capital of France.", "Bananas are rich in potassium.", "프랑스의 수도는 파리이다."]

TWO_TEXTS = ["Paris is the capital of France.", "Bananas are rich in potassium."]
Rows = Callable[[list[str], int], Any]


def test_builtin_vectors_are_normalized_and_near_for_like_texts():
    embedder = open_embedder("builtin", Settings())
    rows = embedder.embed_documents(TEXTS)
    query = embedder.embed_query("What is the capital city of France?")
    assert rows.shape == (3, 256)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.argmax(rows @ query) == 0
    assert embedder.space.label == "builtin:wordllama"


def test_builtin_vectors_of_odd_texts_are_sound():
    embedder = open_embedder("builtin", Settings())
    odd = ["", "   ", "\n", "\ud800 half a pair", "<|endoftext|> {user} %s", "word " * 50_000]
    assert np.allclose(np.linalg.norm(embedder.embed_documents(odd), axis=1), 1, atol=1e-5)
    assert embedder.embed_documents([]).shape == (0, 256)
    assert embedder.embed_query("").shape == (256,)


def test_builtin_vectors_are_the_same_in_any_thread_or_batch():
    embedder = open_embedder("builtin", Settings())
    texts = [f"sentence number {n} " * (n % 7 + 1) for n in range(100)]
    together = embedder.embed_documents(texts)
    with ThreadPoolExecutor(4) as pool:
        alone = np.stack(list(pool.map(embedder.embed_query, texts)))
    assert np.allclose(together, alone, atol=1e-5)


def test_the_builtin_model_leaves_the_logging_alone():
    before = (logging.getLogger().level, list(logging.getLogger().handlers))
    open_embedder("builtin", Settings()).embed_query("hello")
    assert (logging.getLogger().level, list(logging.getLogger().handlers)) == before


def test_ollama_vectors_get_the_prefixes_of_their_model(ollama, settings):
    embedder = open_embedder("ollama:nomic-embed-text", settings)
    rows = embedder.embed_documents(TEXTS)
    assert embedder.embed_query("capital").shape == (768,)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    sent = [asked.body["input"] for asked in ollama.requests if asked.path == "/api/embed"]
    assert sent == [[f"search_document: {text}" for text in TEXTS], ["search_query: capital"]]


def test_the_space_follows_the_digest(ollama, settings):
    before = open_embedder("ollama:nomic-embed-text", settings).space
    ollama.models = [replace(model, digest="d" * 64) for model in ollama.models]
    after = open_embedder("ollama:nomic-embed-text", settings).space
    assert (before.dimension, before.digest) == (768, "b" * 64)
    assert before.id != after.id


def test_a_dimension_that_is_not_told_is_measured(ollama, settings):
    class Silent(Model):
        def shown(self) -> dict[str, Any]:
            return {"model_info": {}}

    ollama.models = [Silent("plain-embed:latest", embedding_length=12)]
    assert open_embedder("ollama:plain-embed", settings).space.dimension == 12


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (400, "the input length exceeds the context length", "embedding_failed"),
        (500, "failed to encode response", "embedding_failed"),
        (503, "server busy", "busy"),
    ],
)
def test_failures_of_the_server_are_told(ollama, settings, status, error, code):
    embedder = open_embedder("ollama:nomic-embed-text", settings)
    ollama.fail_next(MAX_ATTEMPTS, status, error)
    with pytest.raises(ModelFault) as fault:
        embedder.embed_query("capital")
    assert fault.value.code == code


def test_no_server_and_no_model(settings):
    with pytest.raises(ModelFault, match="does not answer"):
        open_embedder("ollama:nomic-embed-text", replace(settings, ollama_host=closed_address()))
    with pytest.raises(ModelFault, match="ollama pull bge-m3"):
        open_embedder("ollama:bge-m3", settings)


def test_missing_weights_are_told_with_what_to_do(no_weights):
    with pytest.raises(ModelFault) as fault:
        open_embedder("nomic", Settings())
    assert fault.value.code == "weights_missing"
    assert "274 MB" in fault.value.message
    assert ".cache/gpt4all" in fault.value.remedy
    assert str(no_weights.parent) not in str(fault.value)


def test_the_space_of_nomic_follows_its_weights(no_weights):
    no_weights.parent.mkdir(parents=True)
    no_weights.write_bytes(b"some weights")
    first = open_embedder("nomic", Settings()).space
    no_weights.write_bytes(b"other weights here")
    second = open_embedder("nomic", Settings()).space
    assert first.dimension == second.dimension == 768
    assert first.query_prefix == "search_query: "
    assert first.id != second.id


@pytest.mark.parametrize("name", ["", "wordllama", "ollama:", "nobody:knows"])
def test_names_that_mean_nothing(name):
    with pytest.raises(ModelFault) as fault:
        open_embedder(name, Settings())
    assert fault.value.code == "unknown_model"


def test_a_provider_without_its_package():
    with pytest.raises(ModelFault) as fault:
        open_embedder("mistralai:mistral-embed", Settings())
    assert fault.value.code == "package_missing"
    assert "pip install langchain-mistralai" in fault.value.remedy


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
        self.embedder = open_embedder(self.name, settings, ListOutboundLog())

    def answer(self, rows: Rows) -> None:
        self._server.embed = rows

    def refuse_what_is_too_long(self) -> None:
        said = "This model's maximum context length is 8192 tokens."
        self._server.replies.append(Completion(status=400, error=said, code="context_length_exceeded"))


@pytest.fixture(params=["ollama", "openai"])
def place(request, monkeypatch):
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
        embedder.embed_documents(TWO_TEXTS)
    with pytest.raises(ModelFault):
        embedder.embed_query(TWO_TEXTS[0])
    return fault.value


def lose(_texts: list[str], _size: int) -> Any:
    raise ConnectionResetError


def test_sound_vectors_pass(place):
    assert len(place.embedder.embed_documents(TWO_TEXTS)) == 2


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (lambda texts, size: [[float("nan")] * size for _ in texts], "hold values that are not numbers"),
        (lambda texts, size: [[float("inf")] * size for _ in texts], "hold values that are not numbers"),
        (lambda texts, size: [[0.0] * size for _ in texts], "hold one that is all zeros"),
        (lambda texts, size: [[1.0] * (size + 1) for _ in texts], "dimensions"),
        (lambda texts, size: [[1.0] * (size - 1) for _ in texts], "dimensions"),
        (lambda texts, size: [[1.0] * (size - n) for n, _ in enumerate(texts, 1)], "not all of one size"),
        (lambda texts, size: [[1e39] * size for _ in texts], "hold values that are not numbers"),
    ],
    ids=["not numbers", "infinite", "zero", "too long", "too short", "ragged", "too large"],
)
def test_vectors_that_are_none_are_refused_in_words(place, rows, words):
    place.answer(rows)
    fault = fault_of(place.embedder)
    assert fault.code == "embedding_failed"
    assert fault.message.startswith(f"The embeddings of {place.embedder.space.label} ")
    assert words in fault.message
    assert " were not used: they " in fault.message
    assert "choose another embedder" in fault.remedy


@pytest.mark.parametrize("rows", [lambda texts, size: [[1.0] * size] * (len(texts) - 1), lambda texts, size: []])
def test_too_few_vectors_are_refused_in_words(place, rows):
    place.answer(rows)
    fault = fault_of(place.embedder)
    assert fault.code == "embedding_failed"
    assert any(words in fault.message for words in ("for 2 texts", "could not embed this text"))


def test_a_text_that_is_too_long_is_told(place):
    place.refuse_what_is_too_long()
    with pytest.raises(ModelFault) as fault:
        place.embedder.embed_documents(TWO_TEXTS)
    assert fault.value.code == "embedding_failed"
    assert "A passage is too long for" in fault.value.message
    assert place.name in fault.value.message
    assert "Choose another embedder" in fault.value.remedy


def test_a_connection_that_is_closed_is_told(place):
    place.answer(lose)
    with pytest.raises(ModelFault) as fault:
        place.embedder.embed_documents(TWO_TEXTS)
    assert fault.value.code in ("embedding_failed", "unreachable")
    assert fault.value.message.endswith(("could not embed this text.", "cannot be reached."))
