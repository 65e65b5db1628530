"""Words of questions about tables in all languages; the patterns are in `wording.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def word_pattern(section: str, key: str = "") -> re.Pattern[str]:
    """Return a pattern for the words of a section of `wording.toml` in any language."""
    words = WORDS[section][key] if key else WORDS[section]
    words = [words] if isinstance(words, str) else words.values()
    return re.compile("|".join(f"(?:{one})" for one in words), re.IGNORECASE)


def has_words(text: str, section: str, key: str = "") -> bool:
    """Return whether a text has words of a section of `wording.toml`."""
    return bool(word_pattern(section, key).search(text))


@cache
def whole_words(section: str) -> re.Pattern[str]:
    """Return a pattern for the words of a section, which in English must be whole words."""
    words = WORDS[section]
    return re.compile(rf"\b(?:{words['en']})\b|{words['ko']}|{words['zh']}", re.IGNORECASE)


def read_count(text: str) -> int:
    """Return the first number in a text, in digits or, up to ten, in words; 1 if there is no number."""
    words = {word: int(number) for number, listed in WORDS["numbers"].items() for word in listed.split()}
    found = re.search(rf"\d+|{'|'.join(sorted(words, key=len, reverse=True))}", text, re.IGNORECASE)
    return (words.get(found[0].lower()) or int(found[0])) if found else 1


def find_currencies(text: str) -> list[re.Pattern[str]]:
    """Return a pattern for each currency that a text names."""
    patterns = [word_pattern("currencies", sign) for sign in WORDS["currencies"]]
    return [one for one in patterns if one.search(text)]
