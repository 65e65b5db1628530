"""Score grader: one token per passage, read as a probability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crag.cancellation import Cancellation
from crag.grading.model_replies import (
    UNREADABLE,
    ModelGrader,
    YesOrNo,
    ask_in_parallel,
    certainty_reason,
    failed_grade,
    grading_prompts,
    nearest_sentence,
    passage_block,
    prompts_for_retry,
    question_block,
    read_yes_or_no,
    remaining_tokens,
    truncate_to_tokens,
)
from crag.prompts import load_prompt
from crag.protocols import ChatModel
from crag.text.language import detect_language
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Grade, Passage, Thresholds

_WORDS = ("yes", "no")
_WANTED = '{"verdict": "yes"} or {"verdict": "no"}'


class ScoreGrader(ModelGrader):
    """Asks `model` for yes or no on each passage, in parallel; the score is P(yes) / (P(yes) + P(no))."""

    kind = "score"
    thresholds = Thresholds(lower=0.3, upper=0.7)  # a confidence below 70 %, either way, is ambiguous

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Yield each grade as its token arrives. A transient fault leaves its passage unknown; others are raised."""
        asked = analyze_question(question, CountedTermStatistics(passage.text for passage in passages))

        def judge(index: int, limited: Cancellation) -> Grade:
            passage = passages[index]
            reply = ask_yes_or_no(self._model, question, passage, passage.text, limited)
            if reply.score is None:
                return replace(UNREADABLE, usage=reply.usage)
            reason = certainty_reason(reply, nearest_sentence(asked, passage.text))
            return Grade(reply.score, reason, reply.usage)

        yield from ask_in_parallel(self._model, judge, len(passages), failed_grade, stop)


def ask_yes_or_no(model: ChatModel, question: str, passage: Passage, text: str, stop: Cancellation) -> YesOrNo:
    """Ask whether `text` of the passage contains the answer.

    Instructions and question come first, so that the server processes them once for all texts. If the first token is
    neither yes nor no, the model is made to choose one of them. Raises `ModelFault`, `Stopped`.
    """
    system, asked = load_prompt("score", detect_language(question)), question_block(question)
    text = truncate_to_tokens(text, remaining_tokens(model, system, asked), model)
    prompts = grading_prompts("grade", system, question, passage_block(question, passage, text))
    first = model.first_token(prompts, stop)
    reply = read_yes_or_no(first)
    if reply.score is not None:
        return reply
    chosen = model.choose_word(prompts_for_retry(prompts, first.text, _WANTED), _WORDS, stop)
    return read_yes_or_no(replace(chosen, usage=first.usage + chosen.usage))
