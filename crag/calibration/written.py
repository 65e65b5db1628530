"""Questions that a chat model writes about a passage: one answerable, one that only seems answerable."""

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
    """Two questions about one passage: it answers the first but not the second."""

    answered: str
    unanswered: str


class QuestionWriter:
    """Asks the model once per passage."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write(self, passage: Drawn, stop: Stop) -> Written | None:
        """Return the two questions; None if the reply holds none. Raises `ModelFault`, `Stopped`."""
        system, asked = compose("probe", title=passage.title, passage=passage.text)
        prompts = system, replace(asked, about=f"questions to calibrate by, on: {passage.title}")
        return read_questions(self._model.complete(prompts, stop, schema=SCHEMA).text)


def read_questions(reply: str) -> Written | None:
    """Parse the questions in a model's reply, which may be surrounded by prose or a code block."""
    found = first_object(without_thoughts(reply)) or {}
    questions = [" ".join(str(found.get(name) or "").split())[:_LONGEST] for name in ("answered", "unanswered")]
    return Written(*questions) if all(questions) and questions[0] != questions[1] else None
