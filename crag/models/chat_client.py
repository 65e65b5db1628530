"""Chat client over LangChain models: queueing, retries, recording and cancellation."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from crag.cancellation import Cancellation, Wait, WaitKind, run_cancellable
from crag.errors import CragError, ModelFault, Stopped
from crag.models.destinations import JsonSchema, ModelRoute, ModelTraits
from crag.models.faults import partial_answer_fault
from crag.models.reply_reader import ReplyReader, UsageCounter
from crag.models.token_counts import count_tokens
from crag.prompts import find_json_object
from crag.protocols import Reply, ReplyPiece, TokenChoice
from crag.types import ModelCall, Prompt, Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk
    from tenacity import RetryCallState


CALL_STOPPED = "Stopped."
CALL_ABANDONED = "Not read to its end."


def record_stream(
    chunks: Generator[AIMessageChunk, None, None], model: str, prompts: Sequence[Prompt], stop: Cancellation
) -> Generator[AIMessageChunk, None, None]:
    """Yield the same chunks; notify listeners of the call once reading ends, for whatever reason."""
    began, read, fault = time.monotonic(), list["AIMessageChunk"](), ""
    try:
        with closing(chunks):
            for chunk in chunks:
                read.append(chunk)
                yield chunk
    except Stopped:
        fault = CALL_STOPPED
        raise
    except GeneratorExit:
        fault = CALL_STOPPED if stop.wait(0) else CALL_ABANDONED
        raise
    except CragError as error:
        fault = error.message
        raise
    finally:
        stop.record_model_call(_build_model_call(read, model, prompts, began, fault))


def _build_model_call(
    read: Iterable[AIMessageChunk], model: str, prompts: Sequence[Prompt], began: float, fault: str
) -> ModelCall:
    counter = UsageCounter(prompts)
    for chunk in read:
        counter.read(chunk)
    prompt_tokens, answer_tokens = counter.counted
    return ModelCall(
        node="",
        model=model,
        at=began,
        seconds=time.monotonic() - began,
        prompts=tuple(prompts),
        reply="".join(str(chunk.text) for chunk in read),
        thought="".join(str(chunk.additional_kwargs.get("reasoning_content") or "") for chunk in read),
        prompt_tokens=prompt_tokens,
        answer_tokens=answer_tokens,
        fault=fault,
    )


MAX_ATTEMPTS = 3
# A busy server recovers later: the retries give it about ten seconds.
MAX_ATTEMPTS_WHEN_BUSY = 6
# Half of each pause is random, so that requests refused together are not retried together.
FIRST_HALF_PAUSE, LONGEST_HALF_PAUSE = 0.15, 2.5
ReplyChunks = Generator["AIMessageChunk", None, None]


@dataclass(frozen=True, slots=True)
class ChatServer:
    """The model at one server: `route` is where its prompts go; those that leave the machine are recorded first."""

    chat: BaseChatModel
    route: ModelRoute
    translate: Callable[[Exception], ModelFault]


# Calls a function with the server to ask, and with another one if that fails before its first chunk.
ChooseServer = Callable[[Callable[[ChatServer], ReplyChunks]], ReplyChunks]


class RequestSender:
    """Request sender for one model, which several servers may have."""

    def __init__(self, choose_server: ChooseServer, traits: ModelTraits) -> None:
        self._choose_server = choose_server
        self._traits = traits

    def send(self, prompts: list[Prompt], stop: Cancellation, options: Mapping[str, Any]) -> ReplyChunks:
        """Yield the chunks of a reply. Passing faults are retried, but only before the first chunk.

        Raises `ModelFault`, `Stopped`, and `HomeFault` if an outbound request cannot be recorded.
        """
        stop.begin_external_call()
        with self._traits.queue.take_turn(stop, lambda: self._traits.concurrency):
            first, rest = self._begin(prompts, stop, options)
            with closing(rest):
                yield from chain(first, rest)

    def _begin(
        self, prompts: list[Prompt], stop: Cancellation, options: Mapping[str, Any]
    ) -> tuple[list[AIMessageChunk], ReplyChunks]:
        from tenacity import Retrying, retry_if_exception, wait_exponential, wait_random_exponential

        since = time.monotonic()

        def pause(seconds: float) -> None:
            with self._report_wait(stop, "retrying", since, attempts.statistics["attempt_number"]):
                stop.wait(seconds)

        half = {"multiplier": FIRST_HALF_PAUSE, "max": LONGEST_HALF_PAUSE}
        attempts = Retrying(
            stop=_attempts_exhausted,
            wait=wait_exponential(**half) + wait_random_exponential(**half),
            retry=retry_if_exception(lambda error: isinstance(error, ModelFault) and error.fault == "passing"),
            sleep=pause,
            reraise=True,
        )
        return attempts(self._first, prompts, stop, options)

    def _first(
        self, prompts: list[Prompt], stop: Cancellation, options: Mapping[str, Any]
    ) -> tuple[list[AIMessageChunk], ReplyChunks]:
        chunks = self._choose_server(lambda server: self._chunks(server, prompts, stop, options))
        with self._report_wait(stop, "answering", time.monotonic()):
            return [chunk for chunk in [next(chunks, None)] if chunk is not None], chunks

    def _chunks(
        self, server: ChatServer, prompts: list[Prompt], stop: Cancellation, options: Mapping[str, Any]
    ) -> ReplyChunks:
        server.route.record_prompts(prompts)
        chunks = _request_chunks(server, prompts, stop, options)
        return record_stream(chunks, self._traits.name, prompts, stop)

    def _report_wait(
        self, stop: Cancellation, kind: WaitKind, since: float, attempt: int = 0
    ) -> AbstractContextManager[None]:
        wait = Wait(kind, self._traits.name, since, attempt=attempt)
        return stop.report_wait(lambda: wait)


def _request_chunks(
    server: ChatServer, prompts: list[Prompt], stop: Cancellation, options: Mapping[str, Any]
) -> ReplyChunks:
    messages = [(prompt.role, prompt.text) for prompt in prompts]
    try:
        yield from run_cancellable(lambda: server.chat.stream(messages, **options), stop)
    except (CragError, Stopped):
        raise
    except Exception as error:
        raise server.translate(error) from error


def _attempts_exhausted(state: RetryCallState) -> bool:
    fault = state.outcome.exception() if state.outcome else None
    busy = isinstance(fault, ModelFault) and fault.code == "busy"
    return state.attempt_number >= (MAX_ATTEMPTS_WHEN_BUSY if busy else MAX_ATTEMPTS)


_JSON_CHARACTERS = ' \n"{}:'
Alternatives = list[dict[str, float]]


class LangChainChatModel:
    """The project's `ChatModel` over any LangChain chat model.

    `Usage.finish_reason` is the provider's, plus four of our own: `length` (the answer reached its limit, or far
    exceeded it and was ended), `incomplete` (the stream ended without its end mark), `repetition` (the answer repeated
    itself and was ended), `thought` (the model thought but wrote nothing). A prompt that fits the window under no
    tokenizer is not sent. Every request to a model on another machine is recorded first; `HomeFault` is raised if that
    fails.
    """

    def __init__(self, choose_server: ChooseServer, traits: ModelTraits) -> None:
        self._sender = RequestSender(choose_server, traits)
        self._traits = traits
        self._logprob_options = traits.logprob_options

    @property
    def name(self) -> str:
        """Name as in the settings, such as `ollama:llama3.1:8b`."""
        return self._traits.name

    @property
    def fingerprint(self) -> str:
        """Name and digest: equal if and only if the weights are the same."""
        return self._traits.fingerprint

    @property
    def host(self) -> str:
        """Destination of the prompts; empty when the model runs on this machine."""
        return self._traits.host

    @property
    def window(self) -> int:
        """Size of the context window in tokens."""
        return self._traits.window

    @property
    def answer_limit(self) -> int:
        """Token limit of an answer, thoughts included; the prompt may use `window - answer_limit`."""
        return self._traits.answer_limit

    @property
    def concurrency(self) -> int:
        """Number of requests worth sending in parallel."""
        return self._traits.concurrency

    def count_tokens(self, text: str) -> int:
        """Return an upper estimate of the tokens in `text`."""
        return count_tokens(text)

    def complete(self, prompts: Sequence[Prompt], stop: Cancellation, *, schema: JsonSchema | None = None) -> Reply:
        """Return a whole brief reply without thinking, constrained to a JSON schema if one is given.

        Raises `ModelFault`, `Stopped`.
        """
        constrained, options = list(prompts), dict[str, Any]()
        if schema is not None:
            constrained, options = self._traits.constrain(constrained, schema)
        return self._request_reply(constrained, stop, {**self._traits.brief_options, **options})[0]

    def first_token(self, prompts: Sequence[Prompt], stop: Cancellation) -> TokenChoice:
        """Return the first token with its alternatives, or the reply if they are not supported.

        Raises `ModelFault`, `Stopped`.
        """
        reply, tokens = self._request_with_alternatives(list(prompts), stop, {}, self._traits.one_token_options)
        return TokenChoice(reply.text, next(iter(tokens), {}), reply.usage)

    def choose_word(self, prompts: Sequence[Prompt], words: Sequence[str], stop: Cancellation) -> TokenChoice:
        """Make the model reply with one of the words, with the alternatives at its token if they are known.

        The text is a JSON object with the word as its `verdict`. Raises `ModelFault`, `Stopped`.
        """
        verdict = {"type": "string", "enum": list(words)}
        schema = {"type": "object", "properties": {"verdict": verdict}, "required": ["verdict"]}
        constrained, options = self._traits.constrain(list(prompts), schema)
        options = {**self._traits.brief_options, **options}
        reply, tokens = self._request_with_alternatives(constrained, stop, options)
        word = (find_json_object(reply.text) or {}).get("verdict")
        chosen = (token for token in reversed(tokens) if next(iter(token)).strip(_JSON_CHARACTERS) == word)
        return TokenChoice(reply.text, next(chosen, {}), reply.usage)

    def stream(self, prompts: Sequence[Prompt], stop: Cancellation) -> Iterator[ReplyPiece]:
        """Yield the reply as it is generated, thinking first where enabled.

        The last piece is empty and carries the usage. Raises `ModelFault`, which is *partial* if some text was
        received, and `Stopped`.
        """
        written, asked = False, list(prompts)
        reading = ReplyReader(asked, self._traits, self._traits.answer_limit)
        with closing(self._sender.send(asked, stop, self._traits.thinking_options)) as chunks:
            try:
                for piece in reading.pieces(chunks):
                    yield piece
                    written = written or bool(piece.text)
            except ModelFault as fault:
                raise partial_answer_fault(fault) if written else fault from fault.__cause__

    def _request_with_alternatives(
        self,
        prompts: list[Prompt],
        stop: Cancellation,
        options: Mapping[str, Any],
        token_limit: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[Reply, Alternatives]:
        """Return a reply and the alternatives of its tokens; without both, and unlimited, if they are not supported."""
        if self._logprob_options:
            try:
                return self._request_reply(prompts, stop, {**options, **token_limit, **self._logprob_options})
            except ModelFault as fault:
                if fault.code != "refused":
                    raise
        reply = self._request_reply(prompts, stop, options)
        self._logprob_options = {}  # the model does not support the options
        return reply

    def _request_reply(
        self, prompts: list[Prompt], stop: Cancellation, options: Mapping[str, Any]
    ) -> tuple[Reply, Alternatives]:
        reading = ReplyReader(prompts, self._traits, self._traits.answer_limit)
        with closing(self._sender.send(prompts, stop, options)) as chunks:
            pieces = list(reading.pieces(chunks))
        text, last = "".join(piece.text for piece in pieces), pieces[-1]
        return Reply(text[: len(text) - last.repeated], last.usage or Usage()), reading.alternatives
