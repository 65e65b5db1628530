"""Chat model for every provider: a LangChain model with cancellation, retries and reliable finish reasons."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from crag.errors import ModelFault
from crag.models.client.reading import Reading
from crag.models.client.sending import Schema, Sender, Traits
from crag.models.faults import broken_in_the_middle
from crag.models.tokens import count_tokens
from crag.protocols import FirstToken, Piece, Prompt, Reply
from crag.stopping import Stop
from crag.types import Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class LangChainChatModel:
    """The project's `ChatModel` over any LangChain chat model.

    `Usage.finish_reason` is the provider's, plus four of our own: `length` (the answer reached its limit, or far
    exceeded it and was ended), `incomplete` (the stream ended without its end mark), `repetition` (the answer repeated
    itself and was ended), `thought` (the model thought but wrote nothing). A prompt that fits the window under no
    tokenizer is not sent. Every request to a model on another machine is recorded first; `HomeFault` is raised if that
    fails.
    """

    def __init__(self, chat: BaseChatModel, traits: Traits) -> None:
        self._sender = Sender(chat, traits)
        self._traits = traits
        self._one_token = traits.one_token

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
        return self._traits.route.host

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

    def complete(self, prompts: Sequence[Prompt], stop: Stop, *, schema: Schema | None = None) -> Reply:
        """Return a whole reply without thinking, constrained to a JSON schema if one is given.

        Raises `ModelFault`, `Stopped`.
        """
        constrained, options = list(prompts), dict[str, Any]()
        if schema is not None:
            constrained, options = self._traits.constrain(constrained, schema)
        pieces = list(self._pieces(constrained, stop, options))
        text, usage = "".join(piece.text for piece in pieces), pieces[-1].usage or Usage()
        return Reply(text[: len(text) - pieces[-1].repeated], usage)

    def first_token(self, prompts: Sequence[Prompt], stop: Stop) -> FirstToken:
        """Return the first token with its alternatives, or the reply if they are not supported.

        Raises `ModelFault`, `Stopped`.
        """
        try:
            return self._asked_for_one(list(prompts), stop, self._one_token)
        except ModelFault as fault:
            if fault.code != "refused" or not self._one_token:
                raise
        said = self._asked_for_one(list(prompts), stop, {})
        self._one_token = {}  # the model does not support the options
        return said

    def stream(self, prompts: Sequence[Prompt], stop: Stop) -> Iterator[Piece]:
        """Yield the reply as it is generated, thinking first where enabled.

        The last piece is empty and carries the usage. Raises `ModelFault`, which is *partial* if some text was
        received, and `Stopped`.
        """
        written = False
        with closing(self._pieces(list(prompts), stop, self._traits.aloud)) as pieces:
            try:
                for piece in pieces:
                    yield piece
                    written = written or bool(piece.text)
            except ModelFault as fault:
                raise broken_in_the_middle(fault) if written else fault from fault.__cause__

    def _pieces(self, prompts: list[Prompt], stop: Stop, options: Mapping[str, Any]) -> Generator[Piece, None, None]:
        reading = Reading(prompts, self._traits, self._traits.answer_limit)
        with closing(self._sender.send(prompts, stop, options)) as chunks:
            yield from reading.pieces(chunks)

    def _asked_for_one(self, prompts: list[Prompt], stop: Stop, options: Mapping[str, Any]) -> FirstToken:
        reading = Reading(prompts, self._traits, 1 if options else self._traits.answer_limit)
        with closing(self._sender.send(prompts, stop, options)) as chunks:
            *pieces, last = reading.pieces(chunks)
        return FirstToken("".join(piece.text for piece in pieces), reading.alternatives, last.usage or Usage())
