"""Built-in WordLlama embeddings, with weights from the installed wheel."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from crag.errors import ModelFault
from crag.models.token_counts import load_llama_tokenizer
from crag.types import EmbeddingSpace, Vectors

BUILTIN_DIMENSION = 256
_MAX_TOKENS = 2048  # tokens per text that are used; 2 MB of vectors to average


def builtin_space() -> EmbeddingSpace:
    """Return the space of the built-in vectors. Raises `ModelFault`."""
    return EmbeddingSpace("builtin", "wordllama", _weights_digest(), BUILTIN_DIMENSION)


def embed_texts(texts: Sequence[str]) -> Vectors:
    """Return vectors of shape (len(texts), 256), not normalized. Raises `ModelFault`.

    Each vector is the mean of the text's token vectors, as in WordLlama itself. An empty text has no tokens and thus no
    direction, so it is embedded as a blank.
    """
    import numpy as np

    tokens, weights = load_llama_tokenizer(), _load_weights()
    rows = np.empty((len(texts), BUILTIN_DIMENSION), dtype=np.float32)
    taken = np.empty((_MAX_TOKENS, BUILTIN_DIMENSION), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        ids = np.frombuffer(tokens.ids(text or " "), dtype=np.uint16)[:_MAX_TOKENS]
        of_text = weights.take(ids, axis=0, out=taken[: len(ids)], mode="clip")  # no id is outside, so none is clipped
        np.add.reduce(of_text, axis=0, out=row)
        row /= len(ids)
    return rows


@cache
def _load_weights() -> Vectors:
    """Load the token vectors, shape (32000, 256)."""
    folder = _wordllama_folder()
    with _preserve_logging():
        from wordllama import WordLlama

        weights: Vectors = WordLlama.load(cache_dir=folder, dim=BUILTIN_DIMENSION, disable_download=True).embedding
    return weights


@cache
def _weights_digest() -> str:
    weights = next(iter(sorted((_wordllama_folder() / "weights").glob(f"*_{BUILTIN_DIMENSION}.safetensors"))), None)
    if weights is None:
        raise ModelFault.make("builtin.package_missing")
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def _wordllama_folder() -> Path:
    from importlib.util import find_spec

    package = find_spec("wordllama")
    if package is None or package.origin is None:
        raise ModelFault.make("builtin.package_missing")
    return Path(package.origin).parent


@contextmanager
def _preserve_logging() -> Iterator[None]:
    """Restore the root logger on exit: WordLlama configures it on import, but only the application should."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
