"""Token budget: fits prompts and questions into a model's context window."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crag.errors import ModelFault
from crag.models.token_counts import count_tokens
from crag.prompts import HISTORY_TURNS, compose_answer_prompts, compose_prompt, load_prompt
from crag.protocols import ChatModel, PromptFit, ShortenedQuestion
from crag.text.language import detect_language
from crag.types import Knowledge, Prompt, Strip, Turn

# Overhead of the chat format per message, a generous estimate.
TOKENS_PER_MESSAGE = 8
_MIN_STRIP_CHARACTERS = 200
_STRIP_TRIM_SHARE = 0.8
_LANGUAGE_SAMPLE_CHARACTERS = 2000
_TRIM_SHARE = 0.98  # cut a little more than computed, because tokens are not spread evenly
_PARTIAL_ANSWER_DIVISOR = 3

TokenCounter = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class FittedPrompt:
    """Messages to send, and how they fit."""

    prompts: tuple[Prompt, ...]
    fit: PromptFit


def fit_prompt(
    question: str,
    knowledge: Sequence[Knowledge],
    history: Sequence[Turn],
    *,
    window: int,
    answer_limit: int,
    count_tokens: TokenCounter,
    partial_answer: str = "",
    prompt: str = "answer",
) -> FittedPrompt:
    """Fit the answer's prompt into `window - answer_limit` tokens.

    Raises `ModelFault` when the question alone is longer. `knowledge` is ordered by rank. `left_out` counts the dropped
    strips and, when only one is left, whether it was shortened; a passage without strips counts as one.
    `partial_answer` is an answer to continue; of a very long one the model sees only the end. `prompt` is the prompt
    file.
    """
    room = window - answer_limit
    continuation = (
        _continuation_prompts(question, partial_answer, room // _PARTIAL_ANSWER_DIVISOR, count_tokens)
        if partial_answer
        else ()
    )
    language = detect_language(question)
    kept, turns, forgotten = _KeptKnowledge(knowledge, count_tokens), list(history[-HISTORY_TURNS:]), 0
    while True:
        prompts = *compose_answer_prompts(question, kept.knowledge(), turns, language, prompt), *continuation
        tokens = sum(count_tokens(prompt.text) + TOKENS_PER_MESSAGE for prompt in prompts)
        if tokens <= room:
            return FittedPrompt(prompts, PromptFit(tokens, window, kept.left_out, forgotten))
        if turns:
            del turns[0]
            forgotten += 1
        elif not kept.drop_lowest(tokens - room):
            raise ModelFault.make("model.question_too_long", tokens=tokens, room=room)


class _KeptKnowledge:
    """Knowledge still in the prompt, strip by strip."""

    def __init__(self, knowledge: Sequence[Knowledge], count_tokens: TokenCounter) -> None:
        self._knowledge = knowledge
        self._count = count_tokens
        self._strips = {item.n: list(item.strips or (Strip(item.text, None, kept=True),)) for item in knowledge}
        self._lowest_first = self._ranked()
        self._shortened = False
        self.left_out = 0

    def knowledge(self) -> list[Knowledge]:
        """Return the remaining knowledge without passages that lost every strip."""
        return [
            replace(item, text="\n".join(strip.text for strip in self._strips[item.n]))
            for item in self._knowledge
            if self._strips[item.n]
        ]

    def drop_lowest(self, tokens: int) -> bool:
        """Drop the lowest-ranked strips worth about this many tokens; return False if nothing is left to drop."""
        dropped = False
        while tokens > 0 and len(self._lowest_first) > 1:
            n, strip = self._lowest_first.pop(0)
            self._strips[n].remove(strip)
            self.left_out += 1
            tokens -= self._count(strip.text)
            dropped = True
        return dropped or self._shorten_last()

    def _ranked(self) -> list[tuple[int, Strip]]:
        """Return the strips by score, lowest first; ties by the rank of their passage, last passage first.

        A strip without a score ranks with the best: no grader rated it lower.
        """
        places = [(item.n, strip) for item in self._knowledge for strip in self._strips[item.n]]
        ranked = sorted(enumerate(places), key=lambda place: (_strip_score(place[1][1]), -place[0]))
        return [place for _, place in ranked]

    def _shorten_last(self) -> bool:
        if not self._lowest_first or len(self._lowest_first[0][1].text) <= _MIN_STRIP_CHARACTERS:
            return False
        n, strip = self._lowest_first[0]
        shorter = replace(strip, text=strip.text[: int(len(strip.text) * _STRIP_TRIM_SHARE)])
        self._strips[n], self._lowest_first = [shorter], [(n, shorter)]
        self.left_out += not self._shortened
        self._shortened = True
        return True


def _strip_score(strip: Strip) -> float:
    return 1.0 if strip.score is None else strip.score


def _continuation_prompts(question: str, partial_answer: str, limit: int, count: TokenCounter) -> tuple[Prompt, Prompt]:
    while (tokens := count(partial_answer)) > limit:
        partial_answer = partial_answer[-int(len(partial_answer) * limit / tokens * _TRIM_SHARE) :]
    return Prompt("assistant", partial_answer), Prompt(
        "user", load_prompt("continue", detect_language(question[:_LANGUAGE_SAMPLE_CHARACTERS]))
    )


_MAX_BUILTIN_TOKENS = 4096
_MIN_QUESTION_TOKENS = 64
_TRAILING_WORD, _LEADING_WORD = re.compile(r"\s\S{0,30}$"), re.compile(r"^\S{0,30}\s")


def make_shortener(models: Sequence[ChatModel]) -> Callable[[str], ShortenedQuestion]:
    """Return a function that fits questions into half of the smallest window's room, leaving the rest for passages.

    Without models the built-in engine has no window but reads at most `_MAX_BUILTIN_TOKENS` tokens.
    """

    def shorten(question: str) -> ShortenedQuestion:
        limit = min((_question_token_budget(model, question) for model in models), default=_MAX_BUILTIN_TOKENS)
        return shorten_question(question, limit, count_tokens)

    return shorten


def shorten_question(question: str, limit: int, count: Callable[[str], int]) -> ShortenedQuestion:
    """Shorten the question to `limit` tokens, keeping beginning and end, where the actual question usually is."""
    tokens = count(question)
    kept = len(question)
    text, left = question, tokens
    while left > limit:
        kept = min(kept - 1, int(kept * limit / left * _TRIM_SHARE))
        half = max(1, kept // 2)
        text = f"{_TRAILING_WORD.sub('', question[:half])}\n[…]\n{_LEADING_WORD.sub('', question[-half:])}"
        left = count(text)
    return ShortenedQuestion(text, tokens, tokens - left)


def _question_token_budget(model: ChatModel, question: str) -> int:
    around = compose_prompt(
        "answer", detect_language(question[:_LANGUAGE_SAMPLE_CHARACTERS]), question="", knowledge=""
    )
    taken = model.answer_limit + sum(count_tokens(prompt.text) + TOKENS_PER_MESSAGE for prompt in around)
    return max(_MIN_QUESTION_TOKENS, (model.window - taken) // 2)
