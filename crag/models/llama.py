"""The Llama tokenizer of WordLlama's wheel, with a memory for words: most words of a text were seen before."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
_MOST_WORDS = 100_000
_LONGEST_WORD = 64
_MARKS = ",.;:!?)"  # no token joins one of these to a letter or digit before it
_SPECIAL = ("<s>", "</s>", "<unk>")
_BYTES_PER_ID = 2  # there are 32,000
_LATER_BYTES = range(3 + 0x80, 3 + 0xC0)  # ids of the bytes after the first of a character spelled out in bytes


class LlamaTokens:
    """Token ids without special tokens, the same as the tokenizer's own. Safe to share between threads.

    Llama writes a space as the mark ▁, and no merge of its byte-pair encoding joins a mark to what stands before it:
    the tokens of a text are those of its words, one after the other.
    """

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        vocabulary = self._tokenizer.get_vocab()
        marks = {mark: array("H", [vocabulary[mark]]).tobytes() for mark in _MARKS}
        self._words = _Words(self._encode, marks)

    def ids(self, text: str) -> bytes:
        """The ids as unsigned integers of 16 bits in the machine's order."""
        if _is_plain(text):
            return b"".join(map(self._words.__getitem__, text.split(" ")))
        return self._encode(text)

    def count(self, text: str) -> int:
        """How many tokens `text` has."""
        return len(self.ids(text)) // _BYTES_PER_ID

    def count_characters_once(self, text: str) -> int:
        """As `count`, but a character that is spelled out in bytes counts as one token, not as three or four."""
        import numpy as np

        if text.isascii():
            return self.count(text)
        ids = np.frombuffer(self.ids(text), dtype=np.uint16)
        later = (ids >= _LATER_BYTES.start) & (ids < _LATER_BYTES.stop)
        return len(ids) - int(np.count_nonzero(later))

    def _encode(self, text: str) -> bytes:
        whole = text.encode("utf-8", "replace").decode()  # half surrogates are no text to the tokenizer
        return array("H", self._tokenizer.encode(whole, add_special_tokens=False).ids).tobytes()


def _is_plain(text: str) -> bool:
    """Whether `text` may be cut at its spaces: several in a row make one token, special tokens swallow those beside."""
    if "  " in text or "\u2581" in text or text[:1] == " " or text[-1:] == " ":
        return False
    return "<" not in text or not any(mark in text for mark in _SPECIAL)


class _Words(dict[str, bytes]):
    """The ids of words. When there are too many, those that are not met again are forgotten with the next lot."""

    def __init__(self, encode: Callable[[str], bytes], marks: dict[str, bytes]) -> None:
        super().__init__()
        self._encode = encode
        self._marks = marks
        self._before: dict[str, bytes] = {}

    def __missing__(self, word: str) -> bytes:
        ids = self._before.get(word) or self._make(word)
        if len(self) >= _MOST_WORDS:
            self._before = self.copy()
            self.clear()
        if len(word) <= _LONGEST_WORD:
            self[word] = ids
        return ids

    def _make(self, word: str) -> bytes:
        before, mark = word[:-1], word[-1:]
        if mark in self._marks and before[-1:].isascii() and before[-1:].isalnum():
            return self[before] + self._marks[mark]
        return self._encode(word)


@cache
def llama_tokens() -> LlamaTokens:
    """The tokenizer. Raises `LookupError` where the wheel is not installed."""
    file = llama_file()
    if file is None:
        raise LookupError("wordllama is not installed")
    return LlamaTokens(file)


def llama_file() -> Path | None:
    """Where the tokenizer lies, or None where the wheel is not installed."""
    package = find_spec("wordllama")
    folders = (package.submodule_search_locations or []) if package else []
    return next((path for folder in folders if (path := Path(folder) / _FILE).is_file()), None)
