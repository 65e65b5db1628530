"""Labels of runs: engine changes, decisions and outcomes."""

from dataclasses import replace
from importlib.resources import files

import pytest

from crag.inspection.run_archive import RunRow
from crag.inspection.run_labels import (
    ACTION_BADGES,
    OUTCOME_BADGES,
    RULING_BADGES,
    RUN_STATE_BADGES,
    STRENGTH_BADGES,
    VERDICT_BADGES,
    answer_badges,
    answer_facts,
    decision_badge,
    describe_engine_change,
    describe_trace_grader,
    run_badge,
    source_locators,
)
from crag.runs.trace import Trace
from crag.translation import use_language
from crag.types import Citation
from tests.doubles.engine import passage

GONE = "Ollama does not answer at 127.0.0.1:11434, so the built-in engine answers."
FOUND = "Ollama at 127.0.0.1:11434 has Llama 3.1 8B, so it answers."
LLAMA, BUILTIN = "Llama 3.1 8B", "Built-in engine"


def answer(model, reason="", small_talk=None):
    return Trace(model=model, model_reason=reason, small_talk=small_talk)


@pytest.mark.parametrize(
    ("now", "earlier", "said"),
    [
        pytest.param(answer(BUILTIN, GONE), [], "", id="first-answer"),
        pytest.param(answer(BUILTIN, GONE), [answer(BUILTIN)], "", id="same-engine"),
        pytest.param(answer(BUILTIN, GONE), [answer(LLAMA), answer(BUILTIN)], GONE, id="model-gone"),
        pytest.param(answer(LLAMA, FOUND), [answer(BUILTIN)], FOUND, id="model-found"),
        pytest.param(
            answer(LLAMA, FOUND), [answer(BUILTIN), answer(LLAMA)], "Llama 3.1 8B answers again.", id="model-back"
        ),
        pytest.param(answer(BUILTIN), [answer(LLAMA)], "", id="changed-by-hand"),
        pytest.param(answer(BUILTIN, GONE), [answer(""), answer(LLAMA)], GONE, id="failed-before-an-engine-opened"),
        pytest.param(answer(BUILTIN, GONE, "thanks"), [answer(LLAMA)], "", id="small-talk"),
        pytest.param(
            answer(BUILTIN, GONE),
            [answer(LLAMA, FOUND, "thanks"), answer(BUILTIN), answer(LLAMA)],
            "",
            id="small-talk-before",
        ),
    ],
)
def test_an_engine_that_changed_by_itself_is_named_with_the_reason(now, earlier, said):
    assert describe_engine_change(now, iter(earlier)) == said


@pytest.mark.parametrize(
    ("action", "outcome", "word"),
    [
        ("correct", None, "from your documents"),
        ("correct", "documents", "from your documents"),
        ("correct", "documents_partly", "partly covered"),
        ("correct", "possible", "possible answer"),
        ("ambiguous", "not_answered", "related, but no answer"),
        ("incorrect", "web", "not found in your documents"),
        (None, "documents", "grading off"),
    ],
)
def test_a_decision_promises_no_more_than_the_answer_holds(action, outcome, word):
    badge = decision_badge(action, outcome)
    assert badge.word == word
    assert (badge.colour == "green") == (outcome == "documents" and action is not None)


@pytest.mark.parametrize("outcome", [None, "not_answered"])
@pytest.mark.parametrize("action", ["incorrect", "ambiguous"])
def test_declining_is_no_error(action, outcome):
    assert "red" not in {badge.colour for badge in answer_badges(action, outcome)}


@pytest.mark.parametrize(
    ("state", "outcome", "action", "sufficiency", "word"),
    [
        ("done", "documents_partly", "ambiguous", None, "partly covered"),
        ("done", "web", "incorrect", None, "from the web"),
        ("done", "talk", None, None, "chat"),
        ("done", "not_answered", "incorrect", "insufficient", "not found in your documents"),
        ("done", "not_answered", "ambiguous", "insufficient", "related, but no answer"),
        ("stopped", "documents", "correct", None, "stopped"),
        ("waiting", None, None, None, "waiting for you"),
        ("done", None, None, None, "done"),
    ],
)
def test_a_run_is_labelled_with_its_outcome(state, outcome, action, sufficiency, word):
    row = RunRow("r", "Who?", None, 0.0, state, outcome=outcome, action=action, sufficiency=sufficiency)
    assert run_badge(row).word == word


