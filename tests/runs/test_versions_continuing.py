"""Continue: a new version of an answer that was cut, stopped or broke off goes on from its text."""

import threading

import pytest

from crag.errors import BadRequest
from crag.options import RunOptions
from tests.doubles.engine import QuotingWriter
from tests.runs.conftest import wait
from tests.runs.test_versions import answered

OPTIONS = RunOptions()


def test_an_answer_that_hit_its_limit_goes_on_with_the_same_knowledge(house):
    home = house(writer=QuotingWriter(finish="length"))
    _, run, before = answered(home)
    home.writer.reply = lambda knowledge: ["and more [2]."]
    home.writer.finish = "stop"
    trace = wait(home.runs.continue_answer(run.id))
    assert trace.text == f"{before.text}and more [2]."
    assert trace.change == "continued"
    assert trace.verdicts == before.verdicts
    assert trace.strips == before.strips
    assert [step.node for step in trace.steps] == [step.node for step in before.steps]
    assert [version.change for version in home.runs.versions(run.id)] == ["first answer", "continued"]
    assert "length limit" not in " ".join(trace.notes)


def test_a_stopped_answer_keeps_its_text_and_goes_on(house):
    writer = QuotingWriter(gate=threading.Event())
    home = house(writer=writer)
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", OPTIONS)
    while not home.runs.trace(run.id).text:
        assert not run.ended
        next(iter(run.follow(after=0, seconds=0.05)), None)
    home.runs.stop(run.id)
    stopped = wait(run)
    assert stopped.state == "stopped"
    writer.gate = None
    trace = wait(home.runs.continue_answer(run.id))
    assert trace.state == "done"
    assert trace.text.startswith(stopped.text.strip())


def test_a_whole_answer_is_not_gone_on_with(house):
    home = house()
    _, run, _ = answered(home)
    with pytest.raises(BadRequest, match="whole"):
        home.runs.continue_answer(run.id)
    assert len(home.runs.versions(run.id)) == 1
