"""Replies that fail, break off, are empty, never end or were cut: what is shown, kept and offered."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import pytest

from crag.errors import BadRequest
from tests.applications import wait
from tests.doubles.ollama_values import Say
from tests.faults.asking import ANSWER, LLAMA, QUESTION, TWENTY, ask, assert_all_is_well, start, when_writing
from tests.waiting import wait_until

AGAIN = "Continue from the text so far, or ask again."
BROKE_OFF = "The model stopped before the end. The text so far is kept."


@dataclass(frozen=True)
class Row:
    """A fault while the answer is written, and what the person sees of it; `{host}` is the server's.

    `tries` is how often the server is asked before the run gives up. `tests/models/test_faults.py` has more of them.
    """

    name: str
    reply: Say
    code: str
    error: str
    remedy: str
    tries: int = 1


BEFORE_A_WORD = [
    Row(
        "59-500-out-of-memory",
        Say(status=500, error="model requires more system memory (9.1 GiB) than is available (4.2 GiB)"),
        "out_of_memory",
        "There is not enough memory for llama3.1:8b: it needs 9.1 GiB, and 4.2 GiB are free.",
        "Close other programs or choose a smaller model, then try again.",
    ),
    Row(
        "59-500-the-runner-died",
        Say(status=500, error="llama runner process has terminated: exit status 2"),
        "server_error",
        "llama3.1:8b stopped unexpectedly, perhaps because memory ran out.",
        "Try again. If it happens again, choose a smaller model or context window.",
        tries=3,
    ),
    Row(
        "html-with-200",
        Say(body=b"<html><h1>Sign in to the hotel's network</h1></html>"),
        "bad_reply",
        "Ollama sent a reply that could not be read.",
        "Try again, or restart the model server.",
        tries=3,
    ),
    Row(
        "62-reset-before-a-word",
        Say(end="reset"),
        "incomplete",
        "Ollama stopped in the middle of its reply.",
        "Ask again for a complete answer.",
        tries=3,
    ),
]


@pytest.mark.parametrize("row", BEFORE_A_WORD, ids=lambda row: row.name)
def test_before_a_word_is_written(application, ollama, row, monkeypatch):
    """The question is kept, the fault named with its remedy, and what may pass is tried at most three times."""
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.01)
    conversation = application.conversations.create().id
    when_writing(ollama, row.reply, for_ever=True)
    trace = ask(application, conversation=conversation)
    assert (trace.state, trace.error_code, trace.text) == ("failed", row.code, "")
    assert trace.error == row.error.format(host=ollama.url.removeprefix("http://"))
    assert trace.remedy == row.remedy
    assert len([chat for chat in ollama.chats if chat.writes]) == row.tries
    question, answer = application.conversations.messages(conversation)
    assert (question.text, answer.state, answer.text) == (QUESTION, "failed", "")
    assert trace.verdicts, "what was found and judged stays to be seen"
    assert_all_is_well(application, ollama, conversation)


def test_60_busy_at_first_and_then_fine(application, ollama, monkeypatch):
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.01)
    busy = Say(status=503, error="server busy, please try again.  maximum pending requests exceeded")
    when_writing(ollama, *[busy] * 3)
    trace = ask(application)
    assert (trace.state, trace.outcome, trace.error, trace.notes) == ("done", "documents", "", [])
    assert trace.text == ANSWER


def test_60_busy_for_ever(application, ollama, monkeypatch):
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.01)
    when_writing(ollama, Say(status=503, error="server busy, please try again."), for_ever=True)
    trace = ask(application)
    assert (trace.state, trace.error_code) == ("failed", "busy")
    assert trace.error == "Ollama is busy: its queue is full."
    assert trace.remedy == "Wait a moment, then ask again."
    assert_all_is_well(application, ollama)


def test_60_a_busy_server_is_shown_retried_and_can_be_stopped(application, ollama):
    when_writing(ollama, Say(status=503, error="server busy, please try again."), for_ever=True)
    run = start(application)
    wait_until(lambda: (waits := run.current_wait()) and waits.kind == "retrying")
    told = run.current_wait()
    assert told is None or (told.model, told.attempt >= 2) == (LLAMA, True)
    application.runs.stop(run.id)
    assert wait(run).state == "stopped"
    assert_all_is_well(application, ollama)


def test_61_a_cold_load_is_shown_with_its_seconds(opened, ollama):
    """While nothing arrives, the page says what it waits for, since when, and that the model is still loading."""
    application = opened()
    ollama.memory.load_seconds = math.inf
    run = start(application)
    wait_until(lambda: (told := run.current_wait()) and told.kind == "answering")
    since = run.current_wait().since
    assert not application.ollama.model("llama3.1:8b").loaded
    wait_until(lambda: time.monotonic() - run.current_wait().since > 0.6)
    told = run.current_wait()
    assert (told.kind, told.model, told.since) == ("answering", LLAMA, since)
    ollama.memory.load_seconds = 0.0
    trace = wait(run)
    assert (trace.state, trace.text) == ("done", ANSWER)
    assert application.ollama.model("llama3.1:8b").loaded
    assert run.current_wait() is None
    assert ollama.memory.loads == [("llama3.1:8b", 8192)], "loaded once for all roles"


BROKEN = [
    Row(
        "62-reset-after-20-tokens",
        Say(TWENTY, end="reset"),
        "incomplete",
        "Ollama stopped in the middle of its reply.",
        AGAIN,
    ),
    Row(
        "62-a-line-that-is-not-json",
        Say(TWENTY, end="bad_line"),
        "bad_reply",
        "Ollama sent a reply that could not be read.",
        AGAIN,
    ),
    Row(
        "a-line-of-another-kind",
        Say(TWENTY, end="bad_line", line=b"[1, 2, 3]"),
        "bad_reply",
        "Ollama sent a reply that could not be read.",
        AGAIN,
    ),
    Row(
        "a-line-of-10-MB",
        Say(TWENTY, end="bad_line", line=b'{"message": {"content": "' + b"a" * 10_000_000 + b'"}}'),
        "bad_reply",
        "Ollama sent a reply that could not be read.",
        AGAIN,
    ),
]


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row.name)
def test_in_the_middle_of_an_answer(application, ollama, row):
    """What had come is kept, nothing is tried again by itself, and Continue makes a whole answer of it."""
    conversation = application.conversations.create().id
    when_writing(ollama, row.reply)
    run = start(application, conversation=conversation)
    trace = wait(run)
    assert (trace.state, trace.error_code, trace.text) == ("failed", row.code, TWENTY)
    assert (trace.error, trace.remedy) == (row.error, row.remedy)
    assert len([chat for chat in ollama.chats if chat.writes]) == 1
    kept = application.conversations.messages(conversation)[-1]
    assert (kept.state, kept.text) == ("failed", TWENTY)
    assert_continues(application, ollama, run)
    assert_all_is_well(application, ollama, conversation)


@pytest.mark.parametrize(
    ("reply", "text", "note"),
    [
        pytest.param(Say(TWENTY, end="no_done"), TWENTY, BROKE_OFF, id="62-no-done-after-20-tokens"),
        pytest.param(
            Say(
                TWENTY,
                end="bad_line",
                line=b'{"message": {"role": "assistant", "content": " \xff\xfe"}, "done": false}',
            ),
            f"{TWENTY} \ufffd\ufffd",
            BROKE_OFF,
            id="invalid-utf-8",
        ),
        pytest.param(
            Say(TWENTY, end="length"), TWENTY, "The answer reached its length limit.", id="65-done-reason-length"
        ),
    ],
)
def test_an_end_that_is_none_is_told_and_can_be_continued(application, ollama, reply, text, note):
    when_writing(ollama, reply)
    run = start(application)
    trace = wait(run)
    assert (trace.state, trace.text, trace.notes) == ("done", text, [note])
    assert_continues(application, ollama, run)
    assert_all_is_well(application, ollama)


def assert_continues(application, ollama, run) -> None:
    """Continue goes on from the text so far, in a version of its own, and what it makes is whole."""
    before = wait(run).text
    when_writing(ollama, Say("and it is never recorded again [1]."))
    continued = application.runs.continue_answer(run.id)
    trace = wait(continued)
    assert (trace.state, trace.error, trace.notes) == ("done", "", [])
    assert trace.text.startswith(TWENTY.rpartition(" ")[0])
    assert trace.text.endswith("and it is never recorded again [1].")
    assert trace.text.count("blacklisted") == before.count("blacklisted")
    assert [citation.title for citation in trace.citations] == ["traces.md"]
    assert [version.run_id for version in application.runs.versions(run.id)] == [run.id, continued.id]
    with pytest.raises(BadRequest):
        application.runs.continue_answer(continued.id)


SILENT = [
    pytest.param(Say(""), "The model wrote nothing.", id="63-empty"),
    pytest.param(Say("  \n \n  "), "The model wrote nothing.", id="63-whitespace"),
    pytest.param(
        Say("<think>Let me see what the passages say.</think>"),
        "The model only reasoned and wrote no answer.",
        id="63-only-thoughts",
    ),
    pytest.param(
        Say("<think>Let me see, and see, and"),
        "The model only reasoned and wrote no answer.",
        id="63-thoughts-without-an-end",
    ),
    pytest.param(
        Say("", end="length"),
        "The model reached its length limit before it wrote anything.",
        id="65-length-before-a-word",
    ),
    pytest.param(
        Say("\n" * 5000),
        "The model only repeated itself and was stopped.",
        id="64-empty-lines-without-end",
    ),
]


@pytest.mark.parametrize(("reply", "error"), SILENT)
def test_nothing_is_said(application, ollama, reply, error):
    """The documents are quoted, and the reader learns why; thoughts are not shown as an answer."""
    when_writing(ollama, reply)
    trace = ask(application)
    assert (trace.state, trace.outcome, trace.error) == ("done", "quoted", "")
    assert "After two failed recordings the fragment is blacklisted" in trace.text
    (note,) = trace.notes
    assert note.startswith(f"{error} The passages are quoted instead.")
    assert_all_is_well(application, ollama)


SENTENCE = "After two failed recordings the fragment is blacklisted [1]."
STOPPED = "The model repeated itself, so it was stopped."
QUOTED = (
    "The model only repeated itself and was stopped. The passages are quoted instead. "
    "Ask again, or choose another model."
)
REPEATED = [
    pytest.param("again " * 4000, ANSWER, QUOTED, id="64-a-word"),
    pytest.param(f"{SENTENCE} " * 300, SENTENCE, STOPPED, id="64-a-sentence"),
    pytest.param(f"{SENTENCE} " + "I do not know. " * 900, ANSWER, QUOTED, id="64-an-end-of-an-answer"),
]


@pytest.mark.parametrize(("text", "kept", "note"), REPEATED)
def test_endless_repetition_is_stopped_and_cut(application, ollama, text, kept, note):
    """A server that ignores `num_predict`, too: the stream is closed. One instance of the repeated stays, if its
    sources support it; otherwise the passages are quoted.
    """
    when_writing(ollama, Say(text, unlimited=True, end="hang"))
    trace = ask(application)
    assert (trace.state, trace.text) == ("done", kept)
    assert trace.notes == [note]
    assert trace.unfinished == (note == STOPPED)
    wait_until(lambda: ollama.chats[-1].outcome == "dropped")
    assert_all_is_well(application, ollama)


def test_64_a_server_that_ignores_num_predict_is_cut_off(application, ollama):
    """Nothing repeats, and nothing ends: it is closed at a quarter more than was asked for."""
    when_writing(ollama, Say(" ".join(f"word{n}" for n in range(20_000)), unlimited=True))
    trace = ask(application)
    assert trace.state == "done"
    assert trace.notes == ["The answer reached its length limit."]
    assert 1024 <= len(trace.text.split()) <= 1024 * 1.3
    wait_until(lambda: ollama.chats[-1].outcome == "dropped")
    assert_all_is_well(application, ollama)


def test_one_token_a_minute_can_be_stopped_and_what_came_is_kept(application, ollama):
    when_writing(ollama, Say(ANSWER, per_token=60))
    run = start(application)
    wait_until(lambda: ollama.chats and ollama.chats[-1].tokens_sent == 1)
    wait_until(lambda: any(event.type == "tokens_written" for _, event in run.follow(seconds=0.05)))
    application.runs.stop(run.id)
    trace = wait(run)
    assert (trace.state, trace.text) == ("stopped", "After")
    wait_until(lambda: ollama.chats[-1].outcome == "dropped")
    assert_all_is_well(application, ollama)
