"""Nomic's embedding model in this process, from weights on disk alone.

`NomicEmbeddings` in its local mode asks a server for a list of models even when the weights are there; so its
`embed` is replaced by gpt4all's own, which does not.
"""

from __future__ import annotations

import hashlib
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from crag.errors import ModelFault
from crag.types import Space

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

WEIGHTS = "nomic-embed-text-v1.5.f16.gguf"
DIMENSION = 768
DOCUMENT_PREFIX = "search_document: "
QUERY_PREFIX = "search_query: "
_BLOCK = 1 << 20


def weights_path() -> Path:
    """Where gpt4all keeps the weights."""
    return Path.home() / ".cache" / "gpt4all" / WEIGHTS


def nomic_present() -> bool:
    """Whether the weights are on disk."""
    return weights_path().is_file()


def nomic_space() -> Space:
    """The space of these weights. Raises `ModelFault` when they are missing."""
    try:
        facts = weights_path().stat()
    except OSError as error:
        raise _missing_weights() from error
    digest = _digest(weights_path(), facts.st_size, facts.st_mtime_ns)
    return Space("nomic", WEIGHTS.removesuffix(".gguf"), digest, DIMENSION, DOCUMENT_PREFIX, QUERY_PREFIX)


@lru_cache(maxsize=1)
def local_nomic(digest: str) -> Embeddings:  # noqa: ARG001 — other weights in the same place are loaded anew
    """LangChain's Nomic embeddings over the weights on disk; one for the process, used by one thread at a time.

    Adds the task prefixes itself. Raises `ModelFault`.
    """
    if not nomic_present():
        raise _missing_weights()
    try:
        from gpt4all import Embed4All
        from langchain_nomic import NomicEmbeddings
    except (ImportError, OSError) as error:  # its native library may not load on this machine
        raise _missing_library() from error

    class LocalNomicEmbeddings(NomicEmbeddings):
        """Pinned to the weights on disk. The parent's constructor would log in wherever a key is set."""

        def __init__(self, weights: Path) -> None:
            self.model = weights.stem
            self._lock = threading.Lock()
            self._engine = Embed4All(weights.name, model_path=weights.parent, allow_download=False)

        def embed(self, texts: list[str], *, task_type: str) -> list[list[float]]:
            with self._lock:
                rows: list[list[float]] = self._engine.embed(texts, prefix=task_type)
            return rows

    return LocalNomicEmbeddings(weights_path())


@lru_cache(maxsize=4)
def _digest(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 — they tell when the file is another
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _missing_weights() -> ModelFault:
    return ModelFault(
        "weights_missing",
        f"Nomic's weights ({WEIGHTS}, 274 MB) are not on this machine.",
        "Put the file into the folder .cache/gpt4all of your home, or run `ollama pull nomic-embed-text` and choose "
        "ollama:nomic-embed-text.",
    )


def _missing_library() -> ModelFault:
    return ModelFault(
        "package_missing",
        "The library that runs Nomic's weights does not work on this machine.",
        "Install it with `pip install gpt4all langchain-nomic`, or choose ollama:nomic-embed-text.",
    )
