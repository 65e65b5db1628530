"""Comparison of texts: their words, whether one contains another, how many words they share."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from crag.graph.checking.citations import without_citations
from crag.graph.checking.figures import plain_figures
from crag.language import CHARACTERS, HANGUL

_UNSPACED = f"{CHARACTERS}{HANGUL}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # and Thai, Lao, Burmese, Khmer
_NUMERALS = "〇零一二三四五六七八九十百千萬万億亿兩两"  # one word, so that 二 is not found in 十二, as 5 is not in 15
_WORD = re.compile(
    rf"[{_NUMERALS}]+|[{_UNSPACED}]"
    r"|(?:(?<![\w)\]])-(?=\d))?\d+(?:[.,]\d+)*"
    rf"|[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*(?:\+\+|#)?"
)
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.){2,}")
# The A in vitamin A, hepatitis A or a grade is not an article.
_ARTICLE = re.compile(r"(?<![\w'’.-])(?:[Tt]he|THE|an?|An)(?=\s)|(?:^|(?<=[.!?:;\"“(\n]))\s*A(?=\s)")
_SHORT_KOREAN = re.compile(f"[{HANGUL}]{{1,2}}")


def words(text: str) -> list[str]:
    """Return the words of a text for comparison: in NFKC form, without case, punctuation and English articles.

    Numbers are words, with their sign and in any notation (12, twelve, 十二個). In a script without spaces each
    character is a word. In Korean each syllable is one, since Korean words carry particles (as in KorQuAD's evaluation,
    arXiv 1909.07005). `[1]` is a citation, not a word.
    """
    plain = _ARTICLE.sub(" ", _without_marks(unicodedata.normalize("NFKC", without_citations(text))))
    plain = _INITIALS.sub(lambda found: found.group().replace(".", ""), plain)
    return _WORD.findall(plain_figures(plain).casefold())


def holds(text: str, phrase: str) -> bool:
    """Return whether the words of `phrase` occur in `text` in sequence; 5 is not in 15, nor art in party.

    Negation is ignored: "not Paris" contains "Paris". A phrase without words is searched for literally.
    """
    wanted = words(phrase)
    if not wanted:
        return bool(phrase.strip()) and phrase.strip() in text
    if f" {' '.join(wanted)} " not in f" {' '.join(words(text))} ":
        return False
    return not _SHORT_KOREAN.fullmatch(phrase.strip()) or _begins_word(text, phrase.strip())


def overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the F1 of the words two texts share, with multiplicity (SQuAD, arXiv 1606.05250); 0 if one is empty.

    Unlike SQuAD's own script, which joins hyphenated words, this splits them.
    """
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


def _begins_word(text: str, phrase: str) -> bool:
    """Return whether the phrase starts a Korean word: a particle may follow it, but no syllable may precede it."""
    return bool(re.search(f"(?<![{HANGUL}]){phrase}", unicodedata.normalize("NFKC", text)))


def _without_marks(text: str) -> str:
    """Remove combining marks, such as vowel signs of Arabic, Hebrew, Hindi and Thai, which would split words."""
    if text.isascii():
        return text
    return "".join(sign for sign in text if not unicodedata.category(sign).startswith("M"))
