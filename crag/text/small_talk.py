"""Small talk: what people say to a chat program that is no question about their documents."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import get_args

from crag.types import SmallTalk

_PHRASES: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
_ADDRESSEE = (
    r"(?: (?:there|again|everyone|everybody|all|friend|team|guys|buddy|bot|assistant|crag(?: chat)?|chat|llama|claude"
    r"|please))*"
)
_MATCHERS = [
    (kind, re.compile(rf"(?:{'|'.join(chain(*_PHRASES[kind].values()))}){_ADDRESSEE}", re.IGNORECASE))
    for kind in get_args(SmallTalk)
]
_CLAUSE_END = re.compile(r"(?<=[.!?,;:~…。！？，；、\n])\s*|\s+[-–—]+\s+")
_JOINED = re.compile(rf"{_CLAUSE_END.pattern}|\s+and\s+", re.IGNORECASE)
_LONGEST = 200  # characters; small talk is short, and a pasted text need not be cut into clauses


def detect_small_talk(message: str) -> SmallTalk | None:
    """Return the kind of small talk if the whole message is nothing else; None if it asks something."""
    if len(message) > _LONGEST:
        return None
    kinds = [_clause_kind(clause) for clause in _JOINED.split(message) if _bare(clause)]
    if not kinds or None in kinds:
        return _clause_kind(re.sub("[,，、]", " ", message))  # one phrase with a comma or an “and” in it
    return min((kind for kind in kinds if kind), key=get_args(SmallTalk).index)


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
    said = _bare(clause)
    return next((kind for kind, matcher in _MATCHERS if matcher.fullmatch(said)), None)


def _bare(clause: str) -> str:
    """Return a clause without punctuation, emoji and doubled spaces around its words."""
    return " ".join(re.sub(r"^[\W_]+|[\W_]+$", "", clause).replace("’", "'").split())
