"""WordLlama's vectors: weights and tokenizer come inside its wheel, nothing is ever fetched."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from crag.errors import ModelFault
from crag.models.llama import llama_tokens
from crag.protocols import Vectors
from crag.types import Space

DIMENSION = 256
_LONGEST = 2048  # tokens of one text that count; 2 MB of vectors to be averaged


def builtin_space() -> Space:
    """The space of the built-in vectors. Raises `ModelFault`."""
    return Space("builtin", "wordllama", _digest(), DIMENSION)


def embed_texts(texts: Sequence[str]) -> Vectors:
    """One row for each text, shape (len(texts), 256), not yet of length 1. Raises `ModelFault`.

    Each is the mean of the vectors of the text's tokens, as WordLlama itself makes it. An empty text has no tokens and
    therefore no direction: it is embedded as a blank.
    """
    import numpy as np

    tokens, weights = llama_tokens(), _weights()
    rows = np.empty((len(texts), DIMENSION), dtype=np.float32)
    taken = np.empty((_LONGEST, DIMENSION), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        ids = np.frombuffer(tokens.ids(text or " "), dtype=np.uint16)[:_LONGEST]
        of_text = weights.take(ids, axis=0, out=taken[: len(ids)], mode="clip")  # no id is outside, so none is clipped
        np.add.reduce(of_text, axis=0, out=row)
        row /= len(ids)
    return rows


@cache
def _weights() -> Vectors:
    """One row for each token, shape (32000, 256)."""
    folder = _folder()
    with _unchanged_logging():
        from wordllama import WordLlama

        weights: Vectors = WordLlama.load(cache_dir=folder, dim=DIMENSION, disable_download=True).embedding
    return weights


@cache
def _digest() -> str:
    weights = next(iter(sorted((_folder() / "weights").glob(f"*_{DIMENSION}.safetensors"))), None)
    if weights is None:
        raise _missing()
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def _folder() -> Path:
    from importlib.util import find_spec

    package = find_spec("wordllama")
    if package is None or package.origin is None:
        raise _missing()
    return Path(package.origin).parent


def _missing() -> ModelFault:
    return ModelFault(
        "package_missing",
        "The built-in vectors are not installed.",
        "Install them with `pip install wordllama`, or choose another embedder in the settings.",
    )


@contextmanager
def _unchanged_logging() -> Iterator[None]:
    """WordLlama configures the root logger when it is imported, which is the application's to do."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
