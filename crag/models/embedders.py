"""Factory of embedders by name, with checks of every vector."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from crag.errors import ModelFault
from crag.models.chat_client import FIRST_HALF_PAUSE, LONGEST_HALF_PAUSE, MAX_ATTEMPTS
from crag.models.destinations import ModelRoute, route_to_ollama
from crag.models.faults import (
    translate_ollama_error,
    translate_opening,
    translate_provider_error,
)
from crag.models.nomic_embedder import NOMIC_PREFIXES
from crag.models.ollama_pool import ollama_pool
from crag.models.providers import export_keys, find_provider
from crag.protocols import Embedder
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.text.formatting import format_count
from crag.types import EmbeddingSpace, Vectors

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


EmbedTexts = Callable[[list[str]], Any]
AddRecording = Callable[[ModelRoute, EmbedTexts], EmbedTexts]

_MIN_NORM = 1e-6
# Faults that say no more than that a text could not be embedded.
_UNINFORMATIVE_CODES = ("refused", "server_error", "bad_reply", "incomplete", "model_failed")
# Task prefixes for documents and queries that a model was trained with; Ollama does not add them.
_TASK_PREFIXES = {
    "nomic-embed-text": NOMIC_PREFIXES,
    "mxbai-embed": ("", "Represent this sentence for searching relevant passages: "),
    "embeddinggemma": ("title: none | text: ", "task: search result | query: "),
}


def open_embedder(name: str, settings: Settings, outbound_log: OutboundLog | None = None) -> Embedder:
    """Open the embedder `builtin`, `nomic`, `ollama:NAME` or LangChain's `provider:NAME`.

    Raises `ModelFault`, and `ValueError` for an embedder on another machine without an outbound log, because its inputs
    must be recorded.
    """
    provider, _, model = name.partition(":")
    if name == "builtin":
        return _open_builtin()
    if name == "nomic":
        return _open_nomic()
    if not model:
        raise ModelFault.make("embedder.unknown_model", name=name)
    if provider == "ollama":
        return _open_ollama(model, settings, outbound_log)
    export_keys(settings)
    return _open_provider(provider, model, outbound_log)


class CheckedEmbedder:
    """`Embedder` over any function from texts to rows; only valid vectors of its space pass."""

    def __init__(self, space: EmbeddingSpace, documents: EmbedTexts, queries: EmbedTexts) -> None:
        self._space = space
        self._documents = documents
        self._queries = queries

    @property
    def space(self) -> EmbeddingSpace:
        """Embedding space of all its vectors."""
        return self._space

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape (len(texts), dimension). Raises `ModelFault`."""
        import numpy as np

        if not texts:
            return np.empty((0, self._space.dimension), dtype=np.float32)
        return normalize_vectors(self._documents(list(texts)), len(texts), self._space)

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector of shape (dimension,). Raises `ModelFault`."""
        row: Vectors = normalize_vectors(self._queries([text]), 1, self._space)[0]
        return row


def normalize_vectors(rows: Any, count: int, space: EmbeddingSpace) -> Vectors:
    """Return `rows` as float32 unit vectors of shape (count, space.dimension).

    Raises `ModelFault` (`embedding_failed`) for anything else: a wrong count or size, values that are not numbers or
    not finite, zero vectors.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # overflow becomes infinity, which is refused below
            vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise _invalid_vectors_fault(space, "are not all of one size") from error
    if len(vectors) != count:
        raise _invalid_vectors_fault(space, f"are {len(vectors)} for {format_count(count, 'text')}")
    if vectors.shape != (count, space.dimension):
        raise _invalid_vectors_fault(space, f"do not have {space.dimension} dimensions")
    if not np.isfinite(vectors).all():
        raise _invalid_vectors_fault(space, "hold values that are not numbers")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > _MIN_NORM).all():
        raise _invalid_vectors_fault(space, "hold one that is all zeros")
    unit: Vectors = vectors / lengths
    return unit


def _open_builtin() -> Embedder:
    from crag.models.builtin_embedder import builtin_space, embed_texts

    return CheckedEmbedder(builtin_space(), embed_texts, embed_texts)


def _open_nomic() -> Embedder:
    from crag.models.nomic_embedder import load_nomic, nomic_space

    def failed(_: Exception) -> ModelFault:
        return ModelFault.make("embedder.embedding_failed", label="Nomic's model")

    space = nomic_space()
    return CheckedEmbedder(
        space,
        _translate_errors(lambda texts: load_nomic(space.digest).embed_documents(texts), failed),
        _translate_errors(lambda texts: [load_nomic(space.digest).embed_query(texts[0])], failed),
    )


