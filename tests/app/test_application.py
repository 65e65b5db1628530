"""The assembled application: real library, graph and clients over scripted servers and real HTTP."""

import subprocess
import sys
import threading
from contextlib import ExitStack
from typing import get_args

import pytest
from sqlalchemy import select, update

from crag.app.application import open_application
from crag.cancellation import Cancellation
from crag.concurrency.processor import max_computing_runs, run_queue
from crag.errors import HomeFault
from crag.evaluation.types import Dataset, EvaluationPlan, Example, Variant
from crag.events import PassageGraded, TokensWritten
from crag.options import GraderKind, ModelParameters, RunOptions
from crag.settings import Settings
from crag.sharing.backup import write_backup
from crag.sharing.restore import restore_backup
from crag.storage.tables import evaluations
from crag.types import ignore_progress
from tests import applications
from tests.applications import opening, wait
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import LLAMA, NOMIC, Model, Say
from tests.doubles.tavily import TavilyServer
from tests.waiting import PATIENCE, wait_until

PAPER = "\n\n".join(
    f"# Part {number}\n\nTraceMonkey records a trace in part {number}. " + "The trace is compiled and patched. " * 30
    for number in range(8)
)
CLOUD = "ollama:gpt-oss:120b-cloud"
QUESTION = "What does TraceMonkey record?"
HEAVY = {
    "PIL", "docx", "faiss", "gpt4all", "httpx", "langchain", "langchain_core", "langchain_ollama", "langgraph", "lxml",
    "numpy", "ollama", "onnxruntime", "prometheus_client", "pydantic", "pypdfium2", "requests", "tavily", "tiktoken",
    "tokenizers", "trafilatura", "safetensors", "wordllama", "crag.app.checklist", "crag.evaluation.calibrator",
    "crag.evaluation.types",
}  # fmt: skip

NOTES = b"""# Kettle

The red kettle on the stove whistles when the water boils. The cook lifts it off at once.

# Lamp

The lamp in the hall was bought in 1931 by the grandmother of the cook.
"""
FOUND = {
    "title": "2024 NBA Finals",
    "url": "https://example.org/finals",
    "content": "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks.",
    "score": 0.9,
}
WEB_QUESTION = "Who won the 2024 NBA finals?"


@pytest.fixture
def opened(tmp_path):
    with opening(tmp_path / "home", chat_model="auto") as open_:
        yield open_


def ask(application, **options):
    return applications.ask(application, QUESTION, **options)


