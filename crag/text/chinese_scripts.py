"""Conversion between traditional and simplified Chinese."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from crag.text.language import is_cjk

if TYPE_CHECKING:
    from opencc import OpenCC

_CONVERSIONS = ("t2s", "s2t", "s2tw")  # of OpenCC: to simplified characters, to traditional ones, to those of Taiwan


@cache
def _open_converter(conversion: str) -> OpenCC:
    from opencc import OpenCC

    return OpenCC(conversion)


def _convert(text: str, conversion: str) -> str:
    converted: str = _open_converter(conversion).convert(text)
    return converted


def is_same_word(word: str, other: str) -> bool:
    """Return whether two Chinese words are equal in simplified characters."""
    return is_cjk(word) and is_cjk(other) and _convert(word, "t2s") == _convert(other, "t2s")


def match_script(text: str, select_known: Callable[[Sequence[str]], set[str]]) -> str:
    """Convert a Chinese text to the script in which most of its character pairs occur in the documents.

    `select_known` returns those of the given pairs of characters that the documents hold.
    """
    forms = dict.fromkeys([text, *(_convert(text, conversion) for conversion in _CONVERSIONS)])
    known = select_known([a + b for form in forms for a, b in pairwise(form)])
    return max(forms, key=lambda form: sum(a + b in known for a, b in pairwise(form)))
