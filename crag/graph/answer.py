"""What is checked of an answer in code: which citations are real, what they rest on, which sentences have support."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.language import is_row, sentences, terms
from crag.types import Citation, Knowledge, Outcome, Strength, Support

_CITATION = re.compile(r"\s?\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_LEADING = re.compile(rf"(?:{_CITATION.pattern})+\s*")
_SUPPORTED = 0.6
_WEAK = 0.3


def cited_numbers(text: str) -> list[int]:
    """The numbers cited in a text, each once, in order of appearance."""
    found = (int(number) for group in _CITATION.findall(text) for number in group.split(","))
    return list(dict.fromkeys(found))


def drop_invalid_citations(text: str, knowledge: Sequence[Knowledge]) -> str:
    """The text without citations of what does not exist; `[1, 2]` becomes `[1] [2]`."""
    known = {item.n for item in knowledge}

    def keep_known(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match.group(1).split(",")]
        kept = " ".join(f"[{number}]" for number in numbers if number in known)
        return f"{match.group(0)[: match.group(0).index('[')]}{kept}" if kept else ""

    return _CITATION.sub(keep_known, text)


def check_sentences(text: str, knowledge: Sequence[Knowledge]) -> tuple[Support, ...]:
    """Each sentence of the answer with how far the knowledge carries it, judged by the words they share."""
    held = {item.n: set(terms(item.text)) for item in knowledge}
    return tuple(_support(sentence, held) for sentence in _answer_sentences(text))


def cite(text: str, knowledge: Sequence[Knowledge]) -> tuple[Citation, ...]:
    """The sources that the answer cites, by number; quoted is the sentence nearest to what cites it."""
    citing = _citing_sentences(text)
    return tuple(_citation(item, citing[item.n]) for item in knowledge if item.n in citing)


def outcome(text: str, knowledge: Sequence[Knowledge]) -> Outcome:
    """Where the answer comes from; `not_answered` when nothing in it is cited or, without citations, supported."""
    used = set(cited_numbers(text)) or {n for one in check_sentences(text, knowledge) for n in one.citations}
    origins = {item.passage.origin for item in knowledge if item.n in used}
    if not origins:
        return "not_answered"
    if origins == {"library", "web"}:
        return "documents_and_web"
    return "documents" if "library" in origins else "web"


def _answer_sentences(text: str) -> list[str]:
    """Sentences with the citations that follow their full stop, which splitting leaves at the start of the next."""
    joined: list[str] = []
    for sentence in sentences(text):
        leading = _LEADING.match(sentence)
        if joined and leading:
            joined[-1] += f" {leading.group().strip()}"
            sentence = sentence[leading.end() :]
        if is_row(sentence) and not sentence.strip(" |:-"):  # dashes: the row above was the head, and claims nothing
            del joined[-1:]
        elif sentence.strip(" .。"):
            joined.append(sentence)
    return joined


def _support(sentence: str, held: dict[int, set[str]]) -> Support:
    wanted = set(terms(_CITATION.sub("", sentence)))
    if not wanted:
        return Support(sentence, "supported", tuple(cited_numbers(sentence)))
    cited = [n for n in cited_numbers(sentence) if n in held]
    coverage = {n: len(wanted & held[n]) / len(wanted) for n in (cited or held)}
    together = set().union(*(held[n] for n in cited)) if cited else set()
    best = max([*coverage.values(), len(wanted & together) / len(wanted)], default=0.0)
    carried_by = tuple(cited) or tuple(n for n, share in coverage.items() if share >= _SUPPORTED)
    return Support(sentence, _strength(best, cited=bool(carried_by)), carried_by)


def _strength(coverage: float, *, cited: bool) -> Strength:
    if coverage >= _SUPPORTED:
        return "supported"
    return "weak" if cited and coverage >= _WEAK else "unsupported"


def _citing_sentences(text: str) -> dict[int, str]:
    citing: dict[int, str] = {}
    for sentence in _answer_sentences(text):
        for n in cited_numbers(sentence):
            citing[n] = f"{citing.get(n, '')} {sentence}"
    return citing


def _citation(item: Knowledge, citing: str) -> Citation:
    wanted = set(terms(_CITATION.sub("", citing)))
    candidates = sentences(item.text) or [item.text]
    quote = max(candidates, key=lambda sentence: _likeness(wanted, set(terms(sentence))))
    passage = item.passage
    return Citation(
        item.n, passage.id, passage.source_id, passage.title, passage.location, passage.page, quote, passage.origin
    )


def _likeness(one: set[str], other: set[str]) -> float:
    """Dice coefficient of two sets of terms."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
