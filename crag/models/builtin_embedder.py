"""Built-in WordLlama embeddings, with weights from the installed wheel."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from crag.errors import ModelFault
from crag.models.token_counts import load_llama_tokenizer
from crag.types import EmbeddingSpace, Vectors

if TYPE_CHECKING:
    import numpy as np

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

    tokens, vectors = load_llama_tokenizer(), _load_token_vectors()
    rows = np.empty((len(texts), BUILTIN_DIMENSION), dtype=np.float32)
    taken = np.empty((_MAX_TOKENS, BUILTIN_DIMENSION), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        ids = np.frombuffer(tokens.ids(text or " "), dtype=np.uint16)[:_MAX_TOKENS]
        np.add.reduce(vectors.take(ids, taken[: len(ids)]), axis=0, out=row)
        row /= len(ids)
    return rows


class _TokenVectors:
    """Vectors of all tokens, shape (32000, 256), in half precision until it pays to convert them all.

    That takes longer than to answer a question, so rows are converted one by one until as many were used as there are.
    """

    def __init__(self, half: np.ndarray[tuple[int, ...], np.dtype[np.float16]]) -> None:
        self._half = half
        self._single: Vectors | None = None
        self._rows_left = len(half)

    def take(self, ids: np.ndarray[tuple[int, ...], np.dtype[np.uint16]], out: Vectors) -> Vectors:
        """Write the vectors of these tokens to `out`, shape (len(ids), 256), and return it."""
        if self._single is None and self._rows_left < 0:
            self._single = self._half.astype(out.dtype)
        if self._single is not None:
            return self._single.take(ids, axis=0, out=out, mode="clip")  # no id is outside, so none is clipped
        self._rows_left -= len(ids)
        out[:] = self._half[ids]
        return out


@cache
def _load_token_vectors() -> _TokenVectors:
    from safetensors.numpy import load_file

    return _TokenVectors(load_file(_weights_file())["embedding.weight"])


@cache
def _weights_digest() -> str:
    with _weights_file().open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _weights_file() -> Path:
    """Return the file of the weights, in half precision. Raises `ModelFault`."""
    found = sorted((_wordllama_folder() / "weights").glob(f"*_{BUILTIN_DIMENSION}.safetensors"))
    if not found:
        raise ModelFault.make("builtin.package_missing")
    return found[0]


def _wordllama_folder() -> Path:
    from importlib.util import find_spec

    package = find_spec("wordllama")
    if package is None or package.origin is None:
        raise ModelFault.make("builtin.package_missing")
    return Path(package.origin).parent
