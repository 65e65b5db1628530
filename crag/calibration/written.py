"""Questions that a chat model writes about a passage: one that it answers, and one that only seems to be answered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from crag.calibration.sampling import Drawn
from crag.prompts import compose
from crag.protocols import ChatModel
from crag.replies import first_object, without_thoughts
from crag.stopping import Stop

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answered": {"type": "string"}, "unanswered": {"type": "string"}},
    "required": ["answered", "unanswered"],
}
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Written:
    """Two questions about one passage: it answers the first and not the second."""

    answered: str
    unanswered: str


class QuestionWriter:
    """Asks the model once for each passage."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write(self, passage: Drawn, stop: Stop) -> Written | None:
        """The two questions; None when the reply holds none. Raises `ModelFault`, `Stopped`."""
        system, asked = compose("probe", title=passage.title, passage=passage.text)
        prompts = system, replace(asked, about=f"questions to calibrate by, on: {passage.title}")
        return read_questions(self._model.complete(prompts, stop, schema=SCHEMA).text)


def read_questions(reply: str) -> Written | None:
    """The questions in a model's reply, which may stand amid prose or in a block of code."""
    found = first_object(without_thoughts(reply)) or {}
    questions = [" ".join(str(found.get(name) or "").split())[:_LONGEST] for name in ("answered", "unanswered")]
    return Written(*questions) if all(questions) and questions[0] != questions[1] else None
