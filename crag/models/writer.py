"""Answer writer, question rewriter and writer of SQL over a chat model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from crag.cancellation import Cancellation
from crag.models.builtin_rewriter import pick_strongest_words
from crag.models.prompt_fit import fit_prompt
from crag.options import RunOptions
from crag.prompts import compose_prompt, find_json_object, strip_thoughts
from crag.protocols import MAX_QUERY_LENGTH, ChatModel, CondensedQuestion, PassageFinder, PromptFit, ReplyPiece
from crag.reference_systems import find_system
from crag.text.language import detect_language, is_in_language_of
from crag.text.patterns import lazy_regex
from crag.types import Knowledge, Turn

_MAX_REPEATED_CHARACTERS = 80  # characters within which a model may repeat the end of the begun answer
_MIN_OVERLAP = 4
_UNSPACED_SCRIPTS = r"\u2e80-\u312f\u3190-\ua95f\ua980-\uabff\uf900-\uffef"  # Chinese, Japanese; not Korean
_LAST_WORD = lazy_regex(rf"(?<!\s)\s+[^\s{_UNSPACED_SCRIPTS}]*\w$")
_OPEN_CITATION = lazy_regex(r"\s*\[[\d\s,]*$")
_WORD_CHARACTER = lazy_regex(r"\w")
_UNSPACED_CHARACTER = lazy_regex(f"[{_UNSPACED_SCRIPTS}]")


def trim_broken_word(text: str) -> str:
    """Remove the last word or citation, which may be incomplete.

    The text is complete if it ends with punctuation, or in a script without spaces between words.
    """
    return _LAST_WORD.sub("", _OPEN_CITATION.sub("", text.rstrip()))


def join_continuation(partial_answer: str, pieces: Iterable[ReplyPiece]) -> Iterator[ReplyPiece]:
    """Yield the pieces that continue `partial_answer`, without repeated text and with a space where needed.

    The model may repeat the end of `partial_answer`, or all of it.
    """
    held: str | None = ""
    for piece in pieces:
        if held is None:
            yield piece
            continue
        held += piece.text
        repeats = partial_answer.startswith(held.strip())
        if piece.usage or (len(held.strip()) >= _MAX_REPEATED_CHARACTERS and not repeats):
            yield replace(piece, text=_align_continuation(partial_answer, held))
            held = None
        elif piece.thought:
            yield replace(piece, text="")


def _align_continuation(partial_answer: str, text: str) -> str:
    fresh = text.lstrip()
    if not fresh:
        return ""
    lengths = range(min(len(partial_answer), len(fresh)), _MIN_OVERLAP - 1, -1)
    if overlap := next((length for length in lengths if partial_answer.endswith(fresh[:length])), 0):
        return fresh[overlap:]
    if text != fresh:  # the model sent its own white space
        return text
    return f" {text}" if _needs_space(partial_answer[-1:], text[:1]) else text


def _needs_space(before: str, after: str) -> bool:
    if before.isspace() or _UNSPACED_CHARACTER.match(before) or _UNSPACED_CHARACTER.match(after):
        return False
    return bool(_WORD_CHARACTER.match(after)) or after in "([“\"'"


_MAX_EARLIER_QUESTIONS = 4
_REPLY_LABEL = lazy_regex(
    r"^\W*(?:(?:here (?:is|are) )?(?:the |your )?(?:rewritten|rephrased|improved|standalone|stand-alone|new|final)?\s*"
    r"(?:search )?(?:question|query|keywords)(?: are| is)?|(?:다시 쓴 |바꾼 |독립된 )?(?:질문|검색어|핵심어|키워드)"
    r"|(?:改[写寫][后後]的|[独獨]立的?|新的?|完整的?)?(?:[问問][题題]|[关關][键鍵][词詞]|搜索[词詞]|查[询詢]))\s*[:：]\s*",
    re.IGNORECASE,
)
_QUERY_SCHEMA = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}
_MAX_KEYWORDS = 3  # as in CRAG (arXiv 2401.15884, section 4.5)
_MAX_KEYWORD_WORDS = 6  # words; more of them are a sentence
_KEYWORD_SEPARATOR = lazy_regex(r"[,，、;；|\n]+")
_BULLET = lazy_regex(r"^\s*(?:[-*•]|\d+[.)])\s+")
_SURROUNDING_MARKS = " \t\"'`“”‘’«»「」*_"


class ModelWriter:
    """`Writer` over a chat model; `prompt` is the prompt file, which asks for citations if it is `answer`."""

    def __init__(self, model: ChatModel, prompt: str = "answer") -> None:
        self._model = model
        self._prompt = prompt

    def write(
        self,
        question: str,
        knowledge: Sequence[Knowledge],
        history: Sequence[Turn],
        stop: Cancellation,
        *,
        partial_answer: str = "",
    ) -> Iterator[PromptFit | ReplyPiece]:
        """Write the answer, as in `Writer`; continue from `partial_answer` if given."""
        model, partial_answer = self._model, trim_broken_word(partial_answer)
        fitted = fit_prompt(
            question,
            knowledge,
            history,
            window=model.window,
            answer_limit=model.answer_limit,
            count_tokens=model.count_tokens,
            partial_answer=partial_answer,
            prompt=self._prompt,
        )
        yield fitted.fit
        if partial_answer:
            yield ReplyPiece(partial_answer)
        written = model.stream(fitted.prompts, stop)
        yield from join_continuation(partial_answer, written) if partial_answer else written


class ModelRewriter:
    """`Rewriter` over a chat model. It sees only questions, so no document text can reach the web through it."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def condense(
        self,
        question: str,
        history: Sequence[Turn],
        find_passages: PassageFinder,  # noqa: ARG002 — the model may be hosted elsewhere
        stop: Cancellation,
    ) -> CondensedQuestion:
        """Let the model rewrite the question. Raises `ModelFault`, `Stopped`."""
        before = [turn.meant or turn.text for turn in history if turn.role == "user"]
        asked = [extract_query_line(text) for text in before[-_MAX_EARLIER_QUESTIONS:]]
        if not asked:
            return CondensedQuestion(question)
        earlier = "\n".join(f"- {earlier}" for earlier in asked)
        prompts = compose_prompt("condense", detect_language(question), question=question, history=earlier)
        condensed = extract_query_line(self._model.complete(prompts, stop).text)
        return CondensedQuestion(condensed if condensed and is_in_language_of(condensed, question) else question)

    def rewrite(self, question: str, options: RunOptions, stop: Cancellation) -> str:
        """Return a web query within `MAX_QUERY_LENGTH`, as `options.rewrite` says. Raises `ModelFault`, `Stopped`.

        An empty reply, or one in another language than the question, is replaced by the question itself.
        """
        if options.rewrite == "none":
            return extract_query_line(question)
        prompts = compose_prompt(f"rewrite_{options.rewrite}", detect_language(question), question=question)
        system = find_system(options)
        schema = _QUERY_SCHEMA if system and system.structured_query else None
        reply = self._model.complete(prompts, stop, schema=schema).text
        if schema:
            reply = str((find_json_object(reply) or {}).get("question") or reply)
        wanted = options.rewrite == "keywords"
        query = extract_query_line(", ".join(parse_keywords(reply)) if wanted else reply)
        if query and is_in_language_of(query, question):
            return query
        return extract_query_line(" ".join(pick_strongest_words(question)) if wanted else "") or extract_query_line(
            question
        )