def _open_ollama(model: str, settings: Settings, outbound_log: OutboundLog | None) -> Embedder:
    from langchain_ollama import OllamaEmbeddings

    from crag.models.connections import ollama_client_options

    def require_consent(host: str) -> None:
        if host and not settings.names_ollama_host(host) and settings.embedder != f"ollama:{model}":
            raise ModelFault.make("embedder.consent_needed", model=model, host=host)

    pool = ollama_pool(settings)
    installed = pool.find_model(model)
    require_consent(route_to_ollama(installed, settings, outbound_log).host)

    @cache
    def open_at(host: Settings) -> tuple[ModelRoute, EmbedTexts]:
        embeddings = OllamaEmbeddings(model=model, base_url=host.ollama_host, **ollama_client_options(host))
        route = route_to_ollama(installed, host, outbound_log, require_consent)
        return route, _translate_errors(
            embeddings.embed_documents, lambda error: translate_ollama_error(error, model, host)
        )

    def embed(texts: list[str], prefix: str = "", add_recording: AddRecording = ModelRoute.add_text_recording) -> Any:
        def embed_at(host: Settings) -> Any:
            route, send = open_at(host)
            return add_recording(route, _add_prefix(send, prefix))(texts)

        try:
            return pool.call(installed, embed_at)
        except ModelFault as fault:
            raise _as_embedding_fault(fault, f"{model} on Ollama") from fault.__cause__

    before = next((prefixes for sign, prefixes in _TASK_PREFIXES.items() if sign in model), ("", ""))
    dimension = pool.load_facts(installed).embedding_length or _probe_dimension(embed)
    space = EmbeddingSpace("ollama", model, installed.digest, dimension, *before)
    return CheckedEmbedder(
        space,
        _retry_passing_faults(partial(embed, prefix=space.document_prefix)),
        _retry_passing_faults(
            partial(embed, prefix=space.query_prefix, add_recording=ModelRoute.add_question_recording)
        ),
    )


def _open_provider(provider: str, model: str, outbound_log: OutboundLog | None) -> Embedder:
    embeddings = _init_provider(provider, model)
    route = ModelRoute(model, provider, outbound_log)

    def translate(error: Exception) -> ModelFault:
        return _as_embedding_fault(translate_provider_error(error, provider), f"{provider}:{model}")

    embed = route.add_text_recording(_translate_errors(embeddings.embed_documents, translate))
    query = route.add_question_recording(_translate_errors(lambda texts: [embeddings.embed_query(texts[0])], translate))
    # Hosted models have no digest; only the name identifies them.
    return CheckedEmbedder(EmbeddingSpace(provider, model, model, _probe_dimension(embed)), embed, query)


def _init_provider(provider: str, model: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    with translate_opening(provider, "not supported", "embedder.unknown_model", f"{provider}:{model}"):
        return init_embeddings(model, provider=provider, **find_provider(provider).embedding_options)


def _translate_errors(embed: EmbedTexts, translate: Callable[[Exception], ModelFault]) -> EmbedTexts:
    def guarded(texts: list[str]) -> Any:
        try:
            return embed(texts)
        except ModelFault:
            raise
        except Exception as error:
            raise translate(error) from error

    return guarded


def _retry_passing_faults(embed: EmbedTexts) -> EmbedTexts:
    """Wrap `embed` to retry passing faults, such as a busy server, twice."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    attempts = Retrying(
        stop=stop_after_attempt(MAX_ATTEMPTS),
        wait=wait_random_exponential(FIRST_HALF_PAUSE, LONGEST_HALF_PAUSE),
        retry=retry_if_exception(lambda error: isinstance(error, ModelFault) and error.fault == "passing"),
        reraise=True,
    )
    return lambda texts: attempts(embed, texts)


def _add_prefix(embed: EmbedTexts, prefix: str) -> EmbedTexts:
    return lambda texts: embed([prefix + text for text in texts])


def _probe_dimension(embed: EmbedTexts) -> int:
    """Return the dimension of a model that does not report it, by embedding one text."""
    rows = embed(["dimension"])
    return len(rows[0]) if rows else 0


def _as_embedding_fault(fault: ModelFault, label: str) -> ModelFault:
    """Rephrase a fault of an answering model for an embedder."""
    if fault.code == "prompt_too_long":
        return ModelFault.make("embedder.passage_too_long", label=label)
    if fault.code in _UNINFORMATIVE_CODES:
        return ModelFault.make("embedder.embedding_failed", label=label)
    return fault


def _invalid_vectors_fault(space: EmbeddingSpace, defect: str) -> ModelFault:
    return ModelFault.make("embedder.invalid_vectors", label=space.label, defect=defect)


class DeferredEmbedder:
    """The embedder called `name`, opened on first use. Thread-safe."""

    def __init__(self, name: str, settings: Settings) -> None:
        self._name = name
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: Embedder | None = None

    @property
    def space(self) -> EmbeddingSpace:
        """Embedding space, as in `Embedder`. Raises `ModelFault` when it cannot be opened."""
        return self._open().space

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed documents, as in `Embedder`. Raises `ModelFault` when it cannot be opened."""
        return self._open().embed_documents(texts)

    def embed_query(self, text: str) -> Vectors:
        """Embed a query, as in `Embedder`. Raises `ModelFault` when it cannot be opened."""
        return self._open().embed_query(text)

    def _open(self) -> Embedder:
        with self._lock:
            if self._opened is None:
                self._opened = open_embedder(self._name, self._settings)
            return self._opened
