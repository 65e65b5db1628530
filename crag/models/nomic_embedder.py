"""Nomic's embedding model in this process, from local weights only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from crag.errors import ModelFault
from crag.models.nomic_weights import WEIGHTS_FILE, verify_weights, weights_digest, weights_path
from crag.types import EmbeddingSpace

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


NOMIC_DIMENSION = 768
NOMIC_PREFIXES = "search_document: ", "search_query: "
"""Task prefixes for documents and queries that the model was trained with."""


def nomic_space() -> EmbeddingSpace:
    """Return the embedding space of these weights. Raises `ModelFault` when they are missing."""
    return EmbeddingSpace(
        "nomic", WEIGHTS_FILE.removesuffix(".gguf"), weights_digest(), NOMIC_DIMENSION, *NOMIC_PREFIXES
    )


@lru_cache(maxsize=1)
def load_nomic(digest: str) -> Embeddings:
    """Load LangChain's Nomic embeddings over the local weights, once per process, with one embedding thread.

    They add the task prefixes themselves. Raises `ModelFault`, also for weights that would end the process.
    """
    try:
        from gpt4all import Embed4All
        from langchain_nomic import NomicEmbeddings
    except (ImportError, OSError) as error:  # the native library may not load on this machine
        raise ModelFault.make("nomic.package_missing") from error

    class LocalNomicEmbeddings(NomicEmbeddings):
        """Embeddings pinned to the local weights. The parent's constructor would log in wherever a key is set."""

        def __init__(self, weights: Path) -> None:
            self.model = weights.stem
            self._line = ThreadPoolExecutor(1, "nomic")
            self._engine = Embed4All(weights.name, model_path=weights.parent, allow_download=False)

        def embed(self, texts: list[str], *, task_type: str) -> list[list[float]]:
            """Embed one text at a time, which costs nothing, so that a question waits for at most one passage."""
            one = partial(self._engine.embed, prefix=task_type)
            return [self._line.submit(one, [text]).result()[0] for text in texts]

    verify_weights(digest)
    return LocalNomicEmbeddings(weights_path())