@pytest.mark.parametrize(
    ("grader", "question", "label"),
    [
        ("score:ollama:llama3.1:8b@1", "Who?", "Fast, llama3.1:8b"),
        ("evaluator:minilm@1", "Who built the lighthouse?", "Evaluator, minilm"),
        ("evaluator:minilm@1", "등대는 누가 지었나요?", "Built-in"),
        ("evaluator:bge-m3@1", "등대는 누가 지었나요?", "Evaluator, bge-m3"),
        ("cascade:builtin:words@1+score:ollama:llama3.1:8b@1", "Who?", "Two-stage: Built-in, then llama3.1:8b"),
        ("cascade:evaluator:minilm@1+score:llama@1", "Who?", "Two-stage: Evaluator, minilm, then llama"),
        ("cascade:evaluator:minilm@1+score:llama@1", "谁建造了灯塔？", "Two-stage: Built-in, then llama"),
        ("unheard-of", "Who?", "unheard-of"),
    ],
)
def test_a_grader_is_named_by_what_really_graded(grader, question, label):
    assert describe_trace_grader(Trace(question=question, grader=grader)) == label


def test_a_decision_is_named_like_the_outcome_it_leads_to():
    words = {"correct": "documents", "ambiguous": "documents_partly", "incorrect": "not_answered"}
    assert {action: OUTCOME_BADGES[outcome].word for action, outcome in words.items()} == {
        action: badge.word for action, badge in ACTION_BADGES.items() if action
    }


@pytest.mark.parametrize(
    ("pages", "headings", "locators"),
    [
        ((6, 7), ("", ""), ["p. 6", "p. 7"]),
        ((6, 6), ("", ""), ["p. 6 · “…1.”", "p. 6 · “…2.”"]),
        ((None, None), ("Guide › Water", "Guide › Beans"), ["Water", "Beans"]),
        ((None, None), ("Guide › Water", "Tests › Water"), ["“…1.”", "“…2.”"]),
    ],
)
def test_sources_of_one_document_are_told_apart(pages, headings, locators):
    found = {n: passage(n, heading=heading) for n, heading in enumerate(headings, start=1)}
    citations = [
        Citation(n, n, "s1", "Notes", "notes.txt", page, f"Quote {n}.", "library")
        for n, page in zip(found, pages, strict=True)
    ]
    assert [*source_locators(Trace(citations=citations, passages=found)).values()] == locators


@pytest.mark.parametrize(
    "badges", [VERDICT_BADGES, STRENGTH_BADGES, RULING_BADGES, OUTCOME_BADGES, ACTION_BADGES, RUN_STATE_BADGES]
)
def test_every_badge_has_its_icon_in_exported_pages(badges):
    icons = files("crag.text").joinpath("icons.svg").read_text(encoding="utf-8")
    assert [badge.icon for badge in badges.values() if f'id="{badge.icon}"' not in icons] == []


@pytest.mark.parametrize(
    ("language", "page", "sheet"),
    [("en", "p. 2", "sheet Q1"), ("ko", "2쪽", "시트 Q1"), ("zh_Hant", "第 2 頁", "工作表 Q1")],
)
def test_the_place_of_a_source_is_in_the_language_of_the_page(language, page, sheet):
    cited = Citation(1, 1, "s1", "Notes", "notes.pdf", 2, "", "library")
    with use_language(language):
        assert cited.locator == page
        assert replace(cited, sheet="Q1").locator == sheet


@pytest.mark.parametrize(
    ("passages_cited", "said"), [((1, 2), "cites 2 of 3 passages"), ((1, 2, 2), "3 sources from 2 of 3 passages")]
)
def test_several_sources_from_one_passage_are_counted_as_listed(passages_cited, said):
    citations = tuple(Citation(n, one, "s", "T", "", None, "q", "library") for n, one in enumerate(passages_cited, 1))
    trace = Trace(state="done", outcome="documents", citations=citations, found={"library": (1, 2, 3)})
    assert answer_facts(trace) == [said]


@pytest.mark.parametrize(("location", "locator"), [("talk.pptx", "slide 1"), ("talk.pdf", "p. 1")])
def test_a_place_in_a_presentation_is_a_slide(location, locator):
    assert Citation(1, 1, "s", "T", location, 1, "q", "library").locator == locator
