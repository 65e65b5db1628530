"""Reads a streamed reply: text, thoughts, usage, and a reliable finish reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from crag.models.client.logprobs import read_alternatives
from crag.models.client.runaway import Runaway, RunawayGuard
from crag.models.client.sending import Traits
from crag.models.client.thinking import ThoughtSplitter
from crag.models.faults import question_too_long
from crag.models.tokens import count_tokens
from crag.protocols import Piece, Prompt
from crag.types import Usage

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk

# Tokenizers yield at least this share of our count, an upper estimate. cl100k yields 0.9 for English and Chinese
# and 0.7 for Korean; larger vocabularies yield less. A truncating server keeps about half its window (Ollama 0.30.11).
LEAST_SHARE = 0.4
_NEARLY_FULL = 0.95
_SAME_AS_LENGTH = ("max_tokens", "MAX_TOKENS")


class Reading:
    """Reader of one reply. Raises `ModelFault` for a prompt that fits the window under no tokenizer."""

    def __init__(self, prompts: Sequence[Prompt], traits: Traits, answer_limit: int) -> None:
        """`answer_limit` is the maximum number of tokens requested."""
        self._words = sum(len(prompt.text.split()) for prompt in prompts)
        self._expected = sum(count_tokens(prompt.text) for prompt in prompts)
        self._traits = traits
        self._said: dict[str, Any] = {}
        self._prompt_tokens: int | None = None
        self._answer_tokens: int | None = None
        self._splitter = ThoughtSplitter()
        self._guard, self._thought_guard = RunawayGuard(answer_limit), RunawayGuard(answer_limit)
        self._runaway: Runaway | None = None
        self._written = self._thought = 0  # characters
        self.alternatives: dict[str, float] = {}
        if self._expected * LEAST_SHARE > traits.window:
            raise question_too_long(self._expected, traits.window)

    def pieces(self, chunks: Iterator[AIMessageChunk]) -> Iterator[Piece]:
        """Yield the reply until it ends or runs away; the last piece carries the usage."""
        for chunk in chunks:
            self._note(chunk)
            content, thought = str(chunk.text), str(chunk.additional_kwargs.get("reasoning_content") or "")
            text, thought_in_text = self._splitter.split(content)
            yield from self._told(text, thought + thought_in_text)
            self._runaway = self._guard.read(content)
            if not self._runaway and (astray := self._thought_guard.read(thought)):
                self._runaway = Runaway(astray.reason)  # the runaway is in the thoughts; the text repeats nothing
            if self._runaway:
                break
        yield from self._told(*self._splitter.rest())
        if self._ended_without_mark and not self._runaway:
            self._runaway = self._guard.read_end()
        repeated = min(self._runaway.repeated, self._written) if self._runaway else 0
        yield Piece("", self._usage(), repeated=repeated)

    def _note(self, chunk: AIMessageChunk) -> None:
        self._said |= chunk.response_metadata
        self.alternatives = self.alternatives or read_alternatives(chunk.response_metadata.get("logprobs"))
        if counted := chunk.usage_metadata:
            self._prompt_tokens = counted["input_tokens"] or self._prompt_tokens
            self._answer_tokens = counted["output_tokens"] or self._answer_tokens

    def _told(self, text: str, thought: str) -> Iterator[Piece]:
        self._written += len(text)
        self._thought += len(thought.strip())
        told = thought if self._traits.tells_thoughts else ""
        if text or told:
            yield Piece(_storable(text), thought=_storable(told))

    def _usage(self) -> Usage:
        return Usage(self._prompt_tokens, self._answer_tokens, self._reason(), self._prompt_cut())

    @property
    def _ended_without_mark(self) -> bool:
        return self._traits.marks_end and not self._said.get("done")

    def _reason(self) -> str | None:
        if self._runaway:
            return self._runaway.reason
        if self._ended_without_mark:
            return "incomplete"
        if self._thought and not self._written:
            return "thought"
        said = self._said
        reason = said.get("done_reason") or said.get("finish_reason") or said.get("stop_reason")
        return "length" if reason in _SAME_AS_LENGTH else reason

    def _prompt_cut(self) -> bool:
        """Return whether the server truncated the prompt.

        It did if it read nearly its whole window, or fewer tokens than any tokenizer yields for the prompt. Each word
        is at least one token. That bound is weak for Chinese and Korean, where our own count applies.
        """
        seen = self._prompt_tokens
        if seen is None:
            return False
        return seen >= _NEARLY_FULL * self._traits.window or seen < max(self._words, LEAST_SHARE * self._expected)


def _storable(text: str) -> str:
    """Replace lone surrogates: JSON can hold them, a database cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
