"""Continuing an earlier run from any node with a verdict, the query or an option changed."""

from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from crag.errors import BadRequest
from crag.events import ConsentAsked, RunEnded
from crag.options import RunOptions
from crag.runs.revisions import Revision, options_used_from, resumable_nodes
from crag.types import Thresholds
from tests.applications import wait
from tests.runs.test_versions import answered

WEB = RunOptions(web="auto")
POOR = {1: 0.1, 2: 0.0, -1: 0.9}


def revised(home, run, node, **changes):
    version = home.runs.revise(run.id, node, Revision(**changes))
    return version, wait(version)


def ran_anew(trace):
    return [step.node for step in trace.steps if not step.kept]


def test_a_run_can_be_gone_on_from_each_node_that_it_came_to(house):
    home = house(scores=POOR)
    _, run, trace = answered(home, WEB)
    nodes = resumable_nodes(trace)
    assert nodes == [
        "retrieve", "grade_documents", "decide", "transform_query", "web_search", "refine_knowledge", "generate"
    ]  # fmt: skip
    for node in nodes:
        _, after = revised(home, run, node)
        assert (after.state, after.text, after.outcome) == ("done", trace.text, trace.outcome), node
        assert [step.node for step in after.steps] == [
            step.node for step in trace.steps if node != "decide" or step.node != "transform_query"
        ], "what the web held is used again after deciding, so no query is written"
        assert ran_anew(after)[0] == node


@pytest.mark.parametrize(
    ("node", "searches", "gradings"),
    [("retrieve", 2, 6), ("grade_documents", 2, 6), ("decide", 1, 3), ("web_search", 2, 4), ("generate", 1, 3)],
)
def test_only_what_comes_after_is_done_again(house, node, searches, gradings):
    home = house(scores=POOR)
    _, run, _ = answered(home, WEB)
    revised(home, run, node)
    assert len(home.web.queries) == searches
    assert len(home.grader.graded) == gradings


def test_changed_verdicts_decide_again_and_are_kept_as_labels(house):
    home = house()
    _, run, _ = answered(home)
    version, trace = revised(home, run, "decide", rulings={1: "drop"})
    assert "fact1" not in trace.text
    assert "fact2" in trace.text
    assert home.runs.versions(version.id)[-1].change == "you left out p. 1"
    assert trace.verdicts[1].ruling == "drop"


def test_a_ruling_stands_when_the_passages_are_graded_again(house):
    home = house()
    _, run, _ = answered(home)
    _, trace = revised(home, run, "retrieve", rulings={1: "drop"})
    assert trace.verdicts[1].ruling == "drop"
    assert home.grader.graded == [1, 2, 1, 2]


def test_a_given_query_is_sent_instead_of_a_written_one(house):
    home = house(scores=POOR)
    _, run, _ = answered(home, WEB)
    for node in ("transform_query", "web_search"):
        version, trace = revised(home, run, node, query="a better query")
        assert home.web.queries[-1] == trace.query == trace.query_sent == "a better query"
        assert home.runs.versions(version.id)[-1].change == "you wrote the query"
    assert len(home.web.queries) == 3


def test_a_revision_asks_for_consent_before_it_searches(house):
    home = house(scores=POOR)
    _, run, _ = answered(home, WEB)
    version = home.runs.revise(run.id, "web_search", Revision(query="mine", options=replace(WEB, web="ask")))
    trace = wait(version)
    assert (trace.state, trace.waiting.query) == ("waiting", "mine")
    assert len(home.web.queries) == 1
    assert "web" not in trace.found
    assert wait(home.runs.answer_consent(version.id, None)).state == "done"
    assert len(home.web.queries) == 1


def test_what_was_decided_about_the_web_is_not_asked_again(house):
    home = house(scores=POOR)
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", RunOptions(web="ask"))
    wait(run)
    before = wait(home.runs.answer_consent(run.id, "finals"))
    version, trace = revised(home, run, "generate")
    assert (trace.state, trace.text) == ("done", before.text)
    assert not any(isinstance(event, ConsentAsked) for _, event in home.runs.attach(version.id).follow(seconds=1))
    assert home.web.queries == ["finals"]


