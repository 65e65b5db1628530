"""The time of a run as bars."""

import pytest

from crag.inspection.run_charts import nodes_kept, timeline_spans
from crag.types import ModelCall
from tests.inspection import runs


def call(node, at, seconds=0.5):
    return ModelCall(node, "ollama:llama", at, seconds, ())


CALLS = [call("grade_documents", 0.9), call("grade_documents", 0.03), call("web_search", 3.2, 0.1)]


def told(trace, calls=(), now=None):
    return [(one.name, one.kind, round(one.start, 2), round(one.end, 2)) for one in timeline_spans(trace, calls, now)]


def test_each_node_has_its_calls_and_its_search_below_it():
    assert told(runs.incorrect(), CALLS)[:8] == [
        ("Retrieve", "own", 0.0, 0.02),
        ("Grade passages", "model", 0.02, 1.72),
        ("call 1", "model", 0.03, 0.53),
        ("call 2", "model", 0.9, 1.4),
        ("Decide", "own", 1.72, 1.72),
        ("Rewrite the question", "own", 1.72, 2.6),
        ("Search the web", "web", 2.6, 3.4),
        ("search", "web", 2.6, 3.2),
    ]


@pytest.mark.parametrize(("name", "kind"), [("Grade passages", "model"), ("Write the answer", "model")])
def test_without_calls_the_events_tell_what_was_waited_for(name, kind):
    assert kind in [span.kind for span in timeline_spans(runs.correct(), []) if span.name == name]


def test_what_a_version_kept_has_no_bar():
    assert [name for name, *_ in told(runs.version())] == ["Decide", "Write the answer", "Check the answer"]
    assert nodes_kept(runs.version()) == ["retrieve", "grade_documents"]


def test_what_still_runs_ends_now_and_what_waits_for_a_person_takes_no_time():
    trace = runs.waiting()
    assert told(trace, now=9.0)[-1] == ("Rewrite the question", "own", 1.72, 2.6)
    trace.steps[-1].state = "running"
    assert told(trace, now=9.0)[-1] == ("Search the web", "web", 2.6, 9.0)
