"""Reader of a streamed reply: text, thinking, log-probabilities and runaway detection."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from crag.errors import ModelFault
from crag.models.destinations import ModelTraits
from crag.models.token_counts import count_tokens, replace_surrogates
from crag.protocols import ReplyPiece
from crag.types import Prompt, Usage

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk


def parse_alternatives(reported: Any) -> list[dict[str, float]]:
    """Return, for each token, every candidate with its natural log-probability, the chosen one first.

    Empty if none are reported. Ollama sends a list of objects (`ollama.Logprob`), OpenAI a mapping whose `content`
    lists mappings. Both name the chosen token and, in `top_logprobs`, the likeliest ones, which need not include it.
    """
    entries = reported.get("content") if isinstance(reported, dict) else reported
    read = map(_read_candidates, entries if isinstance(entries, list) else [])
    return [candidates for candidates in read if candidates]


def _read_candidates(chosen: Any) -> dict[str, float]:
    likeliest = _field(chosen, "top_logprobs")
    found = [chosen, *(likeliest if isinstance(likeliest, list) else [])]
    pairs = [(_field(entry, "token"), _field(entry, "logprob")) for entry in found]
    return {token: value for token, value in pairs if isinstance(token, str) and _is_log_probability(value)}


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, dict) else getattr(entry, name, None)


def _is_log_probability(value: Any) -> bool:
    """Return whether the value is a log-probability: no NaN, no integer beyond the float range (JSON allows both)."""
    return isinstance(value, float | int) and (value == -math.inf or -sys.float_info.max <= value <= 0)


# A text loops when its tail of one of these lengths consists of a unit repeated at least eight times.
_TAIL_LENGTHS = (400, 800, 1600, 3200, 6400, 12_800)
_MIN_REPETITIONS = 8
_CHECKS_PER_TAIL = 4  # checks per tail length of new text
# Ollama ends a stream after more than 30 equal tokens, without a notice.
_MIN_EQUAL_TOKENS = 30
# A piece is at least one token, and a token of prose is much shorter than 16 characters.
_PIECE_TOLERANCE, _EXTRA_PIECES, _MAX_TOKEN_CHARACTERS = 1.25, 16, 16
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")


@dataclass(frozen=True, slots=True)
class Runaway:
    """Why a reply was ended. `repeated` is the number of characters at its end that only repeat earlier text."""

    reason: Literal["repetition", "length"]
    repeated: int = 0


class RunawayGuard:
    """Runaway detector for a streamed reply; its cost per piece does not grow with the reply."""

    def __init__(self, answer_limit: int) -> None:
        """`answer_limit` is the maximum number of tokens requested."""
        self._most_pieces = answer_limit * _PIECE_TOLERANCE + _EXTRA_PIECES
        self._most_characters = answer_limit * _MAX_TOKEN_CHARACTERS + max(_TAIL_LENGTHS)
        self._pieces = self._characters = 0
        self._tail = ""
        self._new: list[str] = []
        self._last_checks = dict.fromkeys(_TAIL_LENGTHS, 0)
        self._next_check = _TAIL_LENGTHS[0]
        self._last, self._equal = "", 0  # the last piece and the length of the run of equal pieces

    def read(self, piece: str) -> Runaway | None:
        """Take in a piece and return the problem found, if any."""
        if not piece:
            return None
        self._pieces += 1
        self._characters += len(piece)
        self._new.append(piece)
        self._equal = self._equal + 1 if piece.strip() == self._last.strip() else 1
        self._last = piece
        if self._characters >= self._next_check and (repeated := self._find_repetition()):
            return Runaway("repetition", repeated)
        if self._pieces > self._most_pieces or self._characters > self._most_characters:
            return Runaway("length")
        return None

    def check_end(self) -> Runaway | None:
        """Return whether a reply without end mark was ended by the server for repeating one token."""
        if self._equal < _MIN_EQUAL_TOKENS:
            return None
        return Runaway("repetition", _count_repeated(self._tail + "".join(self._new), len(self._last)))

    def _find_repetition(self) -> int:
        self._tail = (self._tail + "".join(self._new))[-2 * _TAIL_LENGTHS[-1] :]
        self._new.clear()
        for stretch in _TAIL_LENGTHS:
            due = self._last_checks[stretch] + stretch // _CHECKS_PER_TAIL
            if self._characters >= max(stretch, due):
                self._last_checks[stretch] = self._characters
                if unit := find_repeated_unit(self._tail[-stretch:]):
                    return _count_repeated(self._tail, unit)
        self._next_check = self._characters + _TAIL_LENGTHS[0] // _CHECKS_PER_TAIL
        return 0


def find_repeated_unit(text: str) -> int:
    """Return the length of the unit that `text` repeats at least eight times; 0 for none.

    The last repetition may be incomplete. An end as long as two of the longest units recurs after a multiple of the
    smallest unit, and first after that unit itself (Fine and Wilf, 1965). Searching backwards finds it in linear time.
    """
    backwards = text[::-1]
    end = backwards[: 2 * len(text) // _MIN_REPETITIONS]
    unit = backwards.find(end, 1)
    if 0 < unit <= len(text) // _MIN_REPETITIONS and text[unit:] == text[:-unit]:
        return unit
    return 0


def _count_repeated(text: str, unit: int) -> int:
    """Return how many characters at the end of `text` follow the first unit and the sentence that ends it.

    The text before the first unit may end like the unit, so the first unit may seem to begin too early.
    """
    count = 0
    while count + unit < len(text) and text[-1 - count] == text[-1 - count - unit]:
        count += 1
    kept = text[: len(text) - count]
    if _SENTENCE_END.match(f"{kept.rstrip(' ')[-1:]} "):
        return count
    end = _SENTENCE_END.search(text, len(kept), len(kept) + unit)
    return count - (end.end() - len(kept)) if end else count


_THINK_OPEN, _THINK_CLOSE = "<think>", "</think>"


class ThoughtSplitter:
    """Incremental parser for replies with a leading `<think>…</think>`; later tags are part of the text.

    It drops white space before the text, and a leading `</think>`, which ends a thought that was sent separately.
    """

    def __init__(self) -> None:
        self._held = ""
        self._reading: Literal["beginning", "thought", "text"] = "beginning"

    def split(self, piece: str) -> tuple[str, str]:
        """Return the (text, thought) that is certain so far, from this piece and what was held back."""
        if self._reading == "text":
            return piece, ""
        self._held += piece
        return self._think() if self._reading == "thought" else self._begin()

    def flush(self) -> tuple[str, str]:
        """Return the held-back remainder as (text, thought) at the end of the reply."""
        if self._reading == "thought":
            return "", self._held
        return self._held.lstrip() if self._reading == "beginning" else "", ""

    def _begin(self) -> tuple[str, str]:
        start = self._held.lstrip()
        if start.startswith(_THINK_OPEN):
            self._reading, self._held = "thought", start.removeprefix(_THINK_OPEN)
            return self._think()
        if start.startswith(_THINK_CLOSE):
            self._held = start.removeprefix(_THINK_CLOSE)
            return self._begin()
        if _THINK_OPEN.startswith(start) or _THINK_CLOSE.startswith(start):
            return "", ""
        self._reading = "text"
        return start, ""

    def _think(self) -> tuple[str, str]:
        thought, closed, after = self._held.partition(_THINK_CLOSE)
        if closed:
            self._reading, self._held = "beginning", after
            text, more = self._begin()
            return text, thought + more
        kept = next((n for n in range(len(_THINK_CLOSE) - 1, 0, -1) if thought.endswith(_THINK_CLOSE[:n])), 0)
        self._held = thought[len(thought) - kept :]
        return "", thought[: len(thought) - kept]


# Tokenizers yield at least this share of our count, an upper estimate. cl100k yields 0.9 for English and Chinese
# and 0.7 for Korean; larger vocabularies yield less. A truncating server keeps about half its window (Ollama 0.30.11).
MIN_TOKEN_SHARE = 0.4
_LENGTH_REASONS = ("max_tokens", "MAX_TOKENS")


class UsageCounter:
    """Counts the tokens of a prompt and its reply.

    `reported` are the server's counts. It sends none for a reply that ended early: then the prompt is estimated
    (`expected`), and each piece of the reply counts as a token.
    """

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self.expected = sum(count_tokens(prompt.text) for prompt in prompts)
        self.reported: tuple[int | None, int | None] = None, None
        self._pieces = 0

    def read(self, chunk: AIMessageChunk) -> None:
        """Take in a piece of the reply."""
        self._pieces += bool(chunk.text or chunk.additional_kwargs.get("reasoning_content"))
        if usage := chunk.usage_metadata:
            prompt, answer = self.reported
            self.reported = usage["input_tokens"] or prompt, usage["output_tokens"] or answer

    @property
    def counted(self) -> tuple[int | None, int | None]:
        """Tokens of prompt and reply; None if nothing is known."""
        return (self.expected, self._pieces) if self._pieces and self.reported == (None, None) else self.reported


class ReplyReader:
    """Reader of one reply. Raises `ModelFault` for a prompt that fits the window under no tokenizer."""

    def __init__(self, prompts: Sequence[Prompt], traits: ModelTraits, answer_limit: int) -> None:
        """`answer_limit` is the maximum number of tokens requested."""
        self._words = sum(len(prompt.text.split()) for prompt in prompts)
        self._counter = UsageCounter(prompts)
        self._traits = traits
        self._said: dict[str, Any] = {}
        self._splitter = ThoughtSplitter()
        self._guard, self._thought_guard = RunawayGuard(answer_limit), RunawayGuard(answer_limit)
        self._runaway: Runaway | None = None
        self._written = self._thought = 0  # characters
        self.alternatives: list[dict[str, float]] = []  # one entry per token
        expected = self._counter.expected
        if expected * MIN_TOKEN_SHARE > traits.window:
            raise ModelFault.make("model.question_too_long", tokens=expected, room=traits.window)

    def pieces(self, chunks: Iterator[AIMessageChunk]) -> Iterator[ReplyPiece]:
        """Yield the reply until it ends or runs away; the last piece carries the usage."""
        for chunk in chunks:
            self._note(chunk)
            content, thought = str(chunk.text), str(chunk.additional_kwargs.get("reasoning_content") or "")
            text, thought_in_text = self._splitter.split(content)
            yield from self._emit_piece(text, thought + thought_in_text)
            self._runaway = self._guard.read(content)
            if not self._runaway and (astray := self._thought_guard.read(thought)):
                self._runaway = Runaway(astray.reason)  # the runaway is in the thoughts; the text repeats nothing
            if self._runaway:
                break
        yield from self._emit_piece(*self._splitter.flush())
        if self._ended_without_mark and not self._runaway:
            self._runaway = self._guard.check_end()
        repeated = min(self._runaway.repeated, self._written) if self._runaway else 0
        yield ReplyPiece("", self._usage(), repeated=repeated)

    def _note(self, chunk: AIMessageChunk) -> None:
        self._said |= chunk.response_metadata
        self.alternatives += parse_alternatives(chunk.response_metadata.get("logprobs"))
        self._counter.read(chunk)

    def _emit_piece(self, text: str, thought: str) -> Iterator[ReplyPiece]:
        self._written += len(text)
        self._thought += len(thought.strip())
        shown_thought = thought if self._traits.streams_thoughts else ""
        if text or shown_thought:
            yield ReplyPiece(replace_surrogates(text), thought=replace_surrogates(shown_thought))

    def _usage(self) -> Usage:
        return Usage(*self._counter.counted, self._reason(), self._prompt_cut())

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
        metadata = self._said
        reason = metadata.get("done_reason") or metadata.get("finish_reason") or metadata.get("stop_reason")
        return "length" if reason in _LENGTH_REASONS else reason

    def _prompt_cut(self) -> bool:
        """Return whether the server truncated the prompt.

        It did if it filled its window, or read fewer tokens than any tokenizer yields for the prompt. Each word is at
        least one token. That bound is weak for Chinese and Korean, where our own count applies.
        """
        seen, _ = self._counter.reported
        if seen is None:
            return False
        return seen >= self._traits.window or seen < max(self._words, MIN_TOKEN_SHARE * self._counter.expected)
