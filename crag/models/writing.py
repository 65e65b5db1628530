"""The roles a language model plays with words: it writes the answer, and it writes questions anew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crag.models.fitting import fit_prompt
from crag.prompts import compose
from crag.protocols import QUERY_LIMIT, ChatModel, Piece, PromptFit
from crag.stopping import Stop
from crag.types import Knowledge, RunOptions, Turn

_QUESTIONS_REMEMBERED = 4
_LABEL = re.compile(
    r"^\W*(?:(?:here is )?(?:the |your )?(?:rewritten|rephrased|improved|standalone|stand-alone|new|final)?\s*"
    r"(?:search )?(?:question|query|keywords)|질문|검색어|问题|問題|关键词|關鍵詞)\s*[:：]\s*",
    re.IGNORECASE,
)
_AROUND = " \t\"'`“”‘’«»「」*_"


class ModelWriter:
    """The `Writer` over a chat model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write(
        self, question: str, knowledge: Sequence[Knowledge], history: Sequence[Turn], stop: Stop
    ) -> Iterator[PromptFit | Piece]:
        """First a `PromptFit`, then the answer in pieces, the last with its usage. Raises `ModelFault`, `Stopped`."""
        model = self._model
        fitted = fit_prompt(
            question,
            knowledge,
            history,
            window=model.window,
            answer_limit=model.answer_limit,
            count_tokens=model.count_tokens,
        )
        yield fitted.fit
        yield from model.stream(fitted.prompts, stop)


class ModelRewriter:
    """The `Rewriter` over a chat model. It sees questions alone, so no document text can reach the web through it."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def condense(self, question: str, history: Sequence[Turn], stop: Stop) -> str:
        """The question, made to stand without its history. Raises `ModelFault`, `Stopped`."""
        asked = [one_line(turn.text) for turn in history if turn.role == "user"][-_QUESTIONS_REMEMBERED:]
        if not asked:
            return question
        earlier = "\n".join(f"- {earlier}" for earlier in asked)
        reply = self._model.complete(compose("condense", question=question, history=earlier), stop)
        return one_line(reply.text) or question

    def rewrite(self, question: str, options: RunOptions, stop: Stop) -> str:
        """A query for the web within `QUERY_LIMIT`, as `options.rewrite` says. Raises `ModelFault`, `Stopped`."""
        if options.rewrite == "none":
            return one_line(question)
        reply = self._model.complete(compose(f"rewrite_{options.rewrite}", question=question), stop)
        return one_line(reply.text) or one_line(question)


def one_line(text: str) -> str:
    """The first line with words in it, without label and quotation marks, cut between words at `QUERY_LIMIT`."""
    lines = (_LABEL.sub("", line).strip(_AROUND) for line in text.splitlines())
    line = " ".join(next((line for line in lines if line), "").split())
    if len(line) <= QUERY_LIMIT:
        return line
    cut = line[:QUERY_LIMIT]
    return cut.rpartition(" ")[0] or cut
