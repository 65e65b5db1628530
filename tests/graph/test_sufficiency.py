"""What the assessment on all passages together changes: the action, the route, and what is written."""

import pytest

from crag.events import RunStarted, SufficiencyJudged, decode_event, encode_event
from crag.inspection.run_labels import answer_badge
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.types import Assessment, Statement
from tests.doubles.engine import ListWeb, passage
from tests.graph.conftest import Bench

LIBRARY = ["retrieve_documents", "grade_document_retrieval", "generate_answer"]
REWRITTEN = ["retrieve_documents", "grade_document_retrieval", "transform_query", "web_search", "generate_answer"]
BRIDGES = [
    passage(1, "The bridge opened in 1931.", title="Guide", published="2019-03-03"),
    passage(2, "The bridge opened in 1933.", title="Diary", added_at=1_700_000_000.0),
]
DATES = Assessment("conflicting", "They differ.", (Statement(1, BRIDGES[0].text), Statement(2, BRIDGES[1].text)))


@pytest.mark.parametrize(
    ("scores", "sufficiency", "policy", "web", "action", "route", "outcome", "badge"),
    [
        ({1: 0.9, 2: 0.0}, "sufficient", "paper", True, "correct", LIBRARY, "documents", "from your documents"),
        ({1: 0.9}, None, "paper", True, "correct", LIBRARY, "documents", "from your documents"),
        ({1: 0.9}, "insufficient", "paper", False, "ambiguous", LIBRARY, "not_answered", "related, but no answer"),
        ({1: 0.4}, "insufficient", "paper", False, "ambiguous", LIBRARY, "not_answered", "related, but no answer"),
        ({1: 0.0}, "insufficient", "paper", False, "incorrect", LIBRARY, "not_answered", "not found in your documents"),
        ({1: 0.4}, None, "paper", False, "ambiguous", LIBRARY, "documents_partly", "partly covered"),
        ({1: 0.9, -1: 1.0}, "insufficient", "paper", True, "ambiguous", REWRITTEN, "documents_and_web", None),
        ({1: 0.9, -1: 0.0}, "insufficient", "paper", True, "ambiguous", REWRITTEN, "not_answered", None),
        ({1: 0.4}, "sufficient", "paper", False, "ambiguous", LIBRARY, "documents_partly", "partly covered"),
        ({1: 0.9}, "insufficient", "any", False, "correct", LIBRARY, "documents", "from your documents"),
        ({1: 0.9}, "insufficient", "none", False, "correct", LIBRARY, "documents", "from your documents"),
    ],
)
def test_the_assessment_decides_only_where_the_policy_asks_for_it(
    scores, sufficiency, policy, web, action, route, outcome, badge
):
    found = ListWeb([passage(-1, "Web page -1 reports.", origin="web")]) if web else None
    bench = Bench(scores, RunOptions(policy=policy), found, assessment=Assessment(sufficiency, "So it is judged."))
    trace = bench.ask()
    assert (trace.action, trace.trajectory, trace.outcome) == (action, route, outcome)
    assert trace.sufficiency == (sufficiency if policy == "paper" else None)
    assert len(bench.assessor.questions) == (policy == "paper"), "asked once, or not at all"
    assert badge in (None, answer_badge(trace).word)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When did it open?", "**I found related passages, but no answer.**"),
        ("언제 열렸습니까?", "**관련된 문단은 있지만 답은 찾지 못했습니다.**"),
        ("什麼時候開放？", "**找到了相關的段落，但沒有找到答案。**"),
    ],
)
def test_related_passages_are_told_apart_from_none_at_all(question, said):
    assessment = Assessment("insufficient", "No date.")
    trace = Bench({1: 0.9}, assessment=assessment).ask(question)
    assert trace.text.startswith(said)
    assert trace.action_reason == "1 of 1 passage is relevant, but together they do not answer your question."
    assert (
        Bench({1: 0.0}, assessment=assessment).ask("When?").text.startswith("**I found no answer in your documents.**")
    )


def test_what_the_user_chose_to_use_is_answered_from():
    bench = Bench({1: 0.9}, assessment=Assessment("insufficient", "No date."), state={"rulings": {1: "use"}})
    assert (bench.ask().outcome, bench.writer.given[0].passage.id) == ("documents", 1)


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("When?", "— Guide, published 3 Mar 2019", "— Diary, added 14 Nov 2023"),
        ("언제?", "— Guide, 2019-03-03 발행", "— Diary, 2023-11-14 추가"),
    ],
)
def test_documents_that_disagree_are_both_quoted_with_their_dates(question, first, second):
    bench = Bench({1: 0.9, 2: 0.9}, passages=BRIDGES, assessment=DATES)
    trace = bench.ask(question)
    assert f"- “The bridge opened in 1931.” [1] {first}" in trace.text
    assert f"- “The bridge opened in 1933.” [2] {second}" in trace.text
    assert [(cited.n, cited.passage_id) for cited in trace.citations] == [(1, 1), (2, 2)]
    assert (trace.outcome, answer_badge(trace).word, bench.writer.given) == ("conflicting", "sources disagree", [])
    assert {sentence.strength for sentence in trace.sentences} == {"supported"}


@pytest.mark.parametrize("scores", [{1: 0.9, 2: 0.4}, {1: 0.0, 2: 0.9}])
def test_a_document_that_is_not_trusted_does_not_disagree(scores):
    trace = Bench(scores, passages=BRIDGES, assessment=DATES).ask()
    assert (trace.sufficiency, trace.outcome) == (None, "documents")


def test_documents_that_say_the_same_do_not_disagree():
    same = tuple(Statement(n, BRIDGES[0].text) for n in (1, 2))
    trace = Bench({1: 0.9, 2: 0.9}, passages=BRIDGES, assessment=Assessment("conflicting", "They differ.", same)).ask()
    assert (trace.sufficiency, trace.outcome) == (None, "documents")


def test_a_document_that_the_user_leaves_out_disagrees_no_longer():
    state = {"begin_at": "decide", "passages": tuple(BRIDGES), "assessment": DATES, "rulings": {2: "drop"}}
    verdicts = Bench({1: 0.9, 2: 0.9}, passages=BRIDGES).ask().verdicts
    dropped = {1: verdicts[1], 2: verdicts[2].with_ruling("drop")}
    trace = Bench({1: 0.9, 2: 0.9}, passages=BRIDGES, state=state | {"verdicts": dropped}).ask()
    assert [cited.passage_id for cited in trace.citations] == [1]


def test_the_assessment_is_kept_in_the_log_and_old_runs_have_none():
    kept = decode_event(encode_event(SufficiencyJudged(DATES)))
    started = RunStarted("When?", RunOptions(), 0.0)
    assert Trace().apply_all([started, kept]).assessment == DATES
    assert Trace().apply_all([started]).sufficiency is None
