"""Sentences and terms for graders, readers and indexes. Pure functions, no model, no data files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

CHARACTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HANGUL = "\u1100-\u11ff\uac00-\ud7af"
_CJK = re.compile(f"[{CHARACTERS}{HANGUL}]")
_HANGUL_START = re.compile(f"[{HANGUL}]")
_TOKEN = re.compile(rf"[{CHARACTERS}]+|[{HANGUL}]+|\d+(?:[.,]\d+)*|[^\W\d_{CHARACTERS}{HANGUL}]+")
_ITEM = re.compile(r"\s*(?:[-*+•·‣▪–]\s+|\(?\d{1,2}[.)]\s+|\(?[a-zA-Z][)]\s+|[①-⑳])")
_ROW = re.compile(r"\s*\|.*\||.*\S\s*\|\s+\S.*\|?\s*$")
_LONGEST_NUMBER = 4  # characters, as in `(12.`
_HEADING = re.compile(r"\s*#{1,6}\s+\S")
_MARKED = re.compile(rf"{_ITEM.pattern}|{_HEADING.pattern}|```|>\s|{_ROW.pattern}")
_ENDED = re.compile(r"[.!?:;|。！？：；…]['\"”’」』)\]）*_]*\s*$")
_BORDER = re.compile(  # starts with a single character class because the engine can search for that quickly
    r"[.!?…。！？](?:(?<=[.!?…])['\"”’)\]*_]*\s+(?=[^\sa-z])|(?<=[。！？])[。！？”’」』）]*\s*(?=\S))"
)
_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|al|fig|figs|eq|eqs|sec|no|nos|vol|pp?|ed|eds|cf|ca|approx|inc|ltd|co|corp"
    r"|gen|col|capt|sgt|rev|hon|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|e\.g|i\.e|u\.s|u\.k|ph\.d|a\.m|p\.m)"
    r"|(?:^|[\s(.])[A-Z])\.$",
    re.IGNORECASE,
)
_STOP_WORDS = frozenset(
    """
    a an and are as at be been being but by can could did do does doing done for from had has have having he her
    hers him his how i if in into is it its itself me my no not of off on one or our out she should so some such
    than that the their them then there these they this those to too up us use used uses using was we were what
    when where which while who whom whose why will with would you your s t also about please tell explain describe
    give name many much may might must shall any each other more most very just only own same both between during
    before after because until again once here all over under re ve ll d m don doesn didn isn aren wasn weren mean
    happen happens happened occur occurs occurred arise arises exist exists exactly kind sort like called known
    aber als auch auf aus bei bis das dass dem denn der des dich diese diesem diesen dieser dieses durch ein
    eine einem einen einer eines für gibt haben ich ihr ihre im ist kann können mein mich mir nach nicht noch nur
    oder ohne sehr sein sich sie sind über um und uns unter viel viele vom von wann warum welche welchem welchen
    welcher welches wem wen wenn wer werden wessen wie wieso wird wo wurde wurden zu zum zur zwischen
    """.split()  # noqa: SIM905 — a list literal would be unreadable
)
_KOREAN_QUESTION = re.compile(
    "^(?:무엇|무슨|누구|누가|언제|어디|어느|어떤|어떻게|얼마|얼마나|몇|왜|뭐|뭔|있는|있던|있다|있었|하는|되는|대한|위한|통해"
    "|것|것은|그|이|저|수|때|중|및|또는|그리고|알려|설명|말해|하나|하였|했던|했는|된|한|할)"
    "(?:인가요?|인지|일까요?|입니까|이었나요?|였나요?|이야|야|니|은|는|이|가|을|를|에|에서|의|로|으로|와|과|나|며|고|지)?"
    "(?:줘|주세요|하나요?|했나요?|하는가|했는가|한가요?|인가요?|인가|되나요?|됐나요?|되었나요?|요)?$"
)
_KOREAN_ENDING = re.compile(
    "(?:이라는|라는|이라고|라고|에서는|에게서|으로는|에서|에게|으로|까지|부터|처럼|보다|이나|하고|인가요|인가|이었나|였나|입니까|"
    "했나요|했는가|하였는가|했나|하나요|하는가|한가|되었나|됐나|었나요|었는가|었나|았나|은|는|이|가|을|를|의|에|로|와|과|도|만)$"
)
# Excludes particles that are also endings of many nouns: 고양이, 제주도, 결과, 민주주의, 작가.
_KOREAN_PARTICLE = re.compile(
    "(?:이라는|라는|이라고|라고|에서는|에게서|으로는|에서|에게|으로|까지|부터|처럼|보다|인가요|인가|이었나|였나|입니까|했나요|했는가|하였는가|했나"
    "|하나요|하는가|한가|되었나|됐나|었나요|었는가|었나|았나|은|는|을|를|에)$"
)
_CHINESE_QUESTION = re.compile(
    "[什甚][麼么]|[誰谁]|哪(?:一?[個个種种]|一|些|[裡里]|位|[兒儿]|年)?|[何][時时處处人]|[為为]何|如何|怎[麼么]?[樣样]?|多少"
    "|[幾几][個个]?|是否|[請请][問问]|[為为]什[麼么]|[的了嗎吗呢在是被與与和及於于為为個个有由也將将]"
)


def cjk(text: str) -> bool:
    """Return whether most letters of `text` are Chinese, Japanese or Korean."""
    letters = sum(character.isalpha() for character in text)
    return 2 * len(_CJK.findall(text)) > letters


def is_item(line: str) -> bool:
    """Return whether the line is a list item or a table row."""
    return bool(_ITEM.match(line)) or is_row(line)


def is_row(line: str) -> bool:
    """Return whether the line is a table row, with cells between bars."""
    return "|" in line and bool(_ROW.match(line))


def is_heading(line: str) -> bool:
    """Return whether the line is a heading: marked as in Markdown, or short and without end punctuation."""
    if _HEADING.match(line):
        return True
    return len(line) <= 60 and not is_item(line) and not _ENDED.search(line) and not line[:1].islower()


def sentences(text: str) -> list[str]:
    """Return the sentences, headings, list items and table rows of `text` in order, stripped and non-empty.

    Lines wrapped at the page width are joined first.
    """
    return [sentence for line in _lines(text) for sentence in _split(line)]


def join(parts: Sequence[str]) -> str:
    """Join sentences into readable text.

    List items and headings get lines of their own, prose is joined by spaces, Chinese without.
    """
    text = ""
    for part in parts:
        if not text:
            text = part
        elif _stands_alone(part) or _stands_alone(text[text.rfind("\n") + 1 :]):
            text += "\n" + part
        else:
            text += ("" if re.search("[。！？”」』]$", text) else " ") + part
    return text


def _stands_alone(line: str) -> bool:
    return bool(_MARKED.match(line)) or is_heading(line) or not _ENDED.search(line[-20:])


def terms(text: str) -> list[str]:
    """Return the search terms of `text` in order: stemmed words, numbers, and character bigrams of Chinese and Korean.

    Stop words and question words are left out.
    """
    return [term for token in _TOKEN.findall(text) for term in _terms_of(token)]


def tokens(text: str) -> Iterator[tuple[int, str]]:
    """Yield (start offset, token) for every word, number and run of Chinese or Korean characters, as written."""
    return ((found.start(), found.group()) for found in _TOKEN.finditer(text))


def words(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (word, its terms) for each content word of `text`, as written and in order."""
    return [(token, found) for token in _TOKEN.findall(text) if (found := _terms_of(token))]


