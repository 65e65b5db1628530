"""The queue for a model: a limit of requests, one run after another, and everyone sees their place."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from crag.cancellation import Cancellation, Wait
from crag.errors import Stopped
from crag.models.chat_models import open_chat_model
from crag.options import ModelParameters
from crag.protocols import ChatModel
from crag.settings import Settings
from crag.types import Prompt
from tests.doubles.ollama_values import Say
from tests.waiting import PATIENCE, wait_until

NAME = "ollama:llama3.1:8b"


@pytest.fixture
def pool():
    with ThreadPoolExecutor(20) as threads:
        yield threads


@pytest.fixture
def gate(ollama):
    """Until it is set the server, which would take any number at once, answers nobody."""
    gate = threading.Event()

    def reply(asked: object) -> Say:
        gate.wait(PATIENCE)
        return Say("Paris.")

    ollama.script, ollama._free = reply, threading.Semaphore(100)
    return gate


def opened(settings: Settings, parallelism: int) -> ChatModel:
    """Opened again each time, as it is every few seconds: the queue outlasts that."""
    return open_chat_model(NAME, settings, tuning=ModelParameters(parallelism=parallelism))


def ask(pool: ThreadPoolExecutor, model: ChatModel, stop: Cancellation, about: str) -> Future[str]:
    return pool.submit(lambda: model.complete([Prompt("user", about)], stop).text)


def queued(stop: Cancellation) -> list[int]:
    return [wait.place for wait in stop.list_waits() if wait.kind == "queued"]


def test_no_more_are_sent_than_the_server_works_on(ollama, settings, pool, gate):
    stops = [Cancellation() for _ in range(5)]
    asked = [ask(pool, opened(settings, 2), stop, f"question {n}") for n, stop in enumerate(stops)]
    wait_until(lambda: len(ollama.chats) == 2 and sum(bool(queued(stop)) for stop in stops) == 3)
    gate.set()
    assert [reply.result(PATIENCE) for reply in asked] == ["Paris."] * 5
    assert ollama.most_at_once == 2


def test_places_are_counted_in_runs_and_move_up(ollama, settings, pool):
    turns = {f"run {n}": threading.Event() for n in range(3)}

    def reply(asked: object) -> Say:
        assert turns[ollama.chats[-1].prompt].wait(PATIENCE)
        return Say("Paris.")

    ollama.script = reply
    model, stops = opened(settings, 1), [Cancellation() for _ in range(3)]
    asked = []
    for n, stop in enumerate(stops):
        asked.append(ask(pool, model, stop, f"run {n}"))
        wait_until(lambda stop=stop, n=n: [w.kind for w in stop.list_waits()] == ["queued" if n else "answering"])  # type: ignore[misc]
    extra = ask(pool, model, stops[1], "run 1")  # another of a run that waits already: nobody moves
    wait_until(lambda: len(stops[1].list_waits()) == 2)
    assert (queued(stops[0]), queued(stops[1]), queued(stops[2])) == ([], [1, 1], [2])
    told = stops[2].list_waits()[0]
    assert (told.kind, told.model) == ("queued", NAME)
    turns["run 0"].set()
    wait_until(lambda: queued(stops[2]) == [1] and len(ollama.chats) == 2)
    wait_until(lambda: queued(stops[1]) == [2])  # its second request stands behind the run that has had none
    for turn in turns.values():
        turn.set()
    assert [reply.result(PATIENCE) for reply in [*asked, extra]] == ["Paris."] * 4
    assert [chat.prompt for chat in ollama.chats] == ["run 0", "run 1", "run 2", "run 1"]


def test_a_run_of_many_requests_starves_nobody(ollama, settings, pool, gate):
    model, many, one = opened(settings, 1), Cancellation(), Cancellation()
    crowd = [ask(pool, model, many, f"many {n}") for n in range(10)]
    wait_until(lambda: len(ollama.chats) == 1)
    asked = ask(pool, model, one, "one")
    wait_until(lambda: queued(one))
    gate.set()
    assert asked.result(PATIENCE) == "Paris."
    assert [chat.prompt for chat in ollama.chats].index("one") <= 3
    assert [reply.result(PATIENCE) for reply in crowd] == ["Paris."] * 10


def test_a_stop_leaves_the_line_at_once(ollama, settings, pool, gate):
    model, first, second, third = opened(settings, 1), Cancellation(), Cancellation(), Cancellation()
    asked = ask(pool, model, first, "first")
    wait_until(lambda: ollama.chats)
    leaving = ask(pool, model, second, "second")
    wait_until(lambda: queued(second) == [1])
    last = ask(pool, model, third, "third")
    wait_until(lambda: queued(third) == [2])
    second.cancel()
    with pytest.raises(Stopped):
        leaving.result(PATIENCE)
    assert not second.list_waits()
    assert queued(third) == [1]
    gate.set()
    assert (asked.result(PATIENCE), last.result(PATIENCE)) == ("Paris.", "Paris.")
    assert [chat.prompt for chat in ollama.chats] == ["first", "third"]


def test_an_abandoned_stream_makes_room(ollama, settings):
    ollama.script = lambda asked: Say("word " * 100, per_token=0.02, end="hang")
    model = opened(settings, 1)
    for _ in range(3):
        stream = model.stream([Prompt("user", "Go on.")], Cancellation())
        assert next(stream).text
        stream.close()  # type: ignore[attr-defined]


def test_who_waits_only_for_itself_is_not_in_line(ollama, settings, pool, gate):
    model, stop = opened(settings, 1), Cancellation()
    asked = [ask(pool, model, stop, f"{n}") for n in range(3)]
    wait_until(lambda: ollama.chats)
    assert [wait.kind for wait in stop.list_waits()] == ["answering"]
    gate.set()
    assert [reply.result(PATIENCE) for reply in asked] == ["Paris."] * 3


def test_the_wait_for_the_first_piece_is_told_and_over_with_it(ollama, settings):
    ollama.script = lambda asked: Say("Paris is", first_token_after=0.3, end="hang")
    stop, told = Cancellation(), list[list[Wait]]()
    stream = opened(settings, 0).stream([Prompt("user", "Capital?")], stop)
    watcher = threading.Thread(target=lambda: (wait_until(lambda: stop.list_waits()), told.append(stop.list_waits())))
    watcher.start()
    assert next(stream).text == "Paris"
    watcher.join()
    assert [wait.kind for wait in told[0]] == ["answering"]
    assert stop.list_waits() == []
    stream.close()  # type: ignore[attr-defined]


def test_attempts_are_told(ollama, settings, pool, monkeypatch):
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.2)
    ollama.fail_next(2, 503)
    stop, attempts = Cancellation(), set[int]()
    reply = ask(pool, opened(settings, 0), stop, "Capital?")
    while not reply.done():
        attempts |= {wait.attempt for wait in stop.list_waits() if wait.kind == "retrying"}
    assert attempts == {2, 3}
    assert reply.result() == "Capital?"
