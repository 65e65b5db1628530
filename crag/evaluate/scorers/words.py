"""Texts made comparable: what of them counts as a word, whether one holds another, how many words two share."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from crag.graph.checking.citations import without_citations
from crag.graph.checking.figures import plain_figures
from crag.language import CHARACTERS, HANGUL

_UNSPACED = f"{CHARACTERS}{HANGUL}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # and Thai, Lao, Burmese, Khmer
_NUMERALS = "〇零一二三四五六七八九十百千萬万億亿兩两"  # so that 二 is not found in 十二, as 5 is not in 15
_WORD = re.compile(
    rf"[{_NUMERALS}]+|[{_UNSPACED}]"
    r"|(?:(?<![\w)\]])-(?=\d))?\d+(?:[.,]\d+)*"
    rf"|[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*(?:\+\+|#)?"
)
_INITIALS = re.compile(r"\b(?:[^\W\d_]\.){2,}")
# Vitamin A, the A at the end of a grade and hepatitis A are no articles.
_ARTICLE = re.compile(r"(?<![\w'’.-])(?:[Tt]he|THE|an?|An)(?=\s)|(?:^|(?<=[.!?:;\"“(\n]))\s*A(?=\s)")
_SHORT_KOREAN = re.compile(f"[{HANGUL}]{{1,2}}")


def words(text: str) -> list[str]:
    """The words of a text to compare by: in one form of Unicode (NFKC), without case, marks and English articles.

    Numbers are words, with their sign and however they are written (12, twelve, 十二個). So is each sign of a script
    that is written without spaces, and each syllable of Korean, whose words carry particles (as in KorQuAD's
    evaluation, arXiv 1909.07005). `[1]` is a citation, no word.
    """
    plain = _ARTICLE.sub(" ", _without_marks(unicodedata.normalize("NFKC", without_citations(text))))
    plain = _INITIALS.sub(lambda found: found.group().replace(".", ""), plain)
    return _WORD.findall(plain_figures(plain).casefold())


def holds(text: str, phrase: str) -> bool:
    """Whether the words of `phrase` stand in `text` in a row; 5 is not in 15, nor art in party.

    It sees no negation: "not Paris" holds "Paris". A phrase without any word is looked for as it is.
    """
    wanted = words(phrase)
    if not wanted:
        return bool(phrase.strip()) and phrase.strip() in text
    if f" {' '.join(wanted)} " not in f" {' '.join(words(text))} ":
        return False
    return not _SHORT_KOREAN.fullmatch(phrase.strip()) or _begins_word(text, phrase.strip())


def overlap(one: Sequence[str], other: Sequence[str]) -> float:
    """F1 of the words that two texts share, each as often as in both (SQuAD, arXiv 1606.05250); 0 where one is empty.

    SQuAD's own script joins what hyphens part; here they part words.
    """
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


def _begins_word(text: str, phrase: str) -> bool:
    """A particle may follow a Korean word; before it nothing may stand, else the syllables are those of another."""
    return bool(re.search(f"(?<![{HANGUL}]){phrase}", unicodedata.normalize("NFKC", text)))


def _without_marks(text: str) -> str:
    """Without what stands above and below letters and would part words: vowel signs of Arabic, Hebrew, Hindi, Thai."""
    if text.isascii():
        return text
    return "".join(sign for sign in text if not unicodedata.category(sign).startswith("M"))