def key_words(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return (word, its terms) as `extract_words` does, with words in the form used in a search box.

    Korean words lose their particles. Chinese is split at question words and particles.
    """
    bare = (word for token in _TOKEN.findall(text) for word in _bare_words(token))
    return [(word, found) for word in bare if (found := _terms_of(word))]


def _bare_words(token: str) -> list[str]:
    if _HANGUL_START.match(token):
        shorter = _KOREAN_PARTICLE.sub("", token)
        return [shorter if len(shorter) >= 2 and not _KOREAN_QUESTION.match(token) else token]
    if _CJK.match(token):
        return [run for run in _CHINESE_QUESTION.split(token) if run]
    return [token]


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line:
            lines.append("")
        elif lines and lines[-1] and _continues(lines[-1], line):
            lines[-1] += " " + line
        else:
            lines.append(line)
    return [line for line in lines if line]


def _continues(before: str, line: str) -> bool:
    """Return whether `line` continues `before`, which was wrapped at the page width."""
    if _MARKED.match(line) or _HEADING.match(before) or is_row(before) or _ENDED.search(before):
        return False
    return line[0].islower() or (len(before) > 60 and not before.isupper()) or (len(before) > 25 and cjk(before))


def _split(line: str) -> list[str]:
    if is_row(line):
        return [line]
    parts: list[str] = []
    start = 0
    for border in _BORDER.finditer(line):
        sign, end = border.start() + 1, border.end()
        if line[sign - 1] == "." and _is_abbreviation(line[max(start, sign - 8) : sign].split()[-1]):
            continue
        if sign - start <= _LONGEST_NUMBER and _ITEM.fullmatch(line, start, end):
            continue
        parts.append(line[start:end].strip())
        start = end
    parts.append(line[start:].strip())
    return [part for part in parts if part]


@lru_cache(maxsize=10_000)
def _is_abbreviation(word: str) -> bool:
    return bool(_ABBREVIATED.search(word))


def _stem(word: str) -> str:
    """Return a light English stem without plural, -ing, -ed or -ly, at least three letters long."""
    if len(word) < 4 or not word.isalpha():
        return word.replace(",", "")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "ases")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "ias")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and re.search("[aeiouy]", word[: -len(ending)]):
            return _without_doubling(word[: -len(ending)])
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _without_doubling(stem: str) -> str:
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    return stem[:-1] if stem.endswith("e") and len(stem) > 4 else stem


@lru_cache(maxsize=50_000)
def _terms_of(token: str) -> tuple[str, ...]:
    if _HANGUL_START.match(token):
        if _KOREAN_QUESTION.match(token):
            return ()
        shorter = _KOREAN_ENDING.sub("", token)
        return _pairs(shorter if len(shorter) >= 2 else token)
    if _CJK.match(token):
        return tuple(pair for run in _CHINESE_QUESTION.split(token) for pair in _pairs(run))
    word = token.lower()
    if word in _STOP_WORDS:
        return ()
    return (_stem(word),) if token.isascii() else (word,)


def _pairs(run: str) -> tuple[str, ...]:
    if len(run) < 2:
        return (run,) if run else ()
    return tuple(run[index : index + 2] for index in range(len(run) - 1))
