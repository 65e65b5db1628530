"""Score grader: one token per passage, read as a probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from crag.cancellation import Cancellation
from crag.concurrency.workers import map_parallel
from crag.errors import ModelFault
from crag.grading.model_replies import (
    ModelGrader,
    ask_again,
    certainty_reason,
    failed_grade,
    grading_prompts,
    nearest_sentence,
    passage_block,
    question_block,
    read_score,
    remaining_tokens,
    truncate_to_tokens,
    unreadable_grade,
    yes_probability,
)
from crag.prompts import load_prompt
from crag.protocols import ChatModel
from crag.text.language import detect_language
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Grade, Passage, Thresholds, Usage

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["verdict"],
}


class ScoreGrader(ModelGrader):
    """Asks `model` for yes or no on each passage, in parallel; the score is P(yes) / (P(yes) + P(no))."""

    kind = "score"
    thresholds = Thresholds(lower=0.3, upper=0.7)  # a confidence below 70 %, either way, is ambiguous

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield each grade as its token arrives. A transient fault leaves its passage unknown; others are raised."""
        if not passages:
            return
        asked = analyze_question(question, CountedTermStatistics(passage.text for passage in passages))
        language = detect_language(question)

        def judge(index: int) -> Grade:
            passage = passages[index]
            try:
                score, usage = ask_yes_or_no(self._model, question, passage, passage.text, stop)
            except ModelFault as fault:
                return failed_grade(fault)
            if score is None:
                return Grade(None, unreadable_grade(language).reason, usage)
            return Grade(score, certainty_reason(score, language, nearest_sentence(asked, passage.text)), usage)

        yield from map_parallel(judge, len(passages), self._model.concurrency, stop)


def ask_yes_or_no(
    model: ChatModel, question: str, passage: Passage, text: str, stop: Cancellation
) -> tuple[float | None, Usage]:
    """Return the probability in 0..1 that `text` of the passage contains the answer, and the tokens used.

    Instructions and question come first, so that the server processes them once for all texts. If the first token is
    neither yes nor no, the model is asked once more; then the score is None. Raises `ModelFault`, `Stopped`.
    """
    system, asked = load_prompt("score", detect_language(question)), question_block(question)
    text = truncate_to_tokens(text, remaining_tokens(model, system, asked), model)
    prompts = grading_prompts("grade", system, question, passage_block(question, passage, text))
    first = model.first_token(prompts, stop)
    score = yes_probability(first)
    if score is not None:
        return score, first.usage
    again = ask_again(model, prompts, first.text, _SCHEMA, stop)
    return read_score(again.text), first.usage + again.usage
