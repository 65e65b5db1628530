"""Sends prompts to a model: queued, retried on passing faults, and cancellable."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from crag.errors import CragError, ModelFault, Stopped
from crag.following import follow
from crag.models.client.admission import Admission
from crag.models.client.recording import recorded
from crag.models.departures import Route
from crag.protocols import Prompt
from crag.stopping import Stop
from crag.waiting import Wait, WaitKind, telling

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk
    from tenacity import RetryCallState

ATTEMPTS = 3
# A busy server recovers later: the retries give it about ten seconds.
ATTEMPTS_WHEN_BUSY = 6
# Half of each pause is random, so that requests refused together are not retried together.
FIRST_HALF_PAUSE, LONGEST_HALF_PAUSE = 0.15, 2.5

Schema = dict[str, Any]
Chunks = Generator["AIMessageChunk", None, None]
Constrain = Callable[[list[Prompt], Schema], tuple[list[Prompt], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Traits:
    """Differences between providers.

    - `marks_end`: a complete reply ends with a mark; without the mark the reply was cut off.
    - `admission`: the request queue of this model.
    - `route`: where prompts go; prompts that leave the machine are recorded first.
    - `one_token`: options that request one token and its alternatives; empty if unsupported.
    - `aloud`: options that let the model think first.
    - `tells_thoughts`: whether thoughts are passed on.
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
    admission: Admission
    one_token: Mapping[str, Any] = field(default_factory=dict)
    aloud: Mapping[str, Any] = field(default_factory=dict)
    tells_thoughts: bool = False


class Sender:
    """Request sender for one LangChain chat model."""

    def __init__(self, chat: BaseChatModel, traits: Traits) -> None:
        self._chat = chat
        self._traits = traits

    def send(self, prompts: list[Prompt], stop: Stop, options: Mapping[str, Any]) -> Chunks:
        """Yield the chunks of a reply. Passing faults are retried, but only before the first chunk.

        Raises `ModelFault`, `Stopped`, and `HomeFault` if an outbound request cannot be recorded.
        """
        with self._traits.admission.passing(stop, self._traits.concurrency):
            first, rest = self._begin(prompts, stop, options)
            with closing(rest):
                yield from chain(first, rest)

    def _begin(
        self, prompts: list[Prompt], stop: Stop, options: Mapping[str, Any]
    ) -> tuple[list[AIMessageChunk], Chunks]:
        from tenacity import Retrying, retry_if_exception, wait_exponential, wait_random_exponential

        since = time.monotonic()

        def pause(seconds: float) -> None:
            with self._telling(stop, "retrying", since, attempts.statistics["attempt_number"]):
                stop.wait(seconds)

        half = {"multiplier": FIRST_HALF_PAUSE, "max": LONGEST_HALF_PAUSE}
        attempts = Retrying(
            stop=_tried_enough,
            wait=wait_exponential(**half) + wait_random_exponential(**half),
            retry=retry_if_exception(lambda error: isinstance(error, ModelFault) and error.fault == "passing"),
            sleep=pause,
            reraise=True,
        )
        return attempts(self._first, prompts, stop, options)

    def _first(
        self, prompts: list[Prompt], stop: Stop, options: Mapping[str, Any]
    ) -> tuple[list[AIMessageChunk], Chunks]:
        chunks = self._chunks(prompts, stop, options)
        with self._telling(stop, "answering", time.monotonic()):
            return [chunk for chunk in [next(chunks, None)] if chunk is not None], chunks

    def _chunks(self, prompts: list[Prompt], stop: Stop, options: Mapping[str, Any]) -> Chunks:
        self._traits.route.record_prompts(prompts)
        return recorded(self._requested(prompts, stop, options), self._traits.name, prompts, stop)

    def _requested(self, prompts: list[Prompt], stop: Stop, options: Mapping[str, Any]) -> Chunks:
        messages = [(prompt.role, prompt.text) for prompt in prompts]
        try:
            yield from follow(lambda: self._chat.stream(messages, **options), stop)
        except (CragError, Stopped):
            raise
        except Exception as error:
            raise self._traits.translate(error) from error

    def _telling(self, stop: Stop, kind: WaitKind, since: float, attempt: int = 0) -> AbstractContextManager[None]:
        wait = Wait(kind, self._traits.name, since, attempt=attempt)
        return telling(stop, lambda: wait)


def _tried_enough(state: RetryCallState) -> bool:
    fault = state.outcome.exception() if state.outcome else None
    busy = isinstance(fault, ModelFault) and fault.code == "busy"
    return state.attempt_number >= (ATTEMPTS_WHEN_BUSY if busy else ATTEMPTS)