def parse_keywords(reply: str) -> list[str]:
    """Return the first three keywords of a reply; none when it is a sentence."""
    parts = (_BULLET.sub("", part) for part in _KEYWORD_SEPARATOR.split(_REPLY_LABEL.sub("", _squeeze(reply))))
    found = list(dict.fromkeys(part for part in (part.strip(_SURROUNDING_MARKS + ".。") for part in parts) if part))
    if any(len(keyword.split()) > _MAX_KEYWORD_WORDS for keyword in found[:_MAX_KEYWORDS]):
        return []
    return found[:_MAX_KEYWORDS]


def _squeeze(reply: str) -> str:
    """Return the lines that are not empty, with single spaces: `_REPLY_LABEL` takes quadratic time on many."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in reply.splitlines())))


def extract_query_line(text: str) -> str:
    """Return the first line with words, without label and quotation marks, cut between words at `MAX_QUERY_LENGTH`."""
    lines = (_REPLY_LABEL.sub("", line).strip(_SURROUNDING_MARKS) for line in _squeeze(text).splitlines())
    line = " ".join(next((line for line in lines if line), "").split())
    if len(line) <= MAX_QUERY_LENGTH:
        return line
    cut = line[:MAX_QUERY_LENGTH]
    return cut.rpartition(" ")[0] or cut


_CODE_BLOCK = lazy_regex(r"```(?:sql|duckdb)?\s*(.+?)```", re.DOTALL | re.IGNORECASE)
_STATEMENT = lazy_regex(r"\b(?:select|with)\b.*", re.DOTALL | re.IGNORECASE)


class ModelQueryWriter:
    """`QueryWriter` over a chat model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def write_query(
        self, question: str, schema: str, stop: Cancellation, *, refused: str = "", reason: str = ""
    ) -> str:
        """See `QueryWriter`."""
        repair = f"This query failed: {refused}\nReason: {reason}\nWrite a corrected one." if refused else ""
        prompts = compose_prompt("table_query", question=question, schema=schema, refused=repair)
        reply = strip_thoughts(self._model.complete(prompts, stop).text)
        block = _CODE_BLOCK.search(reply)
        written = block[1] if block else reply
        statement = _STATEMENT.search(written)
        return (statement[0] if statement else written).strip().rstrip(";")
