"""67: graders that do not keep to the form: one retry, then the verdict is unknown and the run goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tests.applications import wait
from tests.doubles.ollama_values import Say
from tests.faults.asking import ANSWER, QUESTION, ask, start, when_grading
from tests.faults.conftest import NOTES

GRADERS = ("score", "explained", "listwise")  # of *cascade*, see tests/app/test_sufficiency.py
UNREADABLE = "The grader's reply could not be read; counts as partly relevant."
ONLY_DOCUMENTS = "Web search is off, so only your documents were used."


@pytest.mark.parametrize("grader", GRADERS)
def test_what_cannot_be_read_is_unknown_and_shown_as_such(application, ollama, grader):
    """What else cannot be read: see tests/grading/test_model_replies.py."""
    when_grading(ollama, Say('{"verdict"'), for_ever=True)
    trace = ask(application, grader=grader)
    judged = [verdict for verdict in trace.verdicts.values() if verdict.score is None]
    assert judged
    assert {(verdict.word, verdict.reason) for verdict in judged} == {("unknown", UNREADABLE)}
    assert (trace.state, trace.action, trace.outcome) == ("done", "ambiguous", "documents_partly")
    assert (trace.text, trace.notes) == (ANSWER, [ONLY_DOCUMENTS])
    graded = [chat for chat in ollama.chats if not chat.writes]
    once = 1 + (1 if grader == "listwise" else len(judged))  # whether they suffice, too
    assert len(graded) == 2 * once, "asked once more, and no oftener"


def test_what_is_not_judged_in_time_is_unknown_and_the_answer_is_written(application, ollama, monkeypatch):
    monkeypatch.setattr("crag.grading.model_replies.GRADING_SECONDS", 0.3)
    when_grading(ollama, Say('{"sentence": "Well', per_token=3600), for_ever=True)
    run = start(application, f"{QUESTION} So asks a slow one.", grader="explained")
    trace = wait(run)
    unknown = {(verdict.word, verdict.reason) for verdict in trace.verdicts.values() if verdict.score is None}
    assert unknown == {("unknown", "Could not be judged: Grading took longer than 0.3 seconds.")}
    assert (trace.state, trace.outcome) == ("done", "documents_partly")
    ollama.wait_until(lambda: all(chat.outcome for chat in ollama.chats))  # the server is not kept busy
    assert "grade_documents" in {call.node for call in application.runs.calls(run.id)}


def test_the_time_to_load_the_model_does_not_count(application, ollama, monkeypatch):
    monkeypatch.setattr("crag.grading.model_replies.GRADING_SECONDS", 2.5)
    loaded = Say('{"verdict": "yes", "1": 9, "2": 9}')
    waiting = [replace(loaded, first_token_after=3.5)] * len(NOTES)
    when_grading(ollama, *waiting, loaded, for_ever=True)
    trace = ask(application, f"{QUESTION} So asks a cold one.", grader="score")
    assert "relevant" in {verdict.word for verdict in trace.verdicts.values()}


@dataclass(frozen=True)
class Fault:
    """A fault while passages are judged; `reason` is what stands with the verdict where the run goes on."""

    name: str
    reply: Say
    reason: str = ""
    code: str = ""


PASSING = [
    Fault(
        "500",
        Say(status=500, error="something went wrong"),
        "Could not be judged: Ollama reported an error while running llama3.1:8b.",
    ),
    Fault(
        "503-for-ever", Say(status=503, error="server busy"), "Could not be judged: Ollama is busy: its queue is full."
    ),
    Fault("reset", Say(end="reset"), "Could not be judged: Ollama stopped in the middle of its reply."),
    Fault("not-json", Say(end="bad_line"), "Could not be judged: Ollama sent a reply that could not be read."),
]
LASTING = [
    Fault("59-out-of-memory", Say(status=500, error="CUDA error: out of memory"), code="out_of_memory"),
    Fault("58-model-deleted", Say(status=404, error="model 'llama3.1:8b' not found"), code="model_missing"),
    Fault("401", Say(status=401, error="unauthorized"), code="no_access"),
]


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: fault.name)
def test_a_passing_fault_costs_one_verdict_not_the_answer(application, ollama, fault, monkeypatch):
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.001)
    when_grading(ollama, fault.reply, for_ever=True)
    trace = ask(application, grader="score")
    judged = {(verdict.word, verdict.reason) for verdict in trace.verdicts.values() if verdict.score is None}
    assert judged == {("unknown", fault.reason)}
    assert (trace.state, trace.text, trace.notes) == ("done", ANSWER, [ONLY_DOCUMENTS])


@pytest.mark.parametrize("fault", LASTING, ids=lambda fault: fault.name)
def test_a_lasting_fault_ends_the_run_before_anything_is_written(application, ollama, fault):
    when_grading(ollama, fault.reply, for_ever=True)
    trace = ask(application, grader="explained")
    assert (trace.state, trace.error_code, trace.text) == ("failed", fault.code, "")
    assert trace.remedy
    assert not [chat for chat in ollama.chats if chat.writes]
