"""70: models that Ollama runs remotely: nothing is sent without consent, and what is sent is logged."""

from __future__ import annotations

import pytest

from tests.applications import wait
from tests.doubles.ollama_values import LLAMA, Model, Say
from tests.faults.asking import QUESTION, ask, start, when_grading
from tests.waiting import wait_until

BY_NAME = Model("gpt-oss:120b-cloud", digest="d" * 64)
BY_HOST = Model("kimi:latest", digest="e" * 64, remote_host="https://ollama.com:443")
AWAY = "{} runs on another machine: your question and the passages it needed went there."


@pytest.mark.parametrize(
    ("model", "label"),
    [pytest.param(BY_NAME, "Gpt Oss 120B Cloud", id="by-name"), pytest.param(BY_HOST, "Kimi", id="by-remote-host")],
)
@pytest.mark.parametrize("role", ["model", "grader_model", "rewriter_model"])
def test_70_nothing_is_sent_before_it_is_allowed(opened, ollama, model, label, role):
    """In every role: asked first, then allowed and noted with the answer and in the outbound log, then forbidden."""
    application = opened()
    ollama.models, name = [LLAMA, model], f"ollama:{model.name}"
    conversation = application.conversations.create().id
    refused = ask(application, conversation=conversation, **{role: name})
    assert (refused.state, refused.error_code, refused.error_model) == ("failed", "consent_needed", name)
    assert refused.error == (
        f"{label} runs on another machine, at ollama.com. Your question and passages of your documents would go there."
    )
    assert refused.remedy == "Nothing was sent. Allow this, or choose a model on this machine."
    assert (ollama.chats, application.outbound_log.entries()) == ([], [])
    question, answer = application.conversations.messages(conversation)
    assert (question.text, answer.state) == (QUESTION, "failed")

    application.preferences.allow_model(name)
    allowed = ask(application, conversation=conversation, grader="score", **{role: name})
    assert (allowed.state, allowed.outcome) == ("done", "documents")
    assert allowed.notes == [AWAY.format(label)]
    sent = [chat for chat in ollama.chats if chat.body["model"] == model.name]
    rows = application.outbound_log.entries()
    assert len(rows) == len(sent)
    assert {(row.host, row.kind) for row in rows} <= {("ollama.com", "model")}
    assert sent or role == "rewriter_model", "what plays a role is asked, but for a rewriter that is not needed"

    application.preferences.forbid_model(name)
    before = len(ollama.chats)
    again = ask(application, conversation=conversation, **{role: name})
    assert (again.error_code, len(ollama.chats)) == ("consent_needed", before)
    assert ask(application).outcome == "documents"


def test_leave_that_is_taken_back_holds_at_once(opened, ollama):
    """Also for what was opened while there was leave: the next question, and one that is at work already."""
    application = opened()
    ollama.models, name = [LLAMA, BY_HOST], f"ollama:{BY_HOST.name}"
    application.preferences.allow_model(name)
    assert ask(application, model=name).outcome == "documents"
    application.preferences.forbid_model(name)
    ollama.requests.clear()
    assert ask(application, model=name).error_code == "consent_needed"
    assert ollama.chats == []

    application.preferences.allow_model(name)
    when_grading(ollama, Say("yes", first_token_after=0.5), for_ever=True)
    run = start(application, model=name, grader="score")
    wait_until(lambda: bool(ollama.chats))
    application.preferences.forbid_model(name)
    assert wait(run).error_code == "consent_needed"
    assert not any(chat.writes for chat in ollama.chats)
