"""Writer and rewriter over a chat model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crag.models.builtin.rewriter import strongest_words
from crag.models.continuing import joined, without_broken_word
from crag.models.fitting import fit_prompt
from crag.options import RunOptions
from crag.prompts import compose
from crag.prompts.language import detect, speaks_as
from crag.protocols import QUERY_LIMIT, ChatModel, Piece, PromptFit
from crag.stopping import Stop
from crag.types import Knowledge, Turn

_QUESTIONS_REMEMBERED = 4
_LABEL = re.compile(
    r"^\W*(?:(?:here (?:is|are) )?(?:the |your )?(?:rewritten|rephrased|improved|standalone|stand-alone|new|final)?\s*"
    r"(?:search )?(?:question|query|keywords)(?: are| is)?|(?:다시 쓴 |바꾼 |독립된 )?(?:질문|검색어|핵심어|키워드)"
    r"|(?:改[写寫][后後]的|[独獨]立的?|新的?|完整的?)?(?:[问問][题題]|[关關][键鍵][词詞]|搜索[词詞]|查[询詢]))\s*[:：]\s*",
    re.IGNORECASE,
)
_MOST_KEYWORDS = 3  # as in CRAG (arXiv 2401.15884, section 4.5)
_LONGEST_KEYWORD = 6  # words; more of them are a sentence
_BETWEEN = re.compile(r"[,，、;；|\n]+")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_AROUND = " \t\"'`“”‘’«»「」*_"


class ModelWriter:
    """`Writer` over a chat model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write(
        self, question: str, knowledge: Sequence[Knowledge], history: Sequence[Turn], stop: Stop, *, begun: str = ""
    ) -> Iterator[PromptFit | Piece]:
        """Write the answer, as in `Writer`; continue from `begun` if given."""
        model, begun = self._model, without_broken_word(begun)
        fitted = fit_prompt(
            question,
            knowledge,
            history,
            window=model.window,
            answer_limit=model.answer_limit,
            count_tokens=model.count_tokens,
            begun=begun,
        )
        yield fitted.fit
        if begun:
            yield Piece(begun)
        written = model.stream(fitted.prompts, stop)
        yield from joined(begun, written) if begun else written


class ModelRewriter:
    """`Rewriter` over a chat model. It sees only questions, so no document text can reach the web through it."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def condense(self, question: str, history: Sequence[Turn], stop: Stop) -> str:
        """Return the question, rewritten to be understood without its history. Raises `ModelFault`, `Stopped`."""
        asked = [one_line(turn.text) for turn in history if turn.role == "user"][-_QUESTIONS_REMEMBERED:]
        if not asked:
            return question
        earlier = "\n".join(f"- {earlier}" for earlier in asked)
        prompts = compose("condense", detect(question), question=question, history=earlier)
        condensed = one_line(self._model.complete(prompts, stop).text)
        return condensed if condensed and speaks_as(condensed, question) else question

    def rewrite(self, question: str, options: RunOptions, stop: Stop) -> str:
        """Return a web query within `QUERY_LIMIT`, as `options.rewrite` says. Raises `ModelFault`, `Stopped`.

        An empty reply, or one in another language than the question, is replaced by the question itself.
        """
        if options.rewrite == "none":
            return one_line(question)
        prompts = compose(f"rewrite_{options.rewrite}", detect(question), question=question)
        reply = self._model.complete(prompts, stop).text
        wanted = options.rewrite == "keywords"
        query = one_line(", ".join(read_keywords(reply)) if wanted else reply)
        if query and speaks_as(query, question):
            return query
        return one_line(" ".join(strongest_words(question)) if wanted else "") or one_line(question)


def read_keywords(reply: str) -> list[str]:
    """Return the first three keywords of a reply; none when it is a sentence."""
    parts = (_BULLET.sub("", part) for part in _BETWEEN.split(_LABEL.sub("", reply.strip())))
    found = list(dict.fromkeys(part for part in (part.strip(_AROUND + ".。") for part in parts) if part))
    if any(len(keyword.split()) > _LONGEST_KEYWORD for keyword in found[:_MOST_KEYWORDS]):
        return []
    return found[:_MOST_KEYWORDS]


def one_line(text: str) -> str:
    """Return the first line with words, without label and quotation marks, cut between words at `QUERY_LIMIT`."""
    lines = (_LABEL.sub("", line).strip(_AROUND) for line in text.splitlines())
    line = " ".join(next((line for line in lines if line), "").split())
    if len(line) <= QUERY_LIMIT:
        return line
    cut = line[:QUERY_LIMIT]
    return cut.rpartition(" ")[0] or cut
