"""The timed server keeps its promised times: exact arithmetic, and a clock that is never early."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from typing import Any

import httpx
import pytest

from tests.doubles.ollama_values import Asked, Say
from tests.doubles.prompt_processor import PromptProcessor
from tests.doubles.timed_ollama import TimedOllama, tokens_of
from tests.waiting import wait_until

WORDS = "one two three four five six seven eight nine ten "


@pytest.fixture
def ollama() -> Iterator[TimedOllama]:
    with TimedOllama(prompt_rate=2000, generation_rate=100) as server:
        server.script = lambda asked: Say("yes and no")
        yield server


def ask(ollama: TimedOllama, *texts: str, **more: Any) -> float:
    """Seconds until the whole reply was there; the texts are a system message, then a user's."""
    roles = ("system", "user")[-len(texts) :]
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    began = time.monotonic()
    httpx.post(f"{ollama.url}/api/chat", json={"model": "llama3.1:8b", "messages": messages, **more}, timeout=20)
    return time.monotonic() - began


def test_prompts_share_the_rate_and_speed_up_as_others_end() -> None:
    processor = PromptProcessor(rate=400)
    processor.begin("long", 400, now=0.0)
    processor.begin("short", 100, now=0.5)
    assert processor.due("short", now=0.5) == pytest.approx(1.0)  # 100 tokens at 200 a second
    assert processor.due("long", now=0.5) == pytest.approx(1.25)  # 100 of its 200 by then, the rest alone
    assert processor.due("long", now=9.0) == pytest.approx(1.25)
    assert processor.due("short", now=9.0) == pytest.approx(1.0)


def test_per_slot_nobody_slows_anybody() -> None:
    processor = PromptProcessor(rate=400, shared=False)
    processor.begin("one", 400, now=0.0)
    processor.begin("two", 200, now=0.0)
    assert processor.due("one", now=0.2) == pytest.approx(1.0)
    assert processor.due("two", now=0.8) == pytest.approx(0.5)


def test_a_request_takes_its_prompt_and_its_reply(ollama: TimedOllama) -> None:
    took = ask(ollama, WORDS * 40)
    [served] = ollama.served
    assert served.processed == len(served.prompt) == len(tokens_of((WORDS * 40).strip())) + 10
    assert took >= len(served.prompt) / 2000 + len(tokens_of("yes and no")) / 100


def test_what_a_slot_holds_is_not_processed_again(ollama: TimedOllama) -> None:
    ask(ollama, WORDS * 10, "first question")
    ask(ollama, WORDS * 10, "second question")
    ask(ollama, WORDS * 10, "second question")
    first, second, third = ollama.served
    assert first.slot is second.slot is third.slot
    assert second.processed < 12 < first.processed
    assert third.processed == 1  # the last token is always processed


def ask_at_once(ollama: TimedOllama, *texts: str) -> None:
    """All of them, as many as there are slots surely at the same time."""
    together = min(len(texts), ollama.slots)

    def reply(asked: Asked) -> Say:
        ollama.wait_until(lambda: len(ollama.served) >= together)
        return Say("yes and no")

    ollama.script = reply
    with ThreadPoolExecutor(len(texts)) as threads:
        list(threads.map(partial(ask, ollama), texts))


def test_a_prompt_goes_to_the_free_slot_that_holds_most_of_it(ollama: TimedOllama) -> None:
    ask_at_once(ollama, "Grade this. " + WORDS * 5, "Answer that. " + WORDS * 5)
    ask(ollama, "Answer that. " + WORDS * 6)
    ask(ollama, "Grade this. " + WORDS * 6)
    *first, answer, grade = ollama.served
    assert {id(served.slot) for served in first} == {id(answer.slot), id(grade.slot)}
    assert answer.processed < 30 > grade.processed


def test_prompts_at_once_share_and_more_than_the_slots_wait(ollama: TimedOllama) -> None:
    began = time.monotonic()
    ask_at_once(ollama, *(f"{n} {WORDS * 20}" for n in range(6)))
    took = time.monotonic() - began
    in_all = sum(served.processed for served in ollama.served)
    assert ollama.most_at_once == 4
    assert len(ollama.served) == 6
    assert took >= in_all / 2000


def test_a_client_that_leaves_frees_its_slot() -> None:
    with TimedOllama(prompt_rate=100) as ollama:
        ollama.script = lambda asked: Say("yes and no")
        message = {"role": "user", "content": WORDS * 1600}  # some minutes
        connection = HTTPConnection(ollama.url.removeprefix("http://"))
        connection.request("POST", "/api/chat", json.dumps({"model": "llama3.1:8b", "messages": [message]}))
        wait_until(lambda: ollama.served and time.monotonic() > ollama.requests[0].started + 0.5)
        connection.close()
        ollama.wait_until(lambda: ollama.requests[0].outcome == "dropped")
        [served] = ollama.served
        assert 0 < len(served.slot.held) < len(served.prompt)
        ask(ollama, "short")
        ollama.wait_until(lambda: ollama.requests[-1].outcome == "finished")
