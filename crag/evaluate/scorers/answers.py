"""An answer held against what is known of the right one, without a model."""

from __future__ import annotations

from collections.abc import Mapping

from crag.evaluate.scorers.words import holds, overlap, words
from crag.evaluate.values import Example
from crag.runs import Trace

_YES_OR_NO = frozenset("yes no true false 예 네 아니요 아니오 是 是的 否 不是 はい いいえ ja nein".split())  # noqa: SIM905


def score_answer(example: Example, trace: Trace) -> dict[str, float]:
    """`contained`, `token_f1`, `mentions` and `avoids`, each in 0..1, where they apply.

    A refusal says nothing, whatever the passages that it quotes.
    """
    text = "" if trace.outcome == "not_answered" else trace.text
    scores: dict[str, float] = {}
    if example.references and example.answerable is not False:
        scores["contained"] = float(any(_gives(text, reference) for reference in example.references))
        scores["token_f1"] = max(overlap(words(text), words(reference)) for reference in example.references)
    if example.must_mention and example.answerable is not False:
        said = sum(holds(text, phrase) for phrase in example.must_mention)
        scores["mentions"] = said / len(example.must_mention)
    if example.must_not_mention:
        scores["avoids"] = float(not any(holds(text, phrase) for phrase in example.must_not_mention))
    return scores


def text_score(example: Example, scores: Mapping[str, float]) -> float | None:
    """How far an answer with these scores agrees with what is known of the right one, in 0..1.

    1 where it holds a reference, else its F1 with the nearest; times the share of what must be mentioned and is; 0 when
    it says what it must not. None where neither a reference nor what must be mentioned is known.
    """
    if not example.can_be_right:
        return None
    agrees = max(scores.get("contained", 0.0), scores["token_f1"]) if example.references else 1.0
    return agrees * scores.get("mentions", 1.0) * scores.get("avoids", 1.0)


def _gives(text: str, reference: str) -> bool:
    """A yes or no is given by the first word: one somewhere in a text says nothing."""
    wanted = "".join(words(reference))
    if wanted in _YES_OR_NO:
        opening = words(text)[: len(words(reference))]
        return "".join(opening) == wanted
    return holds(text, reference)
