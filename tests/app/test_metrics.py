"""Figures for Prometheus: what runs of this process did, and nothing of what was asked, answered or by whom."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from crag.options import RunOptions
from tests.applications import opened_with
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say
from tests.waiting import PATIENCE, wait_until

PAPER = b"# Part\n\nTraceMonkey records a trace. The trace is compiled and patched.\n"
QUESTION = "What does TraceMonkey record?"


@pytest.fixture
def ollama():
    with ScriptedOllama() as server:
        yield server


@pytest.fixture
def application(tmp_path, ollama):
    given = {"chat_model": "auto", "ollama_host": ollama.url, "metrics": True}
    with opened_with(tmp_path / "home", {"paper.md": PAPER}, **given) as opened:
        yield opened


def ask(application, **options):
    """The trace of a question, once it is counted."""
    before = count_questions(application)
    run = application.runs.start(None, QUESTION, RunOptions(**options))
    assert [*run.follow(seconds=PATIENCE)]
    wait_until(lambda: count_questions(application) > before)
    return application.runs.trace(run.id), application.runs.calls(run.id)


def count_questions(application):
    return sum(value for name, value in read(application).items() if name[0] == "crag_questions_total")


def read(application):
    """Every sample, by its name and the values of its labels in the order of their names."""
    text = application.metrics.render().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}


def test_an_answer_counts_with_its_steps_and_tokens(application):
    trace, calls = ask(application)
    figures = read(application)
    assert figures["crag_questions_total", trace.outcome] == count_questions(application) == 1
    for step in trace.steps:
        assert figures["crag_step_seconds_count", step.node] == 1
        assert figures["crag_step_seconds_sum", step.node] == pytest.approx(step.seconds)
    prompts, answers = (sum(getattr(call, f"{kind}_tokens") or 0 for call in calls) for kind in ("prompt", "answer"))
    model = calls[0].model
    assert figures["crag_tokens_total", "prompt", model] == prompts > 0
    assert figures["crag_tokens_total", "answer", model] == answers > 0
    assert (figures["crag_documents",], figures["crag_passages",]) == (1, 1)


def test_a_fault_counts_by_its_code_without_the_name_that_was_typed(application):
    trace, _ = ask(application, model="openai:typed-by-somebody")
    figures = read(application)
    assert figures["crag_questions_total", "failed"] == figures["crag_faults_total", trace.error_code] == 1
    assert not {"typed", "TraceMonkey", "paper"} & {part for name in figures for part in "-".join(name).split("-")}


def test_a_question_is_active_until_it_is_stopped(application, ollama):
    ollama.script = lambda _: Say("word", end="hang")
    run = application.runs.start(None, QUESTION, RunOptions())
    ollama.wait_until(lambda: ollama.chats)
    figures = read(application)
    assert figures["crag_questions_active",] + figures["crag_questions_waiting",] == 1
    application.runs.stop(run.id)
    wait_until(lambda: read(application).get(("crag_questions_total", "stopped")) == 1)
    assert read(application)["crag_questions_active",] == 0


def test_a_database_that_is_gone_leaves_the_other_figures(application, tmp_path):
    (tmp_path / "home").rename(tmp_path / "moved")
    figures = read(application)
    (tmp_path / "moved").rename(tmp_path / "home")
    assert ("crag_documents",) not in figures
    assert figures["crag_questions_active",] == 0
