"""Explained grader: one model call per passage, answered with a verdict and its reason as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from crag.errors import ModelFault
from crag.grading.parallel import in_parallel
from crag.grading.reasons import find_sentence, quoted, shortened, unjudged, unreadable
from crag.grading.replies import ask_twice, judging, passage_block, question_block
from crag.grading.room import clip, room_for_text
from crag.grading.verdict_words import read_score
from crag.options import Thresholds
from crag.prompts import load
from crag.prompts.language import detect
from crag.protocols import ChatModel
from crag.replies import first_object, without_thoughts
from crag.stopping import Stop
from crag.types import Grade, Passage

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sentence": {"type": "string"},
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": ["yes", "partly", "no"]},
    },
    "required": ["sentence", "reason", "verdict"],
}
_THRESHOLDS = Thresholds(lower=0.25, upper=0.75)


class ExplainedGrader:
    """Asks `model` about each passage, as many in parallel as the model serves."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Name with the model, such as `explained:ollama:llama3.1:8b@365c0bd3c000`."""
        return f"explained:{self._model.fingerprint}"

    @property
    def thresholds(self) -> Thresholds:
        """Thresholds that map yes to relevant, partly to ambiguous, no to irrelevant."""
        return _THRESHOLDS

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Yield each grade as its reply arrives. A transient fault leaves its passage unknown; others are raised."""
        if not passages:
            return

        def judge(index: int) -> Grade:
            return self._judge(question, passages[index], stop)

        yield from in_parallel(judge, len(passages), self._model.concurrency, stop)

    def _judge(self, question: str, passage: Passage, stop: Stop) -> Grade:
        system, asked = load("grade", detect(question)), question_block(question)
        text = clip(passage.text, room_for_text(self._model, system, asked), self._model)
        prompts = judging("grade", system, question, passage_block(question, passage, text))
        try:
            grade, usage = ask_twice(self._model, prompts, SCHEMA, lambda reply: read_grade(reply, text), stop)
        except ModelFault as fault:
            return unjudged(fault)
        return replace(grade or unreadable(detect(question)), usage=usage)


def read_grade(reply: str, text: str = "") -> Grade | None:
    """Parse the grade in a model's reply, also in formats of other models and notebooks; None if there is none.

    The sentence that it quotes goes into the reason as written in `text`, or not at all if `text` has none like it.
    """
    score = read_score(reply)
    if score is None:
        return None
    said = without_thoughts(reply)
    found = first_object(said)
    if found is None:
        return Grade(score, shortened(said))
    reason = str(found.get("reason") or found.get("explanation") or "")
    return Grade(score, quoted(shortened(reason), find_sentence(str(found.get("sentence") or ""), text)))
