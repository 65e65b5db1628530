"""Llama tokenizer of WordLlama's wheel, with a cache for words."""

from __future__ import annotations

from array import array
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from crag.word_cache import WordCache

_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
_SPACE = "\u2581"
_MARKS = ",.;:!?)"  # no token joins one of these to a preceding letter or digit
_SPECIAL = ("<s>", "</s>", "<unk>")
_BYTES_PER_ID = 2  # 32,000 ids fit 16 bits
_LATER_BYTES = range(3 + 0x80, 3 + 0xC0)  # ids of the UTF-8 continuation bytes of a character encoded as bytes


class LlamaTokens:
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
        alone = {token: array("H", [number]).tobytes() for token, number in self._tokenizer.get_vocab().items()}
        self._marks = {mark: alone[mark] for mark in _MARKS}
        self._words = WordCache(self._word_ids)
        self._words.update((token[1:], ids) for token, ids in alone.items() if token.startswith(_SPACE))
        self._lengths = WordCache(self._word_length)

    def ids(self, text: str) -> bytes:
        """Return the ids as unsigned 16-bit integers in native byte order."""
        if _is_plain(text):
            return b"".join(map(self._words.__getitem__, _words(text)))
        return self._encode(text)

    def count(self, text: str) -> int:
        """Return the number of tokens in `text`."""
        return len(self.ids(text)) // _BYTES_PER_ID

    def count_characters_once(self, text: str) -> int:
        """Return the token count, with a character encoded as bytes counted once, not three or four times."""
        if _is_plain(text):
            return sum(map(self._lengths.__getitem__, _words(text)))
        return _count_once(self._encode(text))

    def _word_ids(self, word: str) -> bytes:
        before, mark = word[:-1], word[-1:]
        if mark in self._marks and before[-1:].isascii() and before[-1:].isalnum():
            return self._words[before] + self._marks[mark]
        tokens = self._model.tokenize(_well_formed(word if word[:1] == "\n" else _SPACE + word))
        return array("H", [token.id for token in tokens]).tobytes()

    def _word_length(self, word: str) -> int:
        return _count_once(self._words[word])

    def _encode(self, text: str) -> bytes:
        return array("H", self._tokenizer.encode(_well_formed(text), add_special_tokens=False).ids).tobytes()


def _well_formed(text: str) -> str:
    """Replace lone surrogates, which the tokenizer rejects."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_plain(text: str) -> bool:
    """Return whether `text` may be split at spaces.

    Several spaces in a row form one token, and special tokens absorb adjacent ones.
    """
    if "  " in text or _SPACE in text or text[:1] in ("", " ") or text[-1] == " ":
        return False
    return "<" not in text or not any(mark in text for mark in _SPECIAL)


def _words(text: str) -> list[str]:
    """Split a text into words; a word after a line end begins with it instead of a space."""
    return (text.replace("\n", " \n") if "\n" in text else text).split(" ")


def _count_once(ids: bytes) -> int:
    return sum(number not in _LATER_BYTES for number in array("H", ids))


@cache
def llama_tokens() -> LlamaTokens:
    """Load the tokenizer once. Raises `LookupError` where the wheel is not installed."""
    file = llama_file()
    if file is None:
        raise LookupError("wordllama is not installed")
    return LlamaTokens(file)


def llama_file() -> Path | None:
    """Return the path of the tokenizer file, or None where the wheel is not installed."""
    package = find_spec("wordllama")
    folders = (package.submodule_search_locations or []) if package else []
    return next((path for folder in folders if (path := Path(folder) / _FILE).is_file()), None)
