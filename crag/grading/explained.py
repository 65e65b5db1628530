"""The grader that asks a language model for a verdict with its reason, as JSON, one call for each passage."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from crag.errors import ModelFault
from crag.grading.parallel import in_parallel
from crag.grading.replies import ask_twice, first_object, passage_block, question_block, without_thoughts
from crag.prompts import load
from crag.prompts.language import detect
from crag.protocols import ChatModel, Prompt
from crag.stopping import Stop
from crag.types import Grade, Passage, Thresholds

UNREADABLE = "The grader's reply could not be read; kept as ambiguous."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["yes", "partly", "no"]}, "reason": {"type": "string"}},
    "required": ["verdict", "reason"],
}
_SCORES = {
    "yes": 1.0, "relevant": 1.0, "true": 1.0, "correct": 1.0, "예": 1.0, "네": 1.0, "是": 1.0, "相关": 1.0, "相關": 1.0,
    "partly": 0.5, "partially": 0.5, "partial": 0.5, "ambiguous": 0.5, "일부": 0.5, "部分": 0.5,
    "no": 0.0, "irrelevant": 0.0, "not": 0.0, "false": 0.0, "incorrect": 0.0, "아니요": 0.0, "否": 0.0, "不": 0.0,
}  # fmt: skip
_THRESHOLDS = Thresholds(lower=0.25, upper=0.75)
_KEYS = ("verdict", "score", "binary_score", "relevant", "relevance", "grade")


class ExplainedGrader:
    """Asks `model` about each passage, as many at a time as the model serves."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Such as `explained:ollama:llama3.1:8b@365c0bd3c000`."""
        return f"explained:{self._model.fingerprint}"

    @property
    def thresholds(self) -> Thresholds:
        """Yes is relevant, partly ambiguous, no irrelevant."""
        return _THRESHOLDS

    def grade(self, question: str, passages: Sequence[Passage], stop: Stop) -> Iterator[tuple[int, Grade]]:
        """Every passage as its reply comes. A fault that may pass leaves its passage unknown; others raise."""
        if not passages:
            return

        def judge(index: int) -> Grade:
            return self._judge(question, passages[index], stop)

        yield from in_parallel(judge, len(passages), self._model.concurrency, stop)

    def _judge(self, question: str, passage: Passage, stop: Stop) -> Grade:
        prompts = [
            Prompt("system", load("grade", detect(question))),
            Prompt("user", f"{question_block(question)}\n\n{passage_block(question, passage, passage.text)}"),
        ]
        try:
            return ask_twice(self._model, prompts, SCHEMA, read_grade, stop) or Grade(None, UNREADABLE)
        except ModelFault as fault:
            if fault.fault != "passing":
                raise
            return Grade(None, f"Could not be judged: {fault.message}")


def read_grade(reply: str) -> Grade | None:
    """The grade in a model's reply, also in the forms other models and notebooks use; None when there is none."""
    text = without_thoughts(reply)
    found = first_object(text)
    if found is None:
        score = None if text.startswith(("[", "{")) else _score(text)
        return None if score is None else Grade(score, _shortened(text))
    value = next((found[key] for key in _KEYS if key in found), None)
    score = _score(str(value))
    reason = found.get("reason") or found.get("explanation") or ""
    return None if score is None else Grade(score, _shortened(str(reason)))


def _score(word: str) -> float | None:
    match = re.match(r"[\s\"'*`(]*([^\W\d_]+)", word)
    return _SCORES.get(match[1].lower()) if match else None


def _shortened(text: str) -> str:
    """The first line of a reason, at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199].rsplit(" ", 1)[0] + "…"
