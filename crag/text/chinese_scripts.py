"""Traditional and simplified Chinese: the same words in the other characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, product
from pathlib import Path

_CHANGE = 0.01  # what a changed character costs; a pair of characters that the documents hold is worth 1


@cache
def _load_variants() -> dict[str, str]:
    """Return for each character those that it may be written as, the usual one first."""
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()[1:]
    traditional = {line[0]: line[2:] for line in lines}
    simplified = {other: simple for simple, others in traditional.items() for other in others if other != simple}
    return simplified | traditional


def is_same_word(word: str, other: str) -> bool:
    """Return whether two words differ in nothing but the characters of the two scripts."""
    variants = _load_variants()
    return len(word) == len(other) and all(
        one == two or two in variants.get(one, "") or one in variants.get(two, "")
        for one, two in zip(word, other, strict=True)
    )


def match_script(text: str, select_known: Callable[[Sequence[str]], set[str]]) -> str:
    """Return a Chinese text in the characters of the documents; what they hold as it is written stays.

    `select_known` returns those of the given pairs of characters that the documents hold. Where a simplified character
    has several traditional ones, the pairs decide.
    """
    written = select_known([a + b for a, b in pairwise(text)])
    held = [text[at : at + 2] in written or text[at - 1 : at + 1] in written for at in range(len(text))]
    variants = ("" if kept else _load_variants().get(sign, "") for sign, kept in zip(text, held, strict=True))
    options = [dict.fromkeys((sign, *others)) for sign, others in zip(text, variants, strict=True)]
    if all(len(one) == 1 for one in options):
        return text
    known = select_known([a + b for one, two in pairwise(options) for a, b in product(one, two)])
    best: dict[str, tuple[float, str]] = {sign: (-_CHANGE * (sign != text[0]), sign) for sign in options[0]}
    for at in range(1, len(text)):
        best = {
            sign: max(
                (score + (path[-1] + sign in known) - _CHANGE * (sign != text[at]), path + sign)
                for score, path in best.values()
            )
            for sign in options[at]
        }
    _, path = max(best.values())
    return path
