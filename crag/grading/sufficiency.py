"""Sufficiency: whether the best excerpts of all passages together answer a question, asked of a language model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, Protocol

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.grading.model_replies import (
    NO_WORDS,
    YES_WORDS,
    ask_in_parallel,
    nearest_sentence,
    prompts_for_retry,
    read_likeliest,
    remaining_tokens,
    truncate_to_tokens,
)
from crag.prompts import HISTORY_TURNS, compose_answer_prompts, load_prompt
from crag.protocols import ChatModel, Grader, Refiner, TokenChoice
from crag.text.language import detect_language
from crag.text.questions import analyze_question
from crag.text.relevance_scores import CountedTermStatistics
from crag.text.strips import limit_strips
from crag.translation import N_
from crag.types import Assessment, Grade, Knowledge, Passage, Prompt, Statement, Turn

Choice = Literal["sufficient", "insufficient", "conflicting", "unsure"]
_WORDS: dict[str, Choice] = {"yes": "sufficient", "no": "insufficient", "disagree": "conflicting", "unsure": "unsure"}
_MIN_PREFIX = 2  # letters by which the first token of “disagree” or “unsure” is recognized
_MIN_SHARE = 0.5  # of the probability of all four words: less, and the model cannot tell
_MIN_SHARE_FOR_KNOWLEDGE = 0.25  # of the window
_ITEM_OVERHEAD_TOKENS = 20  # for the number of a source and its title
_REASONS: dict[Choice | None, tuple[str, str]] = {  # with and without a probability
    "sufficient": (
        N_("{percent}% sure that the excerpts answer this."),
        N_("Judged, certainty unknown, that the excerpts answer this."),
    ),
    "insufficient": (
        N_("{percent}% sure that the excerpts do not answer this."),
        N_("Judged, certainty unknown, that the excerpts do not answer this."),
    ),
    "conflicting": (
        N_("{percent}% sure that the excerpts give different answers."),
        N_("Judged, certainty unknown, that the excerpts give different answers."),
    ),
    "unsure": (N_("The model cannot tell from the excerpts."),) * 2,
    None: (N_("The model's reply could not be read."),) * 2,
}


class SufficiencyJudge(Protocol):
    """Judges whether graded passages together answer a question."""

    def judge(
        self,
        question: str,
        graded: Sequence[tuple[Passage, Grade]],
        stop: Cancellation,
        *,
        refine: bool = True,
        history: Sequence[Turn] = (),
    ) -> Assessment:
        """Return the assessment of at least one passage that may be used, best first; the rest as in `Assessor.assess`.

        Raises `ModelFault`, `Stopped`.
        """
        ...


class SeparateAssessor:
    """`Assessor` that grades first, and then judges what was not rejected."""

    def __init__(self, grader: Grader, judge: SufficiencyJudge) -> None:
        self._grader = grader
        self._judge = judge

    def assess(
        self,
        question: str,
        passages: Sequence[Passage],
        stop: Cancellation,
        *,
        refine: bool = True,
        history: Sequence[Turn] = (),
    ) -> Iterator[tuple[int, Grade] | Assessment]:
        """Yield the grades as they arrive, then the assessment, if any. Raises `ModelFault`, `Stopped`."""
        graded: list[tuple[Passage, Grade]] = []
        for index, grade in self._grader.grade(question, passages, stop):
            graded.append((passages[index], grade))
            yield index, grade
        thresholds = self._grader.thresholds
        usable = [pair for pair in graded if thresholds.verdict_for(pair[1].score) != "irrelevant"]
        if usable:
            yield self._judge.judge(question, rank_passages(usable), stop, refine=refine, history=history)


def rank_passages(graded: Iterable[tuple[Passage, Grade]]) -> list[tuple[Passage, Grade]]:
    """Return the passages best first, in the order in which an answer is written from them."""
    return sorted(graded, key=lambda pair: -(0.5 if pair[1].score is None else pair[1].score))


class ModelJudge:
    """Asks `model` for one word on the excerpts that `refiner` keeps, and reads its probability.

    The prompt is the answer's own with another ending, so that the server has processed most of it when the answer is
    written: the question costs little more than its one token.
    """

    def __init__(self, model: ChatModel, refiner: Refiner) -> None:
        self._model = model
        self._refiner = refiner

    def judge(
        self,
        question: str,
        graded: Sequence[tuple[Passage, Grade]],
        stop: Cancellation,
        *,
        refine: bool = True,
        history: Sequence[Turn] = (),
    ) -> Assessment:
        """Return the assessment, which stays open after a transient fault. Raises `ModelFault`, `Stopped`."""
        prompts, knowledge = self._fit_prompts(
            question, self._choose_excerpts(question, [passage for passage, _ in graded], stop, refine=refine), history
        )

        def give_up(_index: int, fault: ModelFault) -> Assessment:
            return Assessment(None, fault.message)

        def ask(_index: int, limited: Cancellation) -> Assessment:
            choice, probability = self._ask(prompts, limited)
            assessment = describe_choice(choice, probability)
            stated = _find_statements(question, knowledge) if assessment.sufficiency == "conflicting" else ()
            return replace(assessment, statements=stated)

        return next(assessment for _, assessment in ask_in_parallel(self._model, ask, 1, give_up, stop))

    def _choose_excerpts(
        self, question: str, passages: Sequence[Passage], stop: Cancellation, *, refine: bool
    ) -> list[Knowledge]:
        """Return the best excerpts of the passages, or whole passages, numbered as for the answer."""
        texts = {passage.id: passage.text for passage in passages}
        if refine:
            strips = {passages[index].id: cut for index, cut in self._refiner.refine(question, passages, stop)}
            for passage_id, cut in limit_strips(strips).items():
                texts[passage_id] = "\n".join(strip.text for strip in cut if strip.kept)
        held = [passage for passage in passages if texts[passage.id]]
        return [Knowledge(n, passage, texts[passage.id]) for n, passage in enumerate(held, start=1)]

    def _fit_prompts(
        self, question: str, knowledge: Sequence[Knowledge], history: Sequence[Turn]
    ) -> tuple[list[Prompt], list[Knowledge]]:
        """Return the prompts, and the knowledge that fits into them; a long history is left out."""
        turns = history[-HISTORY_TURNS:]
        room = self._remaining_tokens(question, turns)
        if room < _MIN_SHARE_FOR_KNOWLEDGE * self._model.window:
            turns, room = (), self._remaining_tokens(question, ())
        fitting: list[Knowledge] = []
        for item in knowledge:
            text = truncate_to_tokens(item.text, room, self._model)
            room -= self._model.count_tokens(text) + _ITEM_OVERHEAD_TOKENS
            fitting.append(replace(item, text=text))
            if room <= 0:
                break
        return _compose_prompts(question, fitting, turns), fitting

    def _remaining_tokens(self, question: str, turns: Sequence[Turn]) -> int:
        return remaining_tokens(self._model, *(prompt.text for prompt in _compose_prompts(question, (), turns)))

    def _ask(self, prompts: Sequence[Prompt], stop: Cancellation) -> tuple[Choice | None, float | None]:
        """Return the model's choice and its probability; a model that begins otherwise is made to choose a word."""
        first = self._model.first_token(prompts, stop)
        choice = read_choice(first)
        if choice[0] is not None:
            return choice
        wanted = " or ".join(json.dumps({"verdict": word}) for word in _WORDS)
        return read_choice(self._model.choose_word(prompts_for_retry(prompts, first.text, wanted), list(_WORDS), stop))


