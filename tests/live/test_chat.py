"""The chat model: streaming, log probabilities, JSON, stops, and prompts that are too long."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.grading.explained import ExplainedGrader
from crag.grading.score import ScoreGrader
from crag.models.chat_models import open_chat_model
from crag.protocols import ChatModel
from crag.types import Passage, Prompt
from tests.live.conftest import TUNING

pytestmark = pytest.mark.live

HELLO = [Prompt("system", "Be short."), Prompt("user", "Say hello in one sentence.")]
COUNT = [Prompt("user", "Count from 1 to 1000. Write every number, and nothing else.")]
QUESTION = "What is the capital of France?"
TEXT = "Paris is the capital of France and its largest city. It lies on the Seine."
PASSAGE = Passage(1, "s", "france.md", "france.md", TEXT, TEXT)


def test_streaming(model: ChatModel):
    *pieces, last = model.stream(COUNT, Cancellation())
    assert len([piece for piece in pieces if piece.text]) > 1
    assert last.usage is not None
    assert last.usage.prompt_tokens
    assert last.usage.answer_tokens
    assert last.usage.finish_reason in ("stop", "length", "repetition")
    assert not last.usage.prompt_cut


def test_the_answer_limit_is_kept(settings, chat_name):
    model = open_chat_model(f"ollama:{chat_name}", settings, tuning=replace(TUNING, answer_limit=8))
    *_, last = model.stream(COUNT, Cancellation())
    assert (last.usage.finish_reason, last.usage.answer_tokens) == ("length", 8)


def test_log_probabilities(model: ChatModel):
    """Of a server since 0.12.11: the token itself is among the likely ones, and no probability is above one."""
    first = model.first_token(HELLO, Cancellation())
    assert first.text
    assert len(first.alternatives) > 1
    assert all(value <= 1e-4 for value in first.alternatives.values())
    assert any(first.text.strip() == token.strip() for token in first.alternatives)


def test_a_score_of_one_token(model: ChatModel):
    ((index, grade),) = ScoreGrader(model).grade(QUESTION, [PASSAGE], Cancellation())
    assert index == 0
    assert grade.score is None or 0.0 <= grade.score <= 1.0
    assert grade.reason


def test_a_json_schema(model: ChatModel):
    ((_, grade),) = ExplainedGrader(model).grade(QUESTION, [PASSAGE], Cancellation())
    assert grade.score in (0.0, 0.5, 1.0)
    assert grade.usage is not None


def test_cancel_frees_the_server(model: ChatModel):
    """A server that went on for nobody would keep all who come later waiting: it works on few at a time."""
    usual = min(_seconds_of_a_first_token(model) for _ in range(3))
    stops = [Cancellation() for _ in range(model.concurrency)]

    def begin(stop: Cancellation) -> None:
        stream = model.stream(COUNT, stop)
        next(stream)
        stop.cancel()
        with suppress(Stopped):
            list(stream)

    with ThreadPoolExecutor(len(stops)) as pool:
        list(pool.map(begin, stops))
    waited = _seconds_of_a_first_token(model)
    assert waited < 2 + 5 * usual, "it goes on generating what nobody reads"


def _seconds_of_a_first_token(model: ChatModel) -> float:
    began = time.monotonic()
    model.first_token(HELLO, Cancellation())
    return time.monotonic() - began


def test_a_prompt_longer_than_the_window_raises_the_alarm(settings, chat_name):
    """What the server read is fewer than what was sent, or it says that it is too much; never nothing."""
    model = open_chat_model(f"ollama:{chat_name}", settings, tuning=replace(TUNING, window=512, answer_limit=16))
    long = " ".join(f"The town number {n} has a harbour." for n in range(110))
    try:
        cut = model.complete([Prompt("system", "Be short."), Prompt("user", long)], Cancellation()).usage.prompt_cut
    except ModelFault as fault:
        cut = fault.code in ("prompt_too_long", "question_too_long")
    assert cut