def test_settings_are_changed_from_there_on(house):
    home = house(scores={1: 0.5, 2: 0.1})
    _, run, before = answered(home)
    assert before.action == "ambiguous"
    version, trace = revised(home, run, "decide", options=replace(before.options, thresholds=Thresholds(0.2, 0.4)))
    assert (trace.action, trace.verdicts[1].word) == ("correct", "relevant")
    assert home.runs.versions(version.id)[-1].change == "thresholds 0.2 and 0.4"
    _, plain = revised(home, run, "decide", options=replace(before.options, policy="off", refine=False))
    assert plain.step("refine_knowledge") is None
    assert home.grader.graded == [1, 2]


def test_the_web_is_searched_again_when_its_options_change(house):
    home = house(scores=POOR)
    _, run, _ = answered(home, WEB)
    _, trace = revised(home, run, "decide", options=replace(WEB, web_results=1))
    assert len(home.web.queries) == 2
    assert trace.outcome == "web"
    _, without = revised(home, run, "decide", options=replace(WEB, web="off"))
    assert (without.outcome, len(home.web.queries)) == ("not_answered", 2)


def test_fewer_passages_are_retrieved_and_graded(house):
    home = house()
    _, run, before = answered(home)
    _, trace = revised(home, run, "retrieve", options=replace(before.options, k=1))
    assert trace.found["library"] == (1,)
    assert home.grader.graded == [1, 2, 1]


def test_a_follow_up_keeps_what_was_said_before_it(house):
    home = house()
    conversation, _, _ = answered(home)
    run = home.runs.start(conversation.id, "And then?", RunOptions())
    before = wait(run)
    _, trace = revised(home, run, "condense_question")
    assert trace.condensed == before.condensed == "And then? (about What holds?)"
    _, kept = revised(home, run, "retrieve")
    assert home.retriever.queries[-1] == before.condensed
    assert kept.step("condense_question").kept


def test_a_killed_run_resumes_from_its_last_node(house, tmp_path):
    home = house()
    _, run, trace = answered(home)
    home.close()
    assert not (tmp_path / "checkpoints.sqlite").exists(), "only runs that may wait for a person need it"
    again = house()
    version, after = revised(again, run, "generate")
    assert after.text == trace.text
    assert again.runs.versions(version.id)[-1].change == "again from writing"
    assert wait(again.runs.overrule(run.id, {1: "drop"})).verdicts[1].ruling == "drop"


@pytest.mark.parametrize(
    ("node", "changes"),
    [
        ("web_search", {}),
        ("check_answer", {}),
        ("condense_question", {}),
        ("decide", {"rulings": {9: "use"}}),
        ("decide", {"query": "from here none is written"}),
    ],
)
def test_impossible_revisions_are_refused_without_a_trace(house, node, changes):
    home = house()
    _, run, _ = answered(home)
    with pytest.raises(BadRequest):
        home.runs.revise(run.id, node, Revision(**changes))
    assert len(home.runs.versions(run.id)) == 1


def test_a_run_that_is_not_done_cannot_be_gone_on_from(house):
    home = house(scores=POOR)
    conversation = home.conversations.create()
    run = home.runs.start(conversation.id, "What holds?", RunOptions(web="ask"))
    trace = wait(run)
    assert resumable_nodes(trace) == []
    with pytest.raises(BadRequest):
        home.runs.revise(run.id, "decide", Revision())
    trace.apply(RunEnded("stopped", 1.0))
    assert "decide" in resumable_nodes(trace)


def test_only_settings_that_still_count_are_named():
    assert options_used_from("generate")[0] == "model"
    assert "k" not in options_used_from("decide")
    assert options_used_from("retrieve")[:3] == ["k", "collection", "source_ids"]
    assert "policy" in options_used_from("grade_documents")


def test_a_version_whose_rulings_cannot_be_written_is_not_begun(house):
    home = house()
    conversation, run, _ = answered(home)
    with home.database.write() as connection:
        connection.execute(text("CREATE TRIGGER full BEFORE INSERT ON rulings BEGIN SELECT RAISE(ABORT, ''); END"))
    with pytest.raises(IntegrityError):
        home.runs.revise(run.id, "decide", Revision({1: "drop"}))
    assert len(home.runs.versions(run.id)) == 1
    assert home.runs.active(conversation.id) is None
    assert home.conversations.messages(conversation.id)[-1].run_id == run.id
