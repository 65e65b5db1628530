"""Language detection by script, so that prompt and answer match the language of the question."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Literal

from crag.language import CHARACTERS, HANGUL, tokens

Language = Literal["en", "ko", "zh"]
Written = Literal["en", "ko", "zh", "zh-Hant"]

_SHARE = 0.2
_TRADITIONAL = frozenset(
    "這個們為誰國時間麼嗎過對發產動會來說東車馬長門問見貝書雲電話業學實現於後種號點幾開關圖館設計師灣臺裡裏"
)
_HANGUL = re.compile(f"[{HANGUL}]")
_CHARACTERS = re.compile(f"[{CHARACTERS}]")


def detect(text: str) -> Language:
    """Return Korean or Chinese if at least a fifth of the letters belong to its script, else English."""
    letters = sum(character.isalpha() for character in text)
    if not letters:
        return "en"
    if len(_HANGUL.findall(text)) >= _SHARE * letters:
        return "ko"
    return "zh" if len(_CHARACTERS.findall(text)) >= _SHARE * letters else "en"


def detect_written(text: str) -> Written:
    """Detect the language as `detect_language` does, with traditional Chinese separate. Used for fixed messages."""
    language = detect(text)
    return "zh-Hant" if language == "zh" and not _TRADITIONAL.isdisjoint(text) else language


def speaks_as(text: str, question: str) -> bool:
    """Return whether `text` is in the language of the question, judged by script.

    Names from the question may stand alone: *GPT-4o, MMLU* is a valid answer in both Korean and English.
    """
    scripts = _scripts(text)
    if not scripts:
        return True
    if max(scripts, key=lambda script: scripts[script]) not in _scripts(question):
        return False
    asked = {token.lower() for _, token in tokens(question)}
    return detect(text) == detect(question) or all(token.lower() in asked for _, token in tokens(text))


def _scripts(text: str) -> Counter[str]:
    """Count letters by script: the first word of their Unicode names, such as LATIN, HANGUL or CJK."""
    return Counter(unicodedata.name(letter, "?").split()[0] for letter in text if letter.isalpha())
