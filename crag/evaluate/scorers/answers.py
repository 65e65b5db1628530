"""Scores of an answer against its known right answer, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.words import holds, overlap, words
from crag.graph.checking.citations import without_citations
from crag.graph.checking.support import check_sentences
from crag.runs import Trace
from crag.types import Knowledge, Passage

_YES_OR_NO = frozenset("yes no true false 예 네 아니요 아니오 是 是的 否 不是 はい いいえ ja nein".split())  # noqa: SIM905
_STATEMENT = 5  # words; shorter references are names or figures


def score_answer(example: Example, trace: Trace) -> dict[str, float]:
    """Return those of `contained`, `token_f1`, `mentions` and `avoids` that apply, each in 0..1."""
    text = said(trace)
    scores: dict[str, float] = {}
    if example.has_reference:
        scores["contained"] = float(any(_gives(text, reference) for reference in example.references))
        scores["token_f1"] = max(overlap(words(text), words(reference)) for reference in example.references)
    if example.must_mention and example.answerable is not False:
        there = sum(holds(text, phrase) for phrase in example.must_mention)
        scores["mentions"] = there / len(example.must_mention)
    if example.must_not_mention:
        scores["avoids"] = float(not any(holds(text, phrase) for phrase in example.must_not_mention))
    return scores


def text_score(example: Example, trace: Trace, scores: Mapping[str, float]) -> float | None:
    """Return how far an answer with these scores agrees with the known right one, in 0..1.

    If required phrases are known, they alone decide: the share that is mentioned, halved unless all are. Otherwise 1 if
    the answer contains a reference, else the greatest F1 with one, halved unless the answer supports that reference. 0
    if it mentions a forbidden phrase. None if neither references nor required phrases are known.
    """
    if not example.can_be_right:
        return None
    if (mentions := scores.get("mentions")) is not None:
        agrees = mentions if mentions == 1.0 else mentions / 2
    else:
        agrees = scores["contained"] or _nearness(said(trace), example.references)
    return agrees * scores.get("avoids", 1.0)


def said(trace: Trace) -> str:
    """Return the answer of a run; empty for a refusal, even if it quotes passages."""
    return "" if trace.outcome == "not_answered" else trace.text


def _nearness(text: str, references: Sequence[str]) -> float:
    """Return the greatest F1 with a reference, halved if the text does not support that reference.

    An answer that changes a figure, a name or a "not" shares nearly all words of a reference and is still wrong.
    """
    return max(overlap(words(text), words(one)) * (1.0 if _carries(text, one) else 0.5) for one in references)


def _carries(text: str, reference: str) -> bool:
    """Return whether the text supports the reference, by the check that compares sentences with their sources.

    A bare name states nothing: Grace Hopper is as good as Grace Brewster Hopper.
    """
    if len(words(reference)) < _STATEMENT:
        return True
    source = Passage(1, "", "", "", text, text)
    stated = check_sentences(f"{without_citations(reference)} [1]", [Knowledge(1, source, without_citations(text))])
    return all(one.strength == "supported" for one in stated)


def _gives(text: str, reference: str) -> bool:
    """Return whether the text contains the reference; a yes or no counts only as its first word."""
    wanted = "".join(words(reference))
    if wanted in _YES_OR_NO:
        opening = words(text)[: len(words(reference))]
        return "".join(opening) == wanted
    return holds(text, reference)
