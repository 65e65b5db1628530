"""Which language a question is in, told by its script, so that prompt and answer can be in the same."""

from __future__ import annotations

import re
from typing import Literal

from crag.language import CHARACTERS, HANGUL

Language = Literal["en", "ko", "zh"]

_SHARE = 0.2
_HANGUL = re.compile(f"[{HANGUL}]")
_CHARACTERS = re.compile(f"[{CHARACTERS}]")


def detect(text: str) -> Language:
    """Korean or Chinese when at least a fifth of the letters are of its script, else English."""
    letters = sum(character.isalpha() for character in text)
    if not letters:
        return "en"
    if len(_HANGUL.findall(text)) >= _SHARE * letters:
        return "ko"
    return "zh" if len(_CHARACTERS.findall(text)) >= _SHARE * letters else "en"
