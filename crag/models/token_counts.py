"""Token counts without a download: cl100k where it is on disk, else the Llama tokenizer."""

from __future__ import annotations

import hashlib
import os
import tempfile
from array import array
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from crag.concurrency.caches import BoundedCache

_TOKENIZER_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
_SPACE_MARK = "\u2581"
_PUNCTUATION = ",.;:!?)"  # no token joins one of these to a preceding letter or digit
_SPECIAL_TOKENS = ("<s>", "</s>", "<unk>")
_BYTES_PER_ID = 2  # 32,000 ids fit 16 bits
_CONTINUATION_BYTE_IDS = range(
    3 + 0x80, 3 + 0xC0
)  # ids of the UTF-8 continuation bytes of a character encoded as bytes


class LlamaTokenizer:
    """Tokenizer without special tokens, identical to the original. Thread-safe.

    Llama writes a space as ▁, and no merge of its byte-pair encoding joins ▁ or a line end to the preceding text. The
    tokens of a text are therefore those of its words, in order.
    """

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._model = self._tokenizer.model  # twice as fast where no normalization is needed
        self._marks = {
            mark: array("H", [number]).tobytes()
            for mark in _PUNCTUATION
            if (number := self._tokenizer.token_to_id(mark)) is not None
        }
        self._words = BoundedCache(self._word_ids)
        self._lengths = BoundedCache(self._word_length)

    def ids(self, text: str) -> bytes:
        """Return the ids as unsigned 16-bit integers in native byte order."""
        if _is_splittable(text):
            return b"".join(map(self._words.__getitem__, _split_words(text)))
        return self._encode(text)

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`."""
        return len(self.ids(text)) // _BYTES_PER_ID

    def count_characters_once(self, text: str) -> int:
        """Return the token count, with a character encoded as bytes counted once, not three or four times."""
        if _is_splittable(text):
            return sum(map(self._lengths.__getitem__, _split_words(text)))
        return _count_ids_once(self._encode(text))

    def _word_ids(self, word: str) -> bytes:
        before, mark = word[:-1], word[-1:]
        if mark in self._marks and before[-1:].isascii() and before[-1:].isalnum():
            return self._words[before] + self._marks[mark]
        tokens = self._model.tokenize(replace_surrogates(word if word[:1] == "\n" else _SPACE_MARK + word))
        return array("H", [token.id for token in tokens]).tobytes()

    def _word_length(self, word: str) -> int:
        ids = self._words[word]
        return len(ids) // _BYTES_PER_ID if word.isascii() else _count_ids_once(ids)

    def _encode(self, text: str) -> bytes:
        return array("H", self._tokenizer.encode(replace_surrogates(text), add_special_tokens=False).ids).tobytes()


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which neither a tokenizer nor a database accepts."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_splittable(text: str) -> bool:
    """Return whether the tokens of `text` are those of its words added up.

    They are not if it has several spaces in a row, which form one token, or special tokens, which absorb spaces.
    """
    if "  " in text or _SPACE_MARK in text or text[:1] in ("", " ") or text[-1] == " ":
        return False
    return "<" not in text or not any(mark in text for mark in _SPECIAL_TOKENS)


def _split_words(text: str) -> list[str]:
    """Split a text into words; a word after a line end begins with it instead of a space."""
    return (text.replace("\n", " \n") if "\n" in text else text).split(" ")


def _count_ids_once(ids: bytes) -> int:
    return sum(number not in _CONTINUATION_BYTE_IDS for number in array("H", ids))


@cache
def load_llama_tokenizer() -> LlamaTokenizer:
    """Load the tokenizer once. Raises `LookupError` where the wheel is not installed."""
    file = find_llama_tokenizer()
    if file is None:
        raise LookupError("wordllama is not installed")
    return LlamaTokenizer(file)


def find_llama_tokenizer() -> Path | None:
    """Return the path of the tokenizer file, or None where the wheel is not installed."""
    package = find_spec("wordllama")
    folders = (package.submodule_search_locations or []) if package else []
    return next((path for folder in folders if (path := Path(folder) / _TOKENIZER_FILE).is_file()), None)


def count_english_tokens(text: str) -> int:
    """Return the number of Llama tokens: one for a common English word; without its tokenizer, of characters."""
    return load_llama_tokenizer().count(text) if find_llama_tokenizer() else len(text)


TokenCounter = Callable[[str], int]

# tiktoken's download address of the encoding and its checksum; the cached copy is named after the address.
_CL100K_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
_CL100K_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


def count_tokens(text: str) -> int:
    """Return the token count of `text` by `token_counter_name()`; special tokens count as plain text."""
    return _open_counter()(text)


def count_passage_tokens(text: str) -> int:
    """Return the token count of a passage, with one token at most per character.

    Llama's tokenizer encodes most Chinese and Korean characters as three bytes. Prompts must account for that, but
    passages split that way would be a third as long as with other tokenizers.
    """
    return _open_passage_counter()(text)


def token_counter_name() -> str:
    """Return `cl100k_base`, `llama2`, or `bytes` without a tokenizer; constant for the life of the process."""
    return _choose_counter()[0]


def passage_counter_name() -> str:
    """Return the name of the passage counter; it changed when characters began to be counted once."""
    return "llama2-characters" if token_counter_name() == "llama2" else token_counter_name()


@cache
def _choose_counter() -> tuple[str, Callable[[], TokenCounter]]:
    """Return the name of the best available counter, and a slow function that opens it."""
    if _is_cl100k_on_disk():
        return "cl100k_base", _open_cl100k
    if find_llama_tokenizer():
        return "llama2", lambda: load_llama_tokenizer().count
    return "bytes", lambda: _count_bytes


@cache
def _open_counter() -> TokenCounter:
    return _choose_counter()[1]()


@cache
def _open_passage_counter() -> TokenCounter:
    return load_llama_tokenizer().count_characters_once if token_counter_name() == "llama2" else count_tokens


def _count_bytes(text: str) -> int:
    return (len(text.encode("utf-8", "replace")) + 2) // 3


def _is_cl100k_on_disk() -> bool:
    """Return whether tiktoken will find an intact encoding; it would delete a damaged one and download it."""
    named = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(tempfile.gettempdir()) / "data-gym-cache" if named is None else Path(named)
    file = folder / hashlib.sha1(_CL100K_ADDRESS.encode(), usedforsecurity=False).hexdigest()
    if named == "" or not file.is_file():
        return False
    return hashlib.sha256(file.read_bytes()).hexdigest() == _CL100K_SHA256


def _open_cl100k() -> TokenCounter:
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))
