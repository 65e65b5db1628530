"""Small talk: what people say to a chat program that is no question about their documents."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from itertools import chain
from pathlib import Path
from typing import get_args

from crag.text.route_classifier import classify_small_talk
from crag.types import SmallTalk

_PHRASES: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
_ADDRESSEE = (
    r"(?: (?:there|again|everyone|everybody|all|friend|team|guys|buddy|bot|assistant|crag(?: chat)?|chat|llama|claude"
    r"|please))*"
)
_NOUN = (
    "documents?|files?|papers?|texts?|articles?|pdfs?|pages?|posts?|reports?|books?|contracts?|agreements?|leases?"
    "|handbooks?|manuals?|guides?|minutes|letters?|presentations?|slides|stud(?:y|ies)|notes|e-?books?|readme"
)
_PARTS = {  # of phrases; a whole document is “the lift contract”, but not “the limits of agents”
    "{document}": rf"(?:(?:it|this|that|these|them|everything|all)(?: (?:{_NOUN}))?"
    rf"|(?:(?:the|this|that|these|those|my|our|your|all|each|every)(?: of)?(?: the)? )(?:\w+ ){{0,2}}?(?:{_NOUN}))",
    "{being}": "(?:ai|(?:chat ?)?bots?|robots?|humans?(?: being)?|persons?|real|people|machines?|computers?|programs?"
    "|software|alive|apps?|assistants?|chatgpt|gpt|llama|claude)",
    "{being_ko}": "(?-i:사람|인간|기계|로봇|챗봇|봇|컴퓨터|프로그램|인공지능|AI)",
    "{size}": r"(?: (?:in|with|for me|as) (?:\w+ ){0,3}\w+| briefly| shortly| for me| please)?",
    "{document_de}": r"(?:das|den|die|dem|der|dieses|diesen|diese|diesem|dieser|mein\w*|es)"
    r"(?: (?:ganze )?\w*(?:skript|dokument|datei|text|artikel|bericht|buch|vertrag|handbuch|pdf|papier)\w*)?",
    "{document_ko}": r"(?-i:(?:이|그|저|해당|전체|모든)? ?(?:[가-힣]+ ?)?(?:문서|파일|자료|보고서|논문|계약서|규정|규약"
    r"|글|책|설명서|매뉴얼|안내서|회의록|기사|본문|전문)(?:들)?(?:[을를은는이의]|에 대해)?)",
    "{document_zh}": r"(?-i:(?:[这這那該该]?[份个個篇本些]?|全部的?|所有的?|整[份个個篇本])?"
    r"(?:[一-鿿]{0,6})?(?:文件|文[档檔]|[资資]料|全文|文章|[报報]告"
    r"|[论論]文|合同|手[册冊]|[说說]明[书書]|指南|[内內]容))",
}


@cache
def _compile_phrases(kind: SmallTalk, *, is_ascii: bool) -> re.Pattern[str]:
    """Return what matches the phrases of one kind; of an ASCII clause, those of languages that it can be in."""
    phrases = _join(_PHRASES[kind], is_ascii=is_ascii)
    for name, pattern in _PARTS.items():
        phrases = phrases.replace(name, pattern)
    filler = rf"(?:{_join(_PHRASES['filler'], is_ascii=is_ascii)})(?![a-z])" if kind in _SOCIAL else "$^"
    before, after = f"(?:{filler} ?)*", f"(?: ?(?<![a-z]){filler})*"
    repeated = "(?P=said)*" if kind in _SOCIAL and not is_ascii else ""  # 哈喽哈喽
    return re.compile(rf"{before}(?P<said>{phrases}){repeated}{_ADDRESSEE}{after}", re.IGNORECASE)


def _join(listed: dict[str, list[str]], *, is_ascii: bool) -> str:
    return "|".join(chain(*(ones for language, ones in listed.items() if not (is_ascii and language in ("ko", "zh")))))


_SOCIAL = frozenset(("wellbeing", "thanks", "farewell", "greeting", "acknowledgement"))
_KINDS: tuple[SmallTalk, ...] = get_args(SmallTalk)
_CLAUSE_END = re.compile(r"(?<=[.!?,;:~…。！？，；、\n])\s*|\s+[-–—]+\s+")
_JOINED = re.compile(rf"{_CLAUSE_END.pattern}|\s+and\s+", re.IGNORECASE)
_REPEATS = re.compile(r"(.{1,3}?)\1{3,}")  # of signs, as in “嗯嗯嗯嗯”: matching phrases is not linear
_MOST_WORDS = 5  # of two phrases with nothing between them
_SURE = 0.7  # the share from which on a message resembles small talk
_LONGEST = 200  # characters; small talk is short, and a pasted text need not be cut into clauses


def detect_small_talk(message: str, *, by_resemblance: bool = True) -> SmallTalk | None:
    """Return the kind of small talk if the whole message is nothing else; None if it asks something.

    Without `by_resemblance` only set phrases count, not what is merely worded like small talk.
    """
    if len(message) > _LONGEST:
        return None
    kinds = [_clause_kind(clause) for clause in _JOINED.split(message) if _bare(clause)]
    if not kinds or None in kinds:
        # one phrase with a comma or an “and” in it
        kind = _clause_kind(re.sub("[,，、]", " ", message))
        rest = strip_small_talk(message) if by_resemblance else ""
        return kind or (classify_small_talk(rest, _SURE) if _bare(rest) else None)
    return min((kind for kind in kinds if kind), key=_KINDS.index)


def is_summary_request(message: str) -> bool:
    """Return whether the message asks for nothing but what a whole document says."""
    return len(message) <= _LONGEST and _is_phrase(_bare(strip_small_talk(re.sub("[,，、]", " ", message))), "summary")


def strip_small_talk(question: str) -> str:
    """Return the question without greetings and thanks before and after it; unchanged if nothing else is left."""
    if len(question) > _LONGEST:
        return question
    clauses = _CLAUSE_END.split(question)
    asking = [at for at, clause in enumerate(clauses) if _bare(clause) and not _is_courtesy(clause)]
    if not asking or not any(_is_courtesy(clause) for clause in clauses if _bare(clause)):
        return question
    start = question.index(clauses[asking[0]])
    end = question.rindex(clauses[asking[-1]]) + len(clauses[asking[-1]])
    return question[start:end].rstrip(" ,;:，；、") or question


def _is_courtesy(clause: str) -> bool:
    kind = _clause_kind(clause)
    return kind in ("wellbeing", "thanks", "farewell", "greeting") or (kind == "acknowledgement" and clause[-1] != ".")


def _clause_kind(clause: str) -> SmallTalk | None:
    bare = _bare(clause)
    if kind := next((kind for kind in _KINDS if kind != "summary" and _is_phrase(bare, kind)), None):
        return kind
    words = bare.split()
    for at in range(1, len(words)) if len(words) <= _MOST_WORDS else ():  # “ok great”, “thanks bye”
        first = _clause_kind(" ".join(words[:at]))
        if first and (second := _clause_kind(" ".join(words[at:]))):
            return min(first, second, key=_KINDS.index)
    return None


def _is_phrase(said: str, kind: SmallTalk) -> bool:
    return bool(_compile_phrases(kind, is_ascii=said.isascii()).fullmatch(said))


def _bare(clause: str) -> str:
    """Return a clause without punctuation, emoji and doubled spaces around its words, and with long repeats cut."""
    short = _REPEATS.sub(r"\1\1\1", re.sub(r"^[\W_]+|[\W_]+$", "", clause))
    return " ".join(short.replace("’", "'").split())
