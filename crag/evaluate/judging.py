"""LLM judge: a model's score of an answer, compared with its reference answers."""

from __future__ import annotations

import re
from typing import Any

from crag.errors import ModelFault
from crag.evaluate.datasets.examples import Example
from crag.evaluate.values import Judgement
from crag.grading.reasons import raise_unless_passing, shortened
from crag.grading.replies import ask_twice, fenced
from crag.grading.room import clip, room_for_text
from crag.prompts import compose
from crag.prompts.language import detect
from crag.protocols import ChatModel, Prompt
from crag.replies import first_object, without_thoughts
from crag.stopping import Stop

_MOST = 10  # points: coarse enough for a model to use consistently, fine enough to fit a cutoff
# The reason comes first: a model that writes its points first only rationalizes them.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "points": {"type": "integer", "minimum": 0, "maximum": _MOST},
    },
    "required": ["reason", "points"],
}
_POINTS = re.compile(rf"\s*(\d+)(?:\.0+)?(?:\s*/\s*{_MOST})?\s*")  # 0.9 is rejected: the scale of a fraction is unknown
_KEYS = ("points", "score")
_UNREADABLE = "The judge's reply could not be read."
_CLIPPED = "(It was shown only the beginning of the answer.)"


class Judge:
    """Asks `model` about one answer at a time; thread-safe."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The exact model, such as `ollama:llama3.1:8b@365c0bd3c000`."""
        return self._model.fingerprint

    def judge(self, example: Example, answer: str, stop: Stop) -> Judgement:
        """Return its score and reason.

        The score is None if the reply was unreadable twice, or after a temporary fault. Without a reference or an
        answer the model is not asked. Raises `Stopped`, or `ModelFault` if the user must act.
        """
        if not example.has_reference:
            return Judgement(self.name, None, "There is no right answer to hold it against.")
        if not answer.strip():
            return Judgement(self.name, 0.0, "There is no answer.")
        part = self._clipped(example, answer.strip())
        marked = fenced("answer", part, example.question)
        try:
            found, _ = ask_twice(self._model, _compose(example, marked), SCHEMA, read_points, stop)
        except ModelFault as fault:
            raise_unless_passing(fault)
            return Judgement(self.name, None, f"Could not be judged: {fault.message}")
        score, reason = found or (None, _UNREADABLE)
        return Judgement(self.name, score, reason if part == answer.strip() else f"{reason} {_CLIPPED}".strip())

    def _clipped(self, example: Example, answer: str) -> str:
        around = (prompt.text for prompt in _compose(example, ""))
        return clip(answer, room_for_text(self._model, *around), self._model)


def _compose(example: Example, answer: str) -> tuple[Prompt, ...]:
    return compose(
        "judge",
        detect(example.question),
        question=example.question,
        references=_list(example.references),
        must_mention=_list(example.must_mention),
        answer=answer,
    )


def _list(texts: tuple[str, ...]) -> str:
    return "\n".join(f"- {' '.join(text.split())}" for text in texts) or "-"


def read_points(reply: str) -> tuple[float, str] | None:
    """Parse the score in 0..1 and the reason from a reply or a bare number; None without a score."""
    said = without_thoughts(reply)
    found = first_object(said)
    if found is None:
        score = _score(said)
        return None if score is None else (score, "")
    score = _score(next((found[key] for key in _KEYS if key in found), None))
    return None if score is None else (score, shortened(str(found.get("reason") or "")))


def _score(points: object) -> float | None:
    """Convert points to a score in 0..1; None for anything else, such as `true`, `maybe` or 85."""
    match = None if isinstance(points, bool) else _POINTS.fullmatch(str(points))
    score = float(match[1]) / _MOST if match else 2.0
    return score if score <= 1 else None
