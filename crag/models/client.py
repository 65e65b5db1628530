"""One chat model for every provider: a LangChain model, made stoppable, retried, and honest about how it ended."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from crag.errors import CragError, ModelFault, Stopped
from crag.models.departures import Route
from crag.models.faults import question_too_long
from crag.models.following import follow
from crag.models.logprobs import read_alternatives
from crag.models.thinking import without_thinking
from crag.models.tokens import count_tokens
from crag.protocols import FirstToken, Piece, Prompt, Reply
from crag.stopping import Stop
from crag.types import Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk

ATTEMPTS = 3
# Of our count, which is an upper estimate, tokenizers make at least this share. cl100k makes 0.9 of English and Chinese
# and 0.7 of Korean; larger vocabularies make less. A server that cuts keeps about half of its window (Ollama 0.30.11).
LEAST_SHARE = 0.4
_NEARLY_FULL = 0.95
_SAME_AS_LENGTH = ("max_tokens", "MAX_TOKENS")

Schema = dict[str, Any]
Chunks = Generator["AIMessageChunk", None, None]
Constrain = Callable[[list[Prompt], Schema], tuple[list[Prompt], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Traits:
    """What differs between providers. `marks_end`: each whole reply ends with a mark whose absence means cut off.

    `route` is where prompts go: those that leave the machine are written down first.
    `one_token` are the options that ask for one token and its alternatives; empty where no such are known.
    """

    name: str
    fingerprint: str
    window: int
    answer_limit: int
    concurrency: int
    marks_end: bool
    constrain: Constrain
    translate: Callable[[Exception], ModelFault]
    route: Route
    one_token: Mapping[str, Any] = field(default_factory=dict)


class LangChainChatModel:
    """The project's `ChatModel` over any LangChain chat model.

    `Usage.finish_reason` is the provider's, with these of our own: `length` (the answer hit its limit), `incomplete`
    (the stream ended without its end mark). A prompt that no tokenizer could fit into the window is not sent.
    Every request to a model on another machine is written down first; where that fails, `HomeFault` is raised.
    """

    def __init__(self, chat: BaseChatModel, traits: Traits) -> None:
        self._chat = chat
        self._traits = traits
        self._one_token = traits.one_token

    @property
    def name(self) -> str:
        """As in the settings, such as `ollama:llama3.1:8b`."""
        return self._traits.name

    @property
    def fingerprint(self) -> str:
        """Name and digest: equal exactly when the same weights answer."""
        return self._traits.fingerprint

    @property
    def host(self) -> str:
        """Where prompts go; empty when the model runs on this machine."""
        return self._traits.route.host

    @property
    def window(self) -> int:
        """Size of the context window in tokens."""
        return self._traits.window

    @property
    def answer_limit(self) -> int:
        """How many tokens an answer may have; the prompt may use `window - answer_limit`."""
        return self._traits.answer_limit

    @property
    def concurrency(self) -> int:
        """How many requests are worth sending at once."""
        return self._traits.concurrency

    def count_tokens(self, text: str) -> int:
        """An upper estimate of the tokens in `text`."""
        return count_tokens(text)

    def complete(self, prompts: Sequence[Prompt], stop: Stop, *, schema: Schema | None = None) -> Reply:
        """A whole reply, constrained to a JSON schema when one is given. Raises `ModelFault`, `Stopped`."""
        pieces = list(self._pieces(list(prompts), stop, schema))
        usage = next((piece.usage for piece in reversed(pieces) if piece.usage), Usage())
        return Reply("".join(piece.text for piece in pieces), usage)

    def first_token(self, prompts: Sequence[Prompt], stop: Stop) -> FirstToken:
        """The first token with its alternatives, or what is said without them. Raises `ModelFault`, `Stopped`."""
        try:
            return self._asked_for_one(list(prompts), stop, dict(self._one_token))
        except ModelFault as fault:
            if fault.code != "refused" or not self._one_token:
                raise
        said = self._asked_for_one(list(prompts), stop, {})
        self._one_token = {}  # it was the options that this model does not take
        return said

    def stream(self, prompts: Sequence[Prompt], stop: Stop) -> Iterator[Piece]:
        """The reply as it is made; the last piece is empty and carries the usage. Raises `ModelFault`, `Stopped`."""
        return self._pieces(list(prompts), stop, None)

    def _pieces(self, prompts: list[Prompt], stop: Stop, schema: Schema | None) -> Iterator[Piece]:
        options: dict[str, Any] = {}
        if schema is not None:
            prompts, options = self._traits.constrain(prompts, schema)
        ending = _Ending(prompts, self._traits)
        with closing(self._begun(prompts, stop, options)) as chunks:
            for text in without_thinking(ending.watch(chunks)):
                yield Piece(_storable(text))
        yield Piece("", ending.usage())

    def _asked_for_one(self, prompts: list[Prompt], stop: Stop, options: dict[str, Any]) -> FirstToken:
        ending = _Ending(prompts, self._traits)
        with closing(self._begun(prompts, stop, options)) as chunks:
            text = "".join(without_thinking(ending.watch(chunks)))
        return FirstToken(_storable(text), ending.alternatives, ending.usage())

    def _begun(self, prompts: list[Prompt], stop: Stop, options: dict[str, Any]) -> Chunks:
        """The chunks of a reply. Passing faults are tried again, but only before the first chunk."""
        from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

        attempts = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_random_exponential(multiplier=0.3, max=3),
            retry=retry_if_exception(lambda error: isinstance(error, ModelFault) and error.fault == "passing"),
            sleep=cast("Callable[[float], None]", stop.wait),
            reraise=True,
        )
        first, rest = attempts(self._first, prompts, stop, options)
        with closing(rest):
            yield from chain(first, rest)

    def _first(self, prompts: list[Prompt], stop: Stop, options: dict[str, Any]) -> tuple[list[AIMessageChunk], Chunks]:
        chunks = self._chunks(prompts, stop, options)
        return [chunk for chunk in [next(chunks, None)] if chunk is not None], chunks

    def _chunks(self, prompts: list[Prompt], stop: Stop, options: dict[str, Any]) -> Chunks:
        messages = [(prompt.role, prompt.text) for prompt in prompts]
        self._traits.route.record_prompts(prompts)
        try:
            yield from follow(lambda: self._chat.stream(messages, **options), stop)
        except (CragError, Stopped):
            raise
        except Exception as error:
            raise self._traits.translate(error) from error


class _Ending:
    """Notes, while a reply passes by, what the provider says about its end. `ModelFault` for too long a prompt."""

    def __init__(self, prompts: Sequence[Prompt], traits: Traits) -> None:
        self._words = sum(len(prompt.text.split()) for prompt in prompts)
        self._expected = sum(count_tokens(prompt.text) for prompt in prompts)
        self._window = traits.window
        self._marks_end = traits.marks_end
        self._said: dict[str, Any] = {}
        self._prompt_tokens: int | None = None
        self._answer_tokens: int | None = None
        self.alternatives: dict[str, float] = {}
        if self._expected * LEAST_SHARE > self._window:
            raise question_too_long(self._expected, self._window)

    def watch(self, chunks: Iterator[AIMessageChunk]) -> Iterator[str]:
        for chunk in chunks:
            self._said |= chunk.response_metadata
            self.alternatives = self.alternatives or read_alternatives(chunk.response_metadata.get("logprobs"))
            if counted := chunk.usage_metadata:
                self._prompt_tokens = counted["input_tokens"] or self._prompt_tokens
                self._answer_tokens = counted["output_tokens"] or self._answer_tokens
            yield str(chunk.text)

    def usage(self) -> Usage:
        return Usage(self._prompt_tokens, self._answer_tokens, self._reason(), self._prompt_cut())

    def _reason(self) -> str | None:
        said = self._said
        reason = said.get("done_reason") or said.get("finish_reason") or said.get("stop_reason")
        if self._marks_end and not said.get("done"):
            return "incomplete"
        return "length" if reason in _SAME_AS_LENGTH else reason

    def _prompt_cut(self) -> bool:
        """Whether the server read nearly its whole window, or fewer tokens than any tokenizer makes of the prompt.

        Each word is a token at least; that says little of Chinese and Korean, where our count does.
        """
        seen = self._prompt_tokens
        if seen is None:
            return False
        return seen >= _NEARLY_FULL * self._window or seen < max(self._words, LEAST_SHARE * self._expected)


def _storable(text: str) -> str:
    """The text without half surrogates: JSON can hold them, no database can."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
