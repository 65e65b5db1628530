"""Token counts without any download: cl100k where it is on disk, else the Llama tokenizer of WordLlama's wheel."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from crag.models.llama import llama_file, llama_tokens

Count = Callable[[str], int]

# tiktoken's download address of the encoding and its checksum; the cached copy is named after the address.
_CL100K_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
_CL100K_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


def count_tokens(text: str) -> int:
    """Return the token count of `text` by `token_counter_name()`; special tokens count as plain text."""
    return _opened()(text)


def count_passage_tokens(text: str) -> int:
    """Return the token count of a passage, with one token at most per character.

    Llama's tokenizer encodes most Chinese and Korean characters as three bytes. Prompts must account for that, but
    passages split that way would be a third as long as with other tokenizers.
    """
    return _opened_for_passages()(text)


def token_counter_name() -> str:
    """Return `cl100k_base`, `llama2`, or `bytes` without a tokenizer; constant for the life of the process."""
    return _counter()[0]


def passage_counter_name() -> str:
    """Return the name of the passage counter; it changed when characters began to be counted once."""
    return "llama2-characters" if token_counter_name() == "llama2" else token_counter_name()


@cache
def _counter() -> tuple[str, Callable[[], Count]]:
    """Return the name of the best available counter, and a slow function that opens it."""
    if _cl100k_on_disk():
        return "cl100k_base", _cl100k
    if llama_file():
        return "llama2", lambda: llama_tokens().count
    return "bytes", lambda: _count_bytes


@cache
def _opened() -> Count:
    return _counter()[1]()


@cache
def _opened_for_passages() -> Count:
    return llama_tokens().count_characters_once if token_counter_name() == "llama2" else count_tokens


def _count_bytes(text: str) -> int:
    return (len(text.encode("utf-8", "replace")) + 2) // 3


def _cl100k_on_disk() -> bool:
    """Return whether tiktoken will find an intact encoding; it would delete a damaged one and download it."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(tempfile.gettempdir()) / "data-gym-cache" if named is None else Path(named)
    file = folder / hashlib.sha1(_CL100K_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    if named == "" or not file.is_file():
        return False
    return hashlib.sha256(file.read_bytes()).hexdigest() == _CL100K_SHA256


def _cl100k() -> Count:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))