def _compose_prompts(question: str, knowledge: Sequence[Knowledge], turns: Sequence[Turn]) -> list[Prompt]:
    language = detect_language(question)
    *before, user = compose_answer_prompts(question, knowledge, turns, language)
    return [*before, Prompt("user", f"{user.text}\n\n{load_prompt('sufficiency', language)}", f"grade: {question}")]


def read_choice(choice: TokenChoice) -> tuple[Choice | None, float | None]:
    """Return the likeliest choice and its share among all four; without probabilities, that of the text, and None.

    A choice with less than half of the probability is *unsure*. The choice is None if the reply holds none.
    """
    likeliest: Choice | None
    likeliest, share = read_likeliest(choice, _read_word)
    return ("unsure", None) if share is not None and share < _MIN_SHARE else (likeliest, share)


def _read_word(word: str) -> Choice | None:
    if word in YES_WORDS:
        return "sufficient"
    if word in NO_WORDS:
        return "insufficient"
    words = (meant for name, meant in _WORDS.items() if len(word) >= _MIN_PREFIX and name.startswith(word))
    return next(words, None)


def describe_choice(choice: Choice | None, probability: float | None) -> Assessment:
    """Return the assessment that a choice stands for, with its certainty; without statements."""
    reason = _REASONS[choice][probability is None].format(percent=round(100 * (probability or 0)))
    return Assessment(None if choice is None or choice == "unsure" else choice, reason)


def _find_statements(question: str, knowledge: Sequence[Knowledge]) -> tuple[Statement, ...]:
    """Return the sentence nearest to the question of each source."""
    asked = analyze_question(question, CountedTermStatistics(item.text for item in knowledge))
    return tuple(Statement(item.passage.id, nearest_sentence(asked, item.text)) for item in knowledge)
