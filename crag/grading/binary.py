"""Yes-or-no graders of the reference systems: one model call per passage in turn, answered yes or no as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from crag.cancellation import Cancellation
from crag.grading.model_replies import (
    UNREADABLE,
    ModelGrader,
    YesOrNo,
    ask_in_parallel,
    ask_with_retry,
    certainty_reason,
    failed_grade,
    grading_prompts,
    nearest_sentence,
    passage_block,
    read_score,
    remaining_tokens,
    truncate_to_tokens,
)
from crag.options import GraderKind
from crag.prompts import load_prompt
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Grade, Passage, Thresholds

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"binary_score": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["binary_score"],
}


class BinaryGrader(ModelGrader):
    """Asks `model` for yes or no about each passage by structured output, one passage after the other."""

    kind: GraderKind = "binary"
    thresholds = Thresholds(lower=0.5, upper=0.5)
    prompt = "grade_binary"
    schema: ClassVar[dict[str, Any]] = _SCHEMA
    example = '{"binary_score": "yes"}'

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield each grade as its reply arrives. A transient fault leaves its passage unknown; others are raised."""

        def judge(index: int, limited: Cancellation) -> Grade:
            return self._grade_passage(question, passages[index], limited)

        yield from ask_in_parallel(self._model, judge, len(passages), failed_grade, stop, workers=1)

    def _grade_passage(self, question: str, passage: Passage, stop: Cancellation) -> Grade:
        system = load_prompt(self.prompt)
        text = truncate_to_tokens(passage.text, remaining_tokens(self._model, system, question), self._model)
        prompts = grading_prompts("grade", system, question, passage_block(question, passage, text))
        score, usage = ask_with_retry(self._model, prompts, self.schema, read_score, stop, example=self.example)
        if score is None:
            return replace(UNREADABLE, usage=usage)
        asked = analyze_question(question, CountedTermStatistics([text]))
        decision = YesOrNo(score, is_measured=False, usage=usage)
        return Grade(score, certainty_reason(decision, nearest_sentence(asked, text)), usage)


class JsonModeGrader(BinaryGrader):
    """Asks for the same in JSON mode, in which the prompt alone says what the object holds."""

    kind = "json"
    prompt = "grade_json"
    schema: ClassVar[dict[str, Any]] = {}
    example = '{"score": "yes"}'
