"""The path of a run as a diagram, and its time as bars."""

import pytest

from crag.inspection.run_charts import describe_path, nodes_kept, path_diagram, timeline_spans
from crag.types import ModelCall
from tests.inspection import runs

INJECTED = '"]; click retrieve "javascript:alert(1)"'


@pytest.mark.parametrize(
    ("trace", "there"),
    [
        (
            runs.incorrect(),
            [
                'retrieve["Find passages<br/>2 of 1,284 passages · 20 ms"]',
                'grade_documents["Grade<br/>0 of 2 relevant · 1.7 s"]',
                'decide("Decide<br/>best 0.06 #lt; 0.31")',
                "decide ==>|not found| transform_query",
                "decide -.->|covered| refine_knowledge",
                "transform_query ==> web_search",
                'web_search["Search the web<br/>1 result · 0.8 s"]',
                "web_search ==> refine_knowledge",
                "generate ==> check_answer",
            ],
        ),
        (
            runs.correct(),
            [
                "decide ==>|covered| refine_knowledge",
                "decide -.->|partly or not found| transform_query",
                "transform_query -.-> web_search",
                'transform_query["Rewrite query"]',
                "class transform_query,web_search off",
                "1 of 2 excerpts kept",
            ],
        ),
        (
            runs.correct(refine=False, rewrite="none"),
            ["decide -.->|partly or not found| web_search", "web_search -.-> generate"],
        ),
        (runs.without_web(), ["decide ==>|not found| generate", "refine_knowledge -.-> generate"]),
        (runs.waiting(), ["Search the web<br/>waiting for you", "web_search -.-> refine"]),
        (runs.halted("stopped"), ["Grade<br/>0 of 0 · stopped here", "class grade_documents halted"]),
        (runs.halted("failed"), ["failed here", "grade_documents -.-> decide"]),
        (runs.halted("interrupted"), ["interrupted here"]),
        (
            runs.version(),
            ["2 of 1,284 passages · reused", "1 of 2 relevant · reused", "decide ==>|partly covered| generate"],
        ),
    ],
)
def test_the_diagram_shows_taken_and_possible_edges(trace, there):
    diagram = path_diagram(trace)
    for line in there:
        assert line in diagram


def test_with_grading_off_the_grader_is_passed_by():
    opened = runs.begun(policy="off", web="ask")
    events = [event for event in runs.graded(0.9) if getattr(event, "node", "") == "retrieve"]
    trace = runs.of(opened, events, runs.node("decide", 0.1, 0.1), runs.written(0.1), runs.ended(2.0))
    diagram = path_diagram(trace)
    assert "retrieve ==> decide" in diagram
    assert "decide ==>|grading off| generate" in diagram
    assert "web_search" not in diagram


def test_the_diagram_holds_no_text_of_documents_or_people():
    trace = runs.incorrect()
    trace.question = trace.query = trace.text = INJECTED
    assert INJECTED not in path_diagram(trace)
    assert "Who won" not in path_diagram(runs.incorrect())


def test_the_path_is_told_in_words_too():
    assert describe_path(runs.incorrect()).startswith("Steps taken: Find passages (2 of 1,284 passages · 20 ms), Grade")


def call(node, at, seconds=0.5):
    return ModelCall(node, "ollama:llama", at, seconds, ())


CALLS = [call("grade_documents", 0.9), call("grade_documents", 0.03), call("web_search", 3.2, 0.1)]


def told(trace, calls=(), now=None):
    return [(one.name, one.kind, round(one.start, 2), round(one.end, 2)) for one in timeline_spans(trace, calls, now)]


def test_each_node_has_its_calls_and_its_search_below_it():
    assert told(runs.incorrect(), CALLS)[:8] == [
        ("Find passages", "app", 0.0, 0.02),
        ("Grade", "model", 0.02, 1.72),
        ("call 1", "model", 0.03, 0.53),
        ("call 2", "model", 0.9, 1.4),
        ("Decide", "app", 1.72, 1.72),
        ("Rewrite query", "app", 1.72, 2.6),
        ("Search the web", "web", 2.6, 3.4),
        ("search", "web", 2.6, 3.2),
    ]


@pytest.mark.parametrize(("name", "kind"), [("Grade", "model"), ("Write", "model")])
def test_without_calls_the_events_tell_what_was_waited_for(name, kind):
    assert kind in [span.kind for span in timeline_spans(runs.correct(), []) if span.name == name]


def test_what_a_version_kept_has_no_bar():
    assert [name for name, *_ in told(runs.version())] == ["Decide", "Write", "Check"]
    assert nodes_kept(runs.version()) == ["retrieve", "grade_documents"]


def test_a_running_node_ends_now_and_waiting_takes_no_time():
    trace = runs.waiting()
    assert told(trace, now=9.0)[-1] == ("Rewrite query", "app", 1.72, 2.6)
    trace.steps[-1].state = "running"
    assert told(trace, now=9.0)[-1] == ("Search the web", "web", 2.6, 9.0)
