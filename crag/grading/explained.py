"""Explained grader: one model call per passage, answered with a verdict and its reason as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from crag.cancellation import Cancellation
from crag.grading.model_replies import (
    UNREADABLE,
    ModelGrader,
    ask_in_parallel,
    ask_with_retry,
    failed_grade,
    find_sentence,
    grading_prompts,
    passage_block,
    question_block,
    quote_sentence,
    read_score,
    remaining_tokens,
    shorten_reason,
    truncate_to_tokens,
)
from crag.prompts import find_json_object, load_prompt, strip_thoughts
from crag.text.language import detect_language
from crag.types import Grade, Passage, Thresholds

GRADE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sentence": {"type": "string"},
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": ["yes", "partly", "no"]},
    },
    "required": ["sentence", "reason", "verdict"],
}


class ExplainedGrader(ModelGrader):
    """Asks `model` about each passage, as many in parallel as the model serves."""

    kind = "explained"
    thresholds = Thresholds(lower=0.25, upper=0.75)  # yes is relevant, partly is ambiguous, no is irrelevant

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield each grade as its reply arrives. A transient fault leaves its passage unknown; others are raised."""

        def judge(index: int, limited: Cancellation) -> Grade:
            return self._grade_passage(question, passages[index], limited)

        yield from ask_in_parallel(self._model, judge, len(passages), failed_grade, stop)

    def _grade_passage(self, question: str, passage: Passage, stop: Cancellation) -> Grade:
        system, asked = load_prompt("grade", detect_language(question)), question_block(question)
        text = truncate_to_tokens(passage.text, remaining_tokens(self._model, system, asked), self._model)
        prompts = grading_prompts("grade", system, question, passage_block(question, passage, text))
        grade, usage = ask_with_retry(self._model, prompts, GRADE_SCHEMA, lambda reply: read_grade(reply, text), stop)
        return replace(grade or UNREADABLE, usage=usage)


def read_grade(reply: str, text: str = "") -> Grade | None:
    """Parse the grade in a model's reply, also in formats of other models and notebooks; None if there is none.

    The sentence that it quotes goes into the reason as written in `text`, or not at all if `text` has none like it.
    """
    score = read_score(reply)
    if score is None:
        return None
    written = strip_thoughts(reply)
    found = find_json_object(written)
    if found is None:
        return Grade(score, shorten_reason(written))
    reason = str(found.get("reason") or found.get("explanation") or "")
    return Grade(score, quote_sentence(shorten_reason(reason), find_sentence(str(found.get("sentence") or ""), text)))