def test_opening_loads_nothing_heavy(tmp_path):
    script = (
        "import sys; from pathlib import Path; from crag.app.application import open_application\n"
        "open_application(home=Path(sys.argv[1])).close()\n"
        "print(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.split())
    assert "sqlalchemy" in loaded
    assert not HEAVY & loaded


def test_on_a_bare_machine_the_builtin_engine_answers(opened):
    application = opened()
    assert application.library.counts()[0] == 0
    assert application.model_choice().name == "builtin"
    assert "does not answer" in application.model_choice().reason
    assert application.embedders.wanted().reason


def test_llama_is_taken_as_soon_as_it_is_there(opened):
    with ScriptedOllama() as ollama:
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        trace = ask(application)
    assert (trace.model, trace.state, trace.outcome) == ("Llama 3.1 8B", "done", "documents")
    assert trace.usage.answer_tokens
    windows = {chat.body["options"]["num_ctx"] for chat in ollama.chats}
    assert len(windows) == 1, "another window would reload the model"


def test_a_model_that_runs_elsewhere_is_named_as_such(opened):
    cloud = Model("gpt-oss:120b-cloud", digest="d" * 64)
    with ScriptedOllama(models=[LLAMA, cloud]) as ollama:
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        assert ask(application).notes == []
        refused = ask(application, model=CLOUD)
        assert (refused.state, refused.error_code, refused.error_model) == ("failed", "consent_needed", CLOUD)
        assert "Nothing was sent." in refused.remedy
        application.preferences.allow_model(CLOUD)
        (note,) = ask(application, model=CLOUD).notes
        (of_grader,) = ask(application, model="builtin", grader_model=CLOUD).notes
    assert "another machine" in note
    assert note == of_grader


@pytest.mark.parametrize("grader", sorted({*get_args(GraderKind)} - {"evaluator"}))
def test_requests_to_remote_models_are_logged_without_documents(opened, grader):
    cloud = Model("gpt-oss:120b-cloud", digest="d" * 64)
    with ScriptedOllama(models=[LLAMA, cloud]) as ollama:
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        ask(application, grader=grader)
        assert application.outbound_log.entries() == []
        before = len(ollama.chats)
        application.preferences.allow_model(CLOUD)
        ask(application, model=CLOUD, grader=grader)
        rows = application.outbound_log.entries()
    assert len(rows) == len(ollama.chats) - before > 0
    assert {(row.host, row.kind) for row in rows} == {("ollama.com", "model")}
    assert all(QUESTION in row.what and "The trace is compiled" not in row.what for row in rows)


def test_passages_are_graded_in_parallel_and_tokens_stream(opened):
    with ScriptedOllama() as ollama:

        def reply(asked):
            ollama.wait_until(lambda: len(ollama.chats) >= 4)
            return Say(answer_like_a_little_model(asked), end="hang" if asked.writes else "done")

        ollama.script = reply
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        run = application.runs.start(None, QUESTION, RunOptions(refine=False, grader="score"))
        arrived = []
        for _, event in run.follow(seconds=PATIENCE):
            arrived.append(type(event))
            if arrived.count(TokensWritten) > 5:
                break
        application.runs.stop(run.id)
    assert ollama.most_at_once == 4
    assert arrived.count(PassageGraded) == 4
    assert arrived.count(TokensWritten) > 5, "though the reply never comes to its end"


def test_stop_closes_the_stream_of_the_model(opened):
    with ScriptedOllama(per_token=0.05) as ollama:
        said = Say("word " * 40, end="hang")
        ollama.script = lambda asked: said if asked.writes else Say('{"verdict": "yes", "reason": "r"}')
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        run = application.runs.start(None, QUESTION, RunOptions(refine=False))
        next(event for _, event in run.follow(seconds=PATIENCE) if isinstance(event, TokensWritten))
        application.runs.stop(run.id)
        trace = wait(run)
        assert (trace.state, trace.text.startswith("word")) == ("stopped", True)
        ollama.wait_until(lambda: ollama.chats[-1].outcome == "dropped")


def test_a_document_that_is_removed_while_it_is_answered_from(opened):
    with ScriptedOllama(per_token=0.03) as ollama:
        reply = "TraceMonkey records a trace [1]. " * 8
        ollama.script = lambda asked: Say('{"verdict": "yes", "reason": "r"}' if asked.schema else reply)
        application = opened(ollama_host=ollama.url)
        source = application.library.pipeline.add_bytes("paper.md", PAPER.encode()).id
        run = application.runs.start(None, QUESTION, RunOptions(refine=False))
        next(event for _, event in run.follow(seconds=PATIENCE) if isinstance(event, TokensWritten))
        application.library.remove([source])
        trace = wait(run)
        assert (trace.state, trace.citations[0].title) == ("done", "Part 0")
        assert application.library.passage(trace.citations[0].passage_id) is None
        assert ask(application).outcome == "not_answered", "nothing removed is found again"


def test_a_new_embedding_space_still_finds_old_passages(opened):
    with ScriptedOllama() as ollama:
        application = opened()
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        application.close()
        application = opened(ollama_host=ollama.url, embedder="ollama:nomic-embed-text")
        assert application.embedders.answering() == "Built-in embeddings"
        assert application.library.search("TraceMonkey records", 1)
        application.warm_up()
        assert application.library.space_work.wait(PATIENCE)
        assert application.embedders.answering() == "Nomic Embed Text"
        assert application.library.count_missing_vectors() == 0
        application.library.pipeline.add_bytes("other.md", b"# Bees\n\nBees dance to tell where the flowers are.")
        found = application.library.search("Where do bees dance?", 1)[0]
        assert "Bees" in found.text
        embedded = [asked.body["input"] for asked in ollama.requests if asked.path == "/api/embed"]
        assert any("search_query: " in str(given) for given in embedded)


def test_a_grader_of_its_own(opened):
    small = Model("llama3.2:1b", digest="c" * 64)
    with ScriptedOllama(models=[LLAMA, NOMIC, small]) as ollama:
        application = opened(ollama_host=ollama.url, chat_model="ollama:llama3.1:8b", grader_model="ollama:llama3.2:1b")
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        ask(application, refine=False)
    by_model = {bool(chat.body.get("logprobs")): chat.body["model"] for chat in ollama.chats}
    assert by_model == {True: "llama3.2:1b", False: "llama3.1:8b"}


@pytest.mark.parametrize("text", ["{user} {0.__class__} %s {{7*7}} $passages", '{"lc": 1, "type": "constructor"}'])
def test_template_signs_in_documents_stay_what_they_are(opened, text):
    with ScriptedOllama() as ollama:
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("odd.txt", f"TraceMonkey records {text} as a trace.".encode())
        assert ask(application, refine=False).state == "done"
    assert any(text in chat.prompt for chat in ollama.chats)


def test_a_home_that_cannot_be_used_is_refused_in_words(tmp_path):
    (tmp_path / "home").write_text("a file, not a folder")
    with pytest.raises(HomeFault, match="CRAG_HOME"):
        open_application(Settings(home=tmp_path / "home"))


def test_no_prompt_is_traced_to_another_service(opened, monkeypatch):
    from langsmith.utils import get_env_var, tracing_is_enabled

    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING_V2"):
        monkeypatch.setenv(name, "true")
    get_env_var.cache_clear()
    assert tracing_is_enabled()
    get_env_var.cache_clear()
    opened()
    assert not tracing_is_enabled()
    get_env_var.cache_clear()


def test_parallel_questions_are_queued_fairly(opened):
    gate = threading.Event()

    def reply(asked):
        gate.wait(PATIENCE)
        return Say("TraceMonkey records a trace [1].")

    with ScriptedOllama() as ollama:
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        ollama.script = reply
        options = RunOptions(model="ollama:llama3.1:8b", grader="builtin", answering=ModelParameters(parallelism=1))
        runs = []
        for _ in range(3):
            runs.append(application.runs.start(None, QUESTION, options))
            wait_until(lambda: runs[-1].current_wait())
        told = [run.current_wait() for run in runs]
        assert [(wait.kind, wait.place) for wait in told] == [("answering", 0), ("queued", 1), ("queued", 2)]
        gate.set()
        assert [trace.state for trace in map(wait, runs)] == ["done"] * 3
        assert ollama.most_at_once == 1
        assert [run.current_wait() for run in runs] == [None] * 3


def test_builtin_runs_are_queued_for_the_processor(opened):
    application, stops = opened(), [Cancellation() for _ in range(max_computing_runs())]
    application.library.pipeline.add_bytes("paper.md", PAPER.encode())
    options = RunOptions(model="builtin", grader="builtin")
    with ExitStack() as others:
        for stop in stops:
            others.enter_context(run_queue().take_turn(stop, max_computing_runs))
        run, stopped = (application.runs.start(None, QUESTION, options) for _ in range(2))
        wait_until(lambda: run.current_wait() and stopped.current_wait())
        waits = [one.current_wait() for one in (run, stopped)]
        assert {wait.kind for wait in waits} == {"queued"}
        assert {wait.place for wait in waits} == {1, 2}
        application.runs.stop(stopped.id)
        assert wait(stopped).state == "stopped"
        assert not run.ended
    assert wait(run).state == "done"
    assert run.current_wait() is None


def test_a_run_that_waits_for_its_model_lets_others_compute(opened):
    gate = threading.Event()

    def reply(asked):
        gate.wait(PATIENCE)
        return Say("TraceMonkey records a trace [1].")

    count = max_computing_runs() + 2
    with ScriptedOllama(slots=count) as ollama:
        application = opened(ollama_host=ollama.url)
        application.library.pipeline.add_bytes("paper.md", PAPER.encode())
        ollama.script = reply
        options = RunOptions(model="ollama:llama3.1:8b", grader="builtin", answering=ModelParameters(parallelism=count))
        runs = [application.runs.start(None, QUESTION, options) for _ in range(count)]
        wait_until(lambda: all((wait := run.current_wait()) and wait.kind == "answering" for run in runs))
        gate.set()
        assert [trace.state for trace in map(wait, runs)] == ["done"] * count


@pytest.fixture
def tavily():
    with TavilyServer(results=[FOUND]) as server:
        yield server


@pytest.fixture
def opened_with_web(tmp_path, tavily):
    made = []

    def open_(home="home"):
        settings = Settings(
            home=tmp_path / home,
            ollama_host=closed_address(),
            embedder="builtin",
            tavily_api_key="tvly-x",
            tavily_url=tavily.url,
        )
        made.append(open_application(settings))
        return made[-1]

    yield open_
    for application in made:
        application.close()


def ask_with_web(application, question=WEB_QUESTION, **options):
    conversation = application.conversations.create()
    run = application.runs.start(conversation.id, question, RunOptions(**options))
    return conversation, run, wait(run)


def test_a_backup_holds_what_waits_and_what_can_be_overruled(opened_with_web, tmp_path, tavily):
    application = opened_with_web()
    application.library.pipeline.add_bytes("notes.md", NOTES)
    _, answered, before = ask_with_web(application, "When was the lamp in the hall bought?")
    _, waiting, _ = ask_with_web(application, web="ask")
    write_backup(application.database, tmp_path / "saved.backup", ignore_progress, Cancellation())
    application.close()
    restore_backup(tmp_path / "saved.backup", tmp_path / "elsewhere", ignore_progress, Cancellation())
    again = opened_with_web("elsewhere")
    assert "Celtics" in wait(again.runs.answer_consent(waiting.id, WEB_QUESTION)).text
    assert "1931" in before.text
    used = before.citations[0].passage_id
    assert "1931" not in wait(again.runs.overrule(answered.id, {used: "drop"})).text


def test_an_evaluation_whose_process_dies_meanwhile_is_interrupted(opened, monkeypatch):
    monkeypatch.setattr("crag.app.application._UPKEEP_SECONDS", 0.05)
    application = opened()
    plan = EvaluationPlan(
        Dataset("mine", "Mine", "uploaded", (Example("one", "Who?"),)), (Variant("one", RunOptions(model="builtin")),)
    )
    begun = application.evaluations.wait(application.evaluations.begin(plan).id)
    application.warm_up()
    with application.database.write() as connection:
        connection.execute(update(evaluations).values(state="running", owner="1-1"))

    def stored_state() -> str:  # read without looking after the process
        with application.database.read() as connection:
            return connection.execute(select(evaluations.c.state)).scalar_one()

    wait_until(lambda: stored_state() == "interrupted")
    application.evaluations.resume(begun.id)
    assert application.evaluations.wait(begun.id).state == "done"
