"""Opens embedders by the names used in the settings, and validates every vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from crag import amounts
from crag.errors import ModelFault
from crag.ledger import Ledger
from crag.models.client.sending import ATTEMPTS, FIRST_HALF_PAUSE, LONGEST_HALF_PAUSE
from crag.models.departures import Route, ollama_route
from crag.models.faults import host_label, translate_ollama
from crag.models.ollama.administration import find_model, model_facts
from crag.models.provider_faults import missing_key, missing_package, translate_provider
from crag.models.providers import provide_keys
from crag.protocols import Embedder, Vectors
from crag.settings import Settings
from crag.types import Space

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

Embed = Callable[[list[str]], Any]

_SMALLEST_LENGTH = 1e-6
# Faults that say no more than that a text could not be embedded.
_NOTHING_TOLD = ("refused", "server_error", "bad_reply", "incomplete", "model_failed")
# OpenAI's class counts tokens before sending, and would download the tokenizer.
_OPTIONS: dict[str, dict[str, Any]] = {"openai": {"check_embedding_ctx_length": False}}
# Task prefixes for documents and queries that a model was trained with; Ollama does not add them.
_PREFIXES = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "mxbai-embed": ("", "Represent this sentence for searching relevant passages: "),
    "embeddinggemma": ("title: none | text: ", "task: search result | query: "),
}


def open_embedder(name: str, settings: Settings, ledger: Ledger | None = None) -> Embedder:
    """Open the embedder `builtin`, `nomic`, `ollama:NAME` or LangChain's `provider:NAME`.

    Raises `ModelFault`, and `ValueError` for an embedder on another machine without a ledger, because its inputs must
    be recorded.
    """
    provider, _, model = name.partition(":")
    if name == "builtin":
        return _open_builtin()
    if name == "nomic":
        return _open_nomic()
    if not model:
        raise _unknown_embedder(name)
    if provider == "ollama":
        return _open_ollama(model, settings, ledger)
    provide_keys(settings)
    return _open_provider(provider, model, ledger)


class CheckedEmbedder:
    """`Embedder` over any function from texts to rows; only valid vectors of its space pass."""

    def __init__(self, space: Space, documents: Embed, queries: Embed) -> None:
        self._space = space
        self._documents = documents
        self._queries = queries

    @property
    def space(self) -> Space:
        """Embedding space of all its vectors."""
        return self._space

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape (len(texts), dimension). Raises `ModelFault`."""
        import numpy as np

        if not texts:
            return np.empty((0, self._space.dimension), dtype=np.float32)
        return unit_vectors(self._documents(list(texts)), len(texts), self._space)

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector of shape (dimension,). Raises `ModelFault`."""
        row: Vectors = unit_vectors(self._queries([text]), 1, self._space)[0]
        return row


def unit_vectors(rows: Any, count: int, space: Space) -> Vectors:
    """Return `rows` as float32 unit vectors of shape (count, space.dimension).

    Raises `ModelFault` (`embedding_failed`) for anything else: a wrong count or size, values that are not numbers or
    not finite, zero vectors.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # overflow becomes infinity, which is refused below
            vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise _unsound(space, "are not all of one size") from error
    if len(vectors) != count:
        raise _unsound(space, f"are {len(vectors)} for {amounts.count(count, 'text')}")
    if vectors.shape != (count, space.dimension):
        raise _unsound(space, f"do not have {space.dimension} dimensions")
    if not np.isfinite(vectors).all():
        raise _unsound(space, "hold values that are not numbers")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (lengths > _SMALLEST_LENGTH).all():
        raise _unsound(space, "hold one that is all zeros")
    unit: Vectors = vectors / lengths
    return unit


def _open_builtin() -> Embedder:
    from crag.models.builtin.vectors import builtin_space, embed_texts

    return CheckedEmbedder(builtin_space(), embed_texts, embed_texts)


def _open_nomic() -> Embedder:
    from crag.models.nomic.local import local_nomic, nomic_space

    def failed(_: Exception) -> ModelFault:
        return _failed("Nomic's model could not embed this text.")

    space = nomic_space()
    return CheckedEmbedder(
        space,
        _guarded(lambda texts: local_nomic(space.digest).embed_documents(texts), failed),
        _guarded(lambda texts: [local_nomic(space.digest).embed_query(texts[0])], failed),
    )


