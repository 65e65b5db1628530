"""The steps of a run in words, as every painter shows them."""

import re
from dataclasses import replace

import pytest

from crag.events import (
    AnswerChecked,
    NodeEnded,
    NodeStarted,
    PromptBuilt,
    QuestionCondensed,
    QuestionShortened,
    RouteChosen,
    WebSkipped,
)
from crag.inspection.steps import (
    describe_activity,
    describe_duration,
    describe_prompt,
    describe_sent_query,
    describe_step,
    describe_steps,
)
from crag.runs.trace import Step, Trace
from crag.translation import use_language
from crag.types import Support, Usage, Verdict
from tests.inspection import runs

GRADED_BY = "Graded by Fast, llama · relevant from 0.59, not relevant below 0.31 · default thresholds"


def steps(trace):
    return {step.node: step for step in describe_steps(trace)}


@pytest.mark.parametrize(
    ("node", "summary", "lines"),
    [
        ("retrieve", "2 of 1,284 passages · 20 ms", ("Nearest by meaning and words, using Nomic.",)),
        ("grade_documents", "0 of 2 relevant · 1.7 s", ()),
        (
            "decide",
            "best 0.06 < 0.31",
            (
                "Best 0.06.",
                GRADED_BY,
            ),
        ),
        ("transform_query", "0.9 s", ("“winner 2024”",)),
        ("web_search", "1 result · 0.8 s", ("Sent to Tavily: “winner of 2024”",)),
        ("refine_knowledge", "1 of 2 excerpts kept · 0.2 s", ()),
        ("generate", "43 tokens · 1.3 s", ()),
        ("check_answer", "1 of 1 sentence supported", ("Every sentence is supported by its source.",)),
    ],
)
def test_a_step_has_a_summary_and_lines(node, summary, lines):
    step = steps(runs.incorrect())[node]
    assert (step.summary, step.lines) == (summary, lines)


@pytest.mark.parametrize(
    ("condensed", "line", "expanded"),
    [("Who won? (2024)", "Understood as “Who won? (2024)”", True), ("Who won?", "Understood as asked.", False)],
)
def test_a_follow_up_that_was_reworded_is_shown_open(condensed, line, expanded):
    trace = runs.of(
        runs.begun(), runs.node("condense_question", 0.1, 0.2, QuestionCondensed(condensed, "It refers back."))
    )
    step = steps(trace)["condense_question"]
    assert (step.lines, step.expanded) == ((line, "It refers back."), expanded)


def test_why_a_question_was_understood_so_is_said_in_the_language_of_the_screen():
    reason = (
        "It names no subject, so “ferry” was added from the previous question. "
        "“this manual” means “Boats”, which the previous answer cites."
    )
    condensed = runs.node("condense_question", 0.1, 0.2, QuestionCondensed("Why? (ferry)", reason))
    route = RouteChosen(
        "fact", "No passage matches “hens”; 2 passages read. The passages that fit best are searched instead."
    )
    trace = runs.of(runs.begun(), condensed, runs.node("retrieve", 0.2, 0.3, route))
    with use_language("ko"):
        shown = " ".join(line for step in describe_steps(trace) for line in step.lines)
    assert re.findall("[“‘](.*?)[”’]", shown) == ["Why? (ferry)", "ferry", "this manual", "Boats", "hens"]
    assert re.findall("[A-Za-z]{2,}", re.sub("[“‘].*?[”’]", "", shown)) == []


def test_words_of_the_built_in_engine_are_not_counted_as_tokens():
    trace = runs.correct()
    trace.prompt, trace.usage = PromptBuilt(0, 0, 0), Usage()
    assert steps(trace)["generate"].summary == "1.3 s"


def test_a_decision_by_the_user_shows_no_score_of_the_grader():
    trace = replace(runs.incorrect(), action="correct")
    assert steps(trace)["decide"].summary == ""


def test_a_step_lists_graded_passages_with_badge_and_reason():
    graded, searched = (steps(runs.incorrect())[node] for node in ("grade_documents", "web_search"))
    assert [(one.badge.word, one.badge.number, one.irrelevant) for one in graded.passages] == [
        ("not relevant", "0.06", True),
        ("not relevant", "0.02", True),
    ]
    assert [(one.id, one.reason) for one in searched.passages] == [(-1, "Names the winner.")]
    assert (graded.candidates, searched.candidates) == (2, 1)


def test_an_override_shows_the_graders_score_separately():
    trace = runs.correct()
    trace.verdicts[1] = Verdict(1, "irrelevant", 0.94, "Because.", ruling="drop")
    badge = steps(trace)["grade_documents"].passages[0].badge
    assert (badge.word, badge.number, badge.remark) == ("left out by you", "", "0.94")


