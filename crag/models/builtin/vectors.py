"""WordLlama's vectors: weights and tokenizer come inside its wheel, nothing is ever fetched."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from crag.errors import ModelFault
from crag.protocols import Vectors
from crag.types import Space

DIMENSION = 256
# Texts of one batch are padded to the longest, so length and batch bound the memory (32 · 2048 · 256 floats: 64 MB).
_LONGEST = 2048
_BATCH = 32


def builtin_space() -> Space:
    """The space of the built-in vectors. Raises `ModelFault`."""
    return Space("builtin", "wordllama", _digest(), DIMENSION)


def embed_texts(texts: Sequence[str]) -> Vectors:
    """One row for each text, shape (len(texts), 256), not yet of length 1. Raises `ModelFault`.

    An empty text has no tokens and therefore no direction: it is embedded as a blank.
    """
    whole = [text.encode("utf-8", "replace").decode() or " " for text in texts]
    rows: Vectors = _model().embed(whole, batch_size=_BATCH)
    return rows


@cache
def _model() -> Any:
    folder = _folder()
    with _unchanged_logging():
        from wordllama import WordLlama

        model = WordLlama.load(cache_dir=folder, dim=DIMENSION, disable_download=True)
    model.tokenizer.enable_truncation(max_length=_LONGEST)
    return model


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
