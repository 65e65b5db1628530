"""One run in Inspect: its parts, continuing from a node with changes, and two runs side by side."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from crag.app.application import Application
from crag.options import RunOptions
from crag.text.formatting import format_date
from pages.inspect import navigation
from pages.parts.services import shared_application
from pages.parts.source_drawer import SourceView
from tests.doubles.ollama import ScriptedOllama
from tests.pages.conftest import labels, restart_application, said, until
from tests.waiting import PATIENCE

PAGE = "pages/inspect/page.py"
QUESTION, LOST = "What is the espresso machine descaled with?", "Who won the 2024 NBA finals?"


def asked(services: Application, question: str, **options: object) -> str:
    run = services.runs.start(services.conversations.create().id, question, RunOptions(**options))  # type: ignore[arg-type]
    list(run.follow(seconds=PATIENCE))
    return run.id


def laid_open(app: AppTest, run_id: str) -> AppTest:
    app.run()
    app.query_params["run"] = run_id
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def opened(app: AppTest, run_id: str, node: int) -> AppTest:
    """With one of its nodes open."""
    app.session_state[f"node-{run_id}-{node}"] = True
    return app.run()


def test_a_run_shows_path_timeline_verdicts_and_nodes(chat: AppTest, services: Application, notes: str):
    run_id = asked(services, QUESTION, model="builtin")
    app = laid_open(chat, run_id)
    assert [title.value for title in app.title] == [QUESTION]
    assert said(app, ":blue-badge[:material/format_quote: quoted from your documents]")
    assert said(app, "balanced grading")
    assert [header.value for header in app.header] == ["Path", "Time", "Verdicts", "Steps"]
    assert said(app, "decide ==>|covered| refine_knowledge")
    table = app.dataframe[0].value
    assert [list(word) for word in table["Verdict"]] == [["relevant"]]
    icons = {"visibility": "Open", "add": "Use anyway", "remove": "Leave out", "quiz": "Pin as expected passage"}
    assert list(table["Actions"][0]) == [f":material/{icon}: {word}" for icon, word in icons.items()]
    assert not said(app, "Nearest passages")  # closed nodes are not drawn
    opened(app, run_id, 0)
    assert said(app, ":small[:gray[**Embedder**]]")
    assert said(app, "This step does not use a model.")


def test_an_imported_run_says_so_in_the_list_in_its_head_and_in_its_conversation(
    chat: AppTest, services: Application, notes: str
):
    conversation = services.conversations.find_by_run(asked(services, QUESTION, model="builtin"))
    copy = services.sharing.import_json(services.sharing.json(conversation.id), "re*port*.json")
    run_id = services.conversations.messages(copy.id)[-1].run_id
    words = f"Imported on {format_date(copy.imported.at)} from re*port*.json"
    app = laid_open(chat, run_id)
    assert [words in caption.value.replace("\\", "") for caption in app.sidebar.caption].count(True) == 1
    assert said(app.main, words)
    app.query_params.clear()
    app.query_params["c"] = copy.id
    app.session_state["sidebar_view"] = "History"
    app.switch_page("pages/chat/page.py").run()
    assert [words in caption.value.replace("\\", "") for caption in app.sidebar.caption].count(True) == 1
    assert said(app.main, words)
    assert said(app, "· imported]")


def test_prompts_are_shown_as_they_were_sent(chat: AppTest, services: Application, notes: str, monkeypatch):
    with ScriptedOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        restart_application()
        run_id = asked(shared_application(), QUESTION, grader="builtin", refine=False)
        app = opened(laid_open(chat, run_id), run_id, 3)
    written = next(request for request in server.requests if request.path == "/api/chat" and request.writes)
    sent = [message["content"] for message in written.body["messages"]]
    shown = [block.value for block in app.code]
    assert sent == shown[: len(sent)]
    assert "six weeks" in shown[-1]


def test_going_on_from_a_node_makes_a_version_and_shows_it(chat: AppTest, services: Application, notes: str):
    run_id = asked(services, QUESTION, model="builtin")
    app = opened(laid_open(chat, run_id), run_id, 2)
    app.button(key=f"revise-{run_id}-decide").click().run()
    assert "Run this step again" in labels(app)
    found = services.runs.trace(run_id).found["library"]
    drawn = [group.key for group in app.button_group if str(group.key).startswith("ruling-")]
    assert drawn == [f"ruling-{run_id}-{one}" for one in found]  # as they were ranked, not as they were graded
    passage_id = next(iter(services.runs.trace(run_id).verdicts))
    app.button_group(key=f"ruling-{run_id}-{passage_id}").set_value("Leave out").run()
    app.button(key=f"go-on-from-{run_id}").click().run()
    until(app, lambda: said(app, "Version 2 of 2 · you left out “Brewing notes”"))
    until(app, lambda: said(app, ":gray-badge[:material/search_off: not found in your documents]"))
    assert app.query_params["run"] != [run_id]
    assert said(app, "Reused from the previous version: Find passages, Grade.")
    assert not app.exception


def test_waiting_and_failed_runs_say_so_foreign_ones_are_hidden(chat: AppTest, services: Application, notes: str):
    failed = asked(services, QUESTION, model="ollama:nothing-here")
    app = laid_open(chat, failed)
    assert said(app, ":red-badge[:material/error: failed]")
    assert said(app, "Ollama does not answer")
    app.query_params["run"] = "of-somebody-else"
    app.run()
    assert [title.value for title in app.title] == ["This answer no longer exists"]


def test_any_two_runs_stand_side_by_side_differences_first(chat: AppTest, services: Application, notes: str):
    one, other = asked(services, QUESTION, model="builtin"), asked(services, LOST, model="builtin", policy="none")
    app = laid_open(chat, one)
    app.session_state["dialog"] = (navigation.COMPARE_DIALOG, one)
    app.run()
    assert f"{navigation.COMPARE_DIALOG}-{other}" in {button.key for button in app.button}
    app.query_params["a"], app.query_params["b"] = one, other
    app.switch_page("pages/compare/page.py").run()
    assert not app.exception
    assert app.header[0].value == "What differs"
    assert said(app, "**Outcome**: :blue-badge[:material/format_quote: quoted from your documents] → :gray-badge")
    assert said(app, "only First took *Keep excerpts")
    assert said(app, "| **Strictness** | Balanced | Lenient |")


def test_a_run_over_rechunked_documents_opens_lost_passages(chat: AppTest, services: Application, notes: str):
    options = RunOptions(model="builtin", passage_size=60)
    services.rechunked_libraries.prepare(options)
    run = services.runs.start(None, QUESTION, options)
    list(run.follow(seconds=PATIENCE))
    cited = services.runs.trace(run.id).citations[0]
    assert (cited.source_id, services.library.passage(cited.passage_id)) == (notes, None)
    assert "passages of up to 60 tokens." in " ".join(services.runs.trace(run.id).notes)
    services.library.remove([notes])
    app = opened(laid_open(chat, run.id), run.id, 0)
    assert said(app, ":gray-badge[passage size 60 tokens]")
    app.session_state["dialog"] = (navigation.PASSAGE_DIALOG, SourceView(run.id, cited.passage_id))
    app.run()
    assert said(app, "six weeks")
    assert not app.exception