def test_refining_shows_strips():
    (passage,) = steps(runs.correct())["refine_knowledge"].passages
    assert [(strip.text, strip.kept) for strip in passage.strips] == [("Kept.", True), ("Struck.", False)]


def test_the_decision_has_the_badge_of_its_action():
    assert steps(runs.incorrect())["decide"].badge.word == "not found in your documents"


@pytest.mark.parametrize(
    ("trace", "node", "summary", "icon"),
    [
        (runs.waiting(), "web_search", "waiting for you", "pause_circle"),
        (runs.halted("stopped"), "grade_documents", "0 of 0 · stopped here", "stop_circle"),
        (runs.halted("failed"), "grade_documents", "0 of 0 · failed here", "error"),
        (runs.version(), "grade_documents", "1 of 2 relevant · reused", "check_circle"),
    ],
)
def test_a_step_that_did_not_end_or_was_kept_says_so(trace, node, summary, icon):
    assert (steps(trace)[node].summary, steps(trace)[node].icon) == (summary, icon)


def test_a_query_that_waits_has_not_been_sent():
    assert steps(runs.waiting())["web_search"].lines == ("“winner 2024” has not been sent.",)
    assert describe_sent_query(runs.waiting()) == ""


def test_a_wanted_search_that_did_not_start_is_its_own_step():
    trace = runs.without_web()
    trace.apply(WebSkipped("The web is off, so the web was not searched."))
    described = describe_steps(trace)
    assert [step.node for step in described][2:4] == ["decide", "web_search"]
    assert (described[3].summary, described[3].lines) == ("skipped", ("The web is off, so the web was not searched.",))
    assert described[3].icon == "remove_circle_outline"


def test_a_running_step_is_open_and_says_what_it_does():
    trace = Trace().apply_all([NodeStarted("retrieve", 0.0)])
    (step,) = describe_steps(trace)
    assert (step.summary, step.lines, step.expanded) == ("running", ("Finding the nearest passages.",), True)
    trace.apply(NodeEnded("retrieve", 0.1))
    assert describe_steps(trace)[0].lines == ()


def test_a_refusal_says_that_there_was_nothing_to_write_from():
    written, checked = (describe_step(Step(node, 0.0, "done", 0.001), Trace()) for node in ("generate", "check_answer"))
    assert (written.summary, written.lines) == ("nothing to answer from · 1 ms", ("There was nothing to answer from.",))
    assert (checked.summary, checked.lines) == ("nothing to check", ("There was nothing to check.",))


def test_a_query_that_found_no_table_says_so():
    assert describe_step(Step("query_table", 0.0, "done", 0.02), Trace()).summary == "no table answers this · 20 ms"


def test_the_prompt_reports_cuts_and_the_count_of_the_server():
    trace = runs.correct()
    assert describe_prompt(trace).text == "Prompt 612 of 8,192 tokens · nothing left out"
    assert describe_prompt(trace).counted == "The model server counted 700."
    trace.apply(QuestionShortened(900, 300))
    trace.prompt = replace(trace.prompt, left_out=2)
    assert describe_prompt(trace).text.endswith("300 tokens of your question left out · 2 excerpts left out")


def test_without_a_model_the_passages_are_quoted():
    trace = runs.correct()
    trace.prompt = replace(trace.prompt, window=0)
    assert describe_prompt(trace) is None
    assert steps(trace)["generate"].lines == ("Quoted from the passages; no language model was used.",)


def test_unsupported_sentences_come_before_weakly_supported():
    trace = runs.correct()
    trace.apply(
        AnswerChecked(
            (Support("Weak.", "weak", (1,)), Support("Held.", "supported", (1,)), Support("Bare.", "unsupported"))
        )
    )
    step = steps(trace)["check_answer"]
    assert [(one.badge.word, one.text) for one in step.sentences] == [("no source", "Bare."), ("weak source", "Weak.")]
    assert (step.summary, step.lines) == ("2 of 3 sentences supported", ())


def test_activity_and_duration_of_the_run():
    assert describe_activity(Trace()) == ("Getting ready", "")
    assert describe_activity(runs.halted("stopped")) == ("Grading passages", "")
    assert describe_duration(runs.correct()) == "3.3 s in total"
    assert describe_duration(runs.halted("stopped")) == "Stopped after 0.5 s"
    assert describe_duration(runs.waiting()) == ""


def test_the_best_score_stands_on_its_side_of_the_threshold():
    trace = runs.of(runs.begun(), runs.graded(0.3099), runs.node("decide", 1.72, 1.73))
    assert steps(trace)["decide"].summary == "best 0.3099 < 0.31"