def _open_ollama(model: str, settings: Settings, ledger: Ledger | None) -> Embedder:
    from langchain_ollama import OllamaEmbeddings

    from crag.models.connections import client_options

    def require_leave(host: str) -> None:
        if host not in ("", host_label(settings)) and settings.embedder != f"ollama:{model}":
            raise _unnamed_elsewhere(model, host)

    installed = find_model(settings, model)
    route = ollama_route(installed, settings, ledger, require_leave)
    require_leave(route.host)

    def translate(error: Exception) -> ModelFault:
        return _about_embedding(translate_ollama(error, model, settings), f"{model} on Ollama")

    embeddings = OllamaEmbeddings(model=model, base_url=settings.ollama_host, **client_options(settings))
    embed = _guarded(embeddings.embed_documents, translate)
    before = next((prefixes for sign, prefixes in _PREFIXES.items() if sign in model), ("", ""))
    dimension = model_facts(settings, installed).embedding_length or _probe(route.recording_texts(embed))
    space = Space("ollama", model, installed.digest, dimension, *before)
    return CheckedEmbedder(
        space,
        _trying_again(route.recording_texts(_prefixed(embed, space.document_prefix))),
        _trying_again(route.recording_questions(_prefixed(embed, space.query_prefix))),
    )


def _open_provider(provider: str, model: str, ledger: Ledger | None) -> Embedder:
    embeddings = _init_provider(provider, model)
    route = Route(model, provider, ledger)

    def translate(error: Exception) -> ModelFault:
        return _about_embedding(translate_provider(error, provider), f"{provider}:{model}")

    embed = route.recording_texts(_guarded(embeddings.embed_documents, translate))
    query = route.recording_questions(_guarded(lambda texts: [embeddings.embed_query(texts[0])], translate))
    # Hosted models have no digest; only the name identifies them.
    return CheckedEmbedder(Space(provider, model, model, _probe(embed)), embed, query)


def _init_provider(provider: str, model: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    try:
        return init_embeddings(model, provider=provider, **_OPTIONS.get(provider, {}))
    except ImportError as error:
        raise missing_package(provider) from error
    except Exception as error:
        if "not supported" in str(error):
            raise _unknown_embedder(f"{provider}:{model}") from error
        raise missing_key(provider, str(error)) from error


def _guarded(embed: Embed, translate: Callable[[Exception], ModelFault]) -> Embed:
    def guarded(texts: list[str]) -> Any:
        try:
            return embed(texts)
        except ModelFault:
            raise
        except Exception as error:
            raise translate(error) from error

    return guarded


def _trying_again(embed: Embed) -> Embed:
    """Wrap `embed` to retry passing faults, such as a busy server, twice."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

    attempts = Retrying(
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random_exponential(FIRST_HALF_PAUSE, LONGEST_HALF_PAUSE),
        retry=retry_if_exception(lambda error: isinstance(error, ModelFault) and error.fault == "passing"),
        reraise=True,
    )
    return lambda texts: attempts(embed, texts)


def _prefixed(embed: Embed, prefix: str) -> Embed:
    return lambda texts: embed([prefix + text for text in texts])


def _probe(embed: Embed) -> int:
    """Return the dimension of a model that does not report it, by embedding one text."""
    rows = embed(["dimension"])
    return len(rows[0]) if rows else 0


def _about_embedding(fault: ModelFault, label: str) -> ModelFault:
    """Rephrase a fault of an answering model for an embedder."""
    if fault.code == "prompt_too_long":
        return ModelFault(
            "embedding_failed",
            f"A passage is longer than {label} takes, so it has no vector.",
            "Choose another embedder in the settings.",
        )
    if fault.code in _NOTHING_TOLD:
        return _failed(f"{label} could not embed this text.")
    return fault


def _failed(message: str) -> ModelFault:
    return ModelFault("embedding_failed", message, "Try again, or choose another embedder in the settings.")


def _unsound(space: Space, what: str) -> ModelFault:
    return _failed(f"The vectors of {space.label} {what}, so they were not used.")


def _unnamed_elsewhere(model: str, host: str) -> ModelFault:
    """Build the fault for a remote embedder: all documents would leave, so it must be named in the settings."""
    return ModelFault(
        "consent_needed",
        f"{model} runs on another machine, at {host}: every passage of your documents would go there.",
        f"Nothing was sent. If it may, set CRAG_EMBEDDER to ollama:{model}; else choose another embedder.",
    )


def _unknown_embedder(name: str) -> ModelFault:
    return ModelFault(
        "unknown_model",
        f"There is no embedder called “{name}”.",
        "Write builtin, nomic, ollama:NAME, or provider:name such as openai:text-embedding-3-small.",
    )
