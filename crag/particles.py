"""Korean particles, whose form depends on how the word before them ends."""

from __future__ import annotations

import re
from typing import Any

_FORMS = {
    "을(를)": ("을", "를"),
    "이(가)": ("이", "가"),
    "은(는)": ("은", "는"),
    "와(과)": ("과", "와"),
    "(으)로": ("으로", "로"),
    "(이)라": ("이라", "라"),
}
"""Each particle as catalogues write it, with its form after a final consonant and after a vowel."""
_PAIR = "|".join(map(re.escape, _FORMS))
_PLACEHOLDER_BEFORE_PAIR = re.compile(rf"(?P<placeholder>\{{\w+[^{{}}]*\}})(?P<marks>[^\w\s{{}}(]*)(?P<pair>{_PAIR})")
_NO_WORD = re.compile(r"[\W_]+$")
_BRACKETED_END = re.compile(r"(?<=\w)\s*\([^()]*\)$")
_FIRST_SYLLABLE, _LAST_SYLLABLE, _FINALS = 0xAC00, 0xD7A3, 28
_RIEUL, _RIEUL_POSITION = "ㄹ", 8
_FINALS_OF_DIGITS = {"0": "ㅇ", "1": _RIEUL, "3": "ㅁ", "6": "ㄱ", "7": _RIEUL, "8": _RIEUL}
_FINALS_OF_LETTERS = {"l": _RIEUL, "r": _RIEUL, "m": "ㅁ", "n": "ㄴ"}  # by name: 엘, 알, 엠, 엔
_FINALS_OF_WORDS = (
    (re.compile(r"(?:[aeiouy]l|le)$"), _RIEUL),  # 파일, 구글
    (re.compile(r"(?:[mn]|ng|me|[aeiou]ne)$"), "ㄴ"),  # 폼, 핀, 크롬, 라인
    (re.compile(r"(?:^|[^aeiouy])[aeiou][bptk]$|oo[kt]$|ic$"), "ㅂ"),  # 웹, 챗, 북, 베이직
)


def format_korean(text: str, /, *args: Any, **values: Any) -> str:
    """Fill in the values of a text, as `str.format` does, and give each particle the form that its value needs.

    Only a particle right after a placeholder or its closing marks is chosen, as in “{name}”을(를); the values may hold
    any text. It keeps both forms where the sound of the value is not known, such as that of a Chinese character.
    """

    def choose(found: re.Match[str]) -> str:
        final = _find_final_sound(found["placeholder"].format(*args, **values))
        if final is None:
            return found[0]
        after_consonant, after_vowel = _FORMS[found["pair"]]
        like_vowel = not final or (final == _RIEUL and found["pair"] == "(으)로")
        return f"{found['placeholder']}{found['marks']}{after_vowel if like_vowel else after_consonant}"

    return _PLACEHOLDER_BEFORE_PAIR.sub(choose, text).format(*args, **values)


class KoreanText(str):
    """A text whose `format` is `format_korean`."""

    __slots__ = ()

    def format(self, /, *args: Any, **values: Any) -> str:
        """Fill in the values and choose the particles after them."""
        return format_korean(str(self), *args, **values)


def _find_final_sound(value: str) -> str | None:
    """Return the consonant that ends the value when it is read aloud in Korean, "" for a vowel, None if unknown."""
    if value.rstrip().endswith("%"):  # 퍼센트
        return ""
    spoken = _NO_WORD.sub("", _BRACKETED_END.sub("", value.strip())) or _NO_WORD.sub("", value)
    last = spoken[-1:]
    if _FIRST_SYLLABLE <= ord(last or " ") <= _LAST_SYLLABLE:
        final = (ord(last) - _FIRST_SYLLABLE) % _FINALS
        return _RIEUL if final == _RIEUL_POSITION else "ㄱ" if final else ""
    if last.isascii() and last.isdigit():
        return _FINALS_OF_DIGITS.get(last, "")
    if word := re.search(r"[A-Za-z]+$", spoken):
        return _find_final_of_latin(word[0])
    return None


def _find_final_of_latin(word: str) -> str:
    """Read an abbreviation letter by letter, such as PDF or txt, and anything else as a word."""
    is_spelled = word.isupper() or not re.search(r"[aeiouy]", word.lower())
    if is_spelled:
        return _FINALS_OF_LETTERS.get(word[-1].lower(), "")
    return next((final for ending, final in _FINALS_OF_WORDS if ending.search(word.lower())), "")
