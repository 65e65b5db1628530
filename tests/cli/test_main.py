"""The commands of the contract, on a real home with the built-in engine and scripted servers."""

import json
import os
import subprocess
import sys

import pytest

from crag import __main__
from crag.app import application
from crag.cli import main as main_module
from crag.cli.main import main
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.tavily import TavilyServer

NOTES = """# Trace-based compilation

TraceMonkey gives up on a loop after repeated failures. After two failed recordings the fragment is blacklisted,
which means that the virtual machine never starts recording at that point again.

# Side exits

A failing guard makes the trace take a side exit back to the interpreter. If that exit becomes hot, a branch trace is
recorded from it.
"""
QUESTION = "When is a fragment blacklisted?"
ELSEWHERE = "Who won the 2024 NBA finals?"
CELTICS = {
    "title": "2024 NBA Finals",
    "url": "https://example.org/finals",
    "content": "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks.",
}


@pytest.fixture
def crag(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")

    def run(*arguments, json_output=True):
        given = [*arguments, "--home", str(tmp_path / "home"), *(["--json"] if json_output else [])]
        code = main(given)
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if json_output else printed.out + printed.err

    return run


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.md"
    file.write_text(NOTES, encoding="utf-8")
    return str(file)


def test_add_list_search_remove(crag, notes):
    code, added = crag("add", notes, notes)
    first, second = added["sources"]
    assert (code, first["status"], second["status"], first["error"]) == (0, "added", "unchanged", None)
    _, listed = crag("list")
    assert [(one["id"], one["title"], one["collection"]) for one in listed["sources"]] == [
        (first["id"], first["title"], "Documents")
    ]
    _, found = crag("search", "side exit interpreter", "-k", "1")
    assert "side exit" in found["hits"][0]["text"]
    assert crag("remove", first["id"])[0] == 0
    assert crag("list")[1] == {"sources": []}
    assert crag("search", "side exit")[1] == {"hits": []}


def test_refresh_replaces_what_changed(crag, notes, tmp_path):
    crag("add", notes)
    assert crag("refresh")[1]["sources"][0]["status"] == "unchanged"
    (tmp_path / "notes.md").write_text(NOTES.replace("two failed", "seven failed"), encoding="utf-8")
    assert crag("refresh")[1]["sources"][0]["status"] == "replaced"
    assert "seven" in crag("search", "failed recordings fragment", "-k", "1")[1]["hits"][0]["text"]


@pytest.mark.parametrize(
    ("name", "content", "refused"),
    [
        ("empty.txt", b"", "empty"),
        ("photo.pdf", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "corrupt"),
        ("program.pdf", b"MZ\x90\0" + b"\0" * 50, "unsupported"),
    ],
)
def test_what_cannot_be_added_says_why_and_nothing_is_stored(crag, tmp_path, name, content, refused):
    (tmp_path / name).write_bytes(content)
    code, document = crag("add", str(tmp_path / name))
    (entry,) = document["sources"]
    assert (code, entry["status"], entry["error"]["code"]) == (1, "failed", refused)
    assert entry["error"]["message"]
    assert crag("list")[1] == {"sources": []}


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost/", "http://169.254.169.254/latest/"])
def test_addresses_of_ones_own_network_are_not_fetched(crag, url):
    code, document = crag("add", url)
    assert (code, document["sources"][0]["error"]["code"]) == (1, "blocked_url")


def test_a_builtin_answer_fulfils_the_whole_contract(crag, notes):
    crag("add", notes)
    code, answer = crag("ask", QUESTION)
    assert code == 0
    assert answer["complete"] is True
    assert answer["action"] == "correct"
    assert answer["steps"] == ["retrieve_documents", "grade_document_retrieval", "generate_answer"]
    assert "blacklisted" in answer["answer"]
    assert "[1]" in answer["answer"]
    assert answer["sources"][0]["quote"] in NOTES.replace("\n", " ")
    assert {"score", "verdict", "reason", "strips", "origin", "title", "page"} <= set(answer["verdicts"][0])
    assert answer["web"] == {"used": False, "query": None, "why": None}
    assert {"retrieve", "generate", "total"} <= set(answer["timings"])


def test_without_a_key_nothing_is_sent_to_the_web(crag, notes, monkeypatch):
    with TavilyServer(results=[CELTICS]) as tavily:
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        crag("add", notes)
        _, answer = crag("ask", ELSEWHERE, "--web", "auto")
    assert (answer["action"], answer["outcome"], tavily.requests) == ("incorrect", "not_answered", [])
    assert answer["web"]["why"] == "There is no Tavily key, so the web was not searched."


def test_with_a_key_and_leave_it_is_answered_from_the_web(crag, notes, monkeypatch):
    with TavilyServer(results=[CELTICS]) as tavily:
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
        crag("add", notes)
        _, off = crag("ask", ELSEWHERE)
        assert tavily.requests == [], "off unless asked for"
        _, answer = crag("ask", ELSEWHERE, "--web", "auto", "--preset", "langgraph-local")
    assert off["outcome"] == "not_answered"
    assert "Celtics" in answer["answer"]
    assert answer["steps"][-2:] == ["web_search", "generate_answer"]
    assert answer["web"]["query"] == tavily.queries[0]
    assert answer["sources"][0]["location"] == CELTICS["url"]
    assert "tvly-secret" not in json.dumps(answer)


def test_the_same_over_ollama(crag, notes, monkeypatch):
    with ScriptedOllama() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        crag("add", notes)
        code, answer = crag("ask", QUESTION)
    assert code == 0
    assert answer["model"] == "Llama 3.1 8B"
    assert answer["action"] == "correct"
    assert answer["sources"]
    assert answer["tokens"]["answer"] > 0


def test_asked_for_a_model_that_is_not_there(crag, notes):
    crag("add", notes)
    code, answer = crag("ask", QUESTION, "--model", "ollama:llama3.1")
    assert (code, answer["complete"], answer["error"]["code"]) == (1, False, "unreachable")
    assert "ollama serve" in answer["error"]["message"]
    assert crag("ask", QUESTION, "--model", "builtin")[0] == 0


def test_collections_are_renamed_filled_and_deleted(crag, notes):
    _, added = crag("add", notes)
    id_ = added["sources"][0]["id"]
    assert crag("collections", "move", "Drinks", id_)[1]["moved"][0]["status"] == "moved"
    assert crag("collections", "rename", "Drinks", "Hot drinks")[1]["renamed"]["to"] == "Hot drinks"
    _, listed = crag("collections")
    assert [(one["name"], one["sources"]) for one in listed["collections"]] == [("Documents", 0), ("Hot drinks", 1)]
    assert crag("search", QUESTION, "--collection", "Hot drinks")[1]["hits"]
    code, refused = crag("collections", "delete", "Hot drinks")
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    assert crag("collections", "delete", "Hot drinks", "--with-documents")[0] == 0
    assert crag("list")[1]["sources"] == []
    assert crag("collections", "move", "Drinks", "unknown")[0] == 1
    assert crag("collections", "rename", "Gone", "New")[1]["error"]["code"] == "not_found"


def test_a_conversation_goes_on(crag, notes, tmp_path):
    from crag.conversations.conversations import Conversations
    from crag.storage.engine import Database

    crag("add", notes)
    database = Database(tmp_path / "home")
    conversation = Conversations(database).create()
    crag("ask", QUESTION, "--conversation", conversation.id)
    _, answer = crag("ask", "And what does that mean?", "--conversation", conversation.id)
    assert answer["steps"][0] == "condense_question"
    assert len(Conversations(database).messages(conversation.id)) == 4
    database.close()
    assert crag("ask", QUESTION, "--conversation", "gone")[1]["error"]["code"] == "not_found"


def test_grade_keeps_the_order_of_the_lines(crag, tmp_path):
    rows = [
        {"question": QUESTION, "passage": "After two failed recordings the fragment is blacklisted."},
        {"question": ELSEWHERE, "passage": "Bananas are rich in potassium."},
        {"question": QUESTION, "passage": "The weather was mild in May."},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    code, document = crag("grade", str(file), "--model", "builtin")
    grades = document["grades"]
    assert code == 0
    assert [one["verdict"] == "irrelevant" for one in grades] == [False, True, True]
    file.write_text("{}")
    assert crag("grade", str(file))[1]["error"]["code"] == "bad_request"


def test_doctor_names_what_mends_each_thing(crag):
    code, document = crag("doctor")
    checks = {check["name"]: check for check in document["checks"]}
    assert code == 0
    assert checks["Built-in engine"]["status"] == "ok"
    assert "ollama pull" in checks["Llama 3 on Ollama"]["fix"]
    assert checks["Web search"]["fix"]


def test_for_people_the_answer_comes_with_its_sources(crag, notes):
    assert "added" in crag("add", notes, json_output=False)[1]
    printed = crag("ask", QUESTION, json_output=False)[1]
    assert "blacklisted" in printed
    assert "\n[1] " in printed


def test_escape_codes_do_not_reach_the_terminal(crag, tmp_path):
    (tmp_path / "evil.md").write_text("# A\n\nThe fragment\x1b[2J\x1b]0;owned\x07 is blacklisted after two failures.")
    crag("add", str(tmp_path / "evil.md"), json_output=False)
    assert "\x1b" not in crag("ask", QUESTION, json_output=False)[1]


@pytest.mark.parametrize(
    "arguments", [[], ["fly"], ["ask"], ["search", "q", "-k", "0"], ["ask", "q", "--policy", "some"]]
)
def test_usage_is_exit_2(arguments, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("question", ["", "  "])
def test_an_empty_question_is_refused(crag, question):
    code, document = crag("ask", question)
    assert (code, document["error"]["code"]) == (1, "bad_request")


def test_removing_an_unknown_document_removes_nothing(crag, notes):
    _, added = crag("add", notes)
    assert crag("remove", added["sources"][0]["id"], "unknown")[0] == 1
    assert len(crag("list")[1]["sources"]) == 1


@pytest.mark.parametrize("arguments", [["fly"], ["ask"], ["search", "q", "-k", "1000"], ["list", "--home", ""]])
def test_a_misunderstood_command_is_one_document_too(arguments, capsys):
    assert main([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_no_name_at_all_is_not_the_present_folder(crag, notes):
    code, document = crag("add", "")
    assert (code, document["sources"][0]["error"]["code"]) == (1, "unreachable")
    assert crag("list")[1] == {"sources": []}


def test_refreshing_an_unknown_document_is_refused(crag, notes):
    crag("add", notes)
    code, document = crag("refresh", "unknown")
    assert (code, document["error"]["code"]) == (1, "bad_request")


@pytest.mark.parametrize("command", [("list",), ("search", "loop"), ("ask", QUESTION)])
def test_an_unknown_collection_is_no_empty_one(crag, notes, command):
    crag("add", notes)
    code, document = crag(*command, "--collection", "Dokuments")
    assert (code, document["error"]["code"]) == (1, "bad_request")
    assert "Dokuments" in document["error"]["message"]


@pytest.mark.parametrize("variable", ["CRAG_CHAT_MODEL", "CRAG_EMBEDDER"])
def test_doctor_finds_what_cannot_be_opened(crag, monkeypatch, variable):
    monkeypatch.setenv(variable, "nothing")
    code, document = crag("doctor")
    assert code == 1
    assert "nothing" in next(check for check in document["checks"] if check["status"] == "fail")["detail"]


@pytest.mark.parametrize("address", ["http://[::1", "127.0.0.1:99999", "ftp://here", "http://"])
def test_an_address_of_ollama_that_is_none_is_refused(crag, monkeypatch, address):
    monkeypatch.setenv("OLLAMA_HOST", address)
    code, document = crag("doctor")
    assert (code, document["error"]["code"]) == (1, "bad_request")
    assert "OLLAMA_HOST" in document["error"]["message"]


def test_consent_without_a_terminal_sends_nothing_and_says_so(crag, notes, monkeypatch):
    with TavilyServer(results=[CELTICS]) as tavily:
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
        crag("add", notes)
        _, answer = crag("ask", ELSEWHERE, "--web", "ask")
    assert tavily.requests == []
    assert answer["web"]["why"] == "Nobody could be asked, so the web was not searched."


@pytest.mark.parametrize("json_output", [True, False])
def test_interrupting_is_said_and_no_traceback(monkeypatch, capsys, json_output):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "open_application", interrupt)
    assert __main__.run(["list", *(["--json"] if json_output else [])]) == 1
    printed = capsys.readouterr()
    if json_output:
        assert json.loads(printed.out)["error"]["code"] == "stopped"
    else:
        assert (printed.out, printed.err) == ("", "Stopped.\n")


def test_what_nobody_foresaw_is_named_without_its_words(crag, monkeypatch, capsys):
    def fail(_settings):
        raise RuntimeError("sk-secret in /home/somebody")

    monkeypatch.setattr(application, "Application", fail)
    code = main(["list", "--json"])
    printed = capsys.readouterr()
    assert (code, json.loads(printed.out)["error"]["code"]) == (1, "bug")
    assert "Traceback" not in printed.err
    assert "secret" not in printed.err


@pytest.mark.parametrize("json_output", [True, False])
def test_any_terminal_can_show_any_text(crag, tmp_path, json_output):
    (tmp_path / "한국어.md").write_text("서울은 대한민국의 수도이다. 😀", encoding="utf-8")
    crag("add", str(tmp_path / "한국어.md"))
    command = [sys.executable, "-m", "crag", "search", "서울", "--home", str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*command, *(["--json"] if json_output else [])], capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    if json_output:
        assert "서울" in json.loads(done.stdout)["hits"][0]["text"]
    else:
        assert b"\\uc11c\\uc6b8" in done.stdout


def test_a_reader_that_leaves_early_is_no_fault(crag, notes, tmp_path):
    crag("add", notes)
    command = [sys.executable, "-m", "crag", "list", "--home", str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as listing:
        listing.stdout.close()
        assert listing.stderr.read() == b""
    assert listing.returncode == 1


@pytest.mark.parametrize("spec", ["~nobodyofthisname/notes.md", "a" * 5000])
def test_a_path_that_cannot_be_is_refused(crag, spec):
    code, document = crag("add", spec)
    assert (code, document["sources"][0]["error"]["code"]) == (1, "unreachable")


def test_a_folder_of_nobody_is_refused_as_a_home(capsys):
    assert main(["list", "--json", "--home", "~nobodyofthisname/home"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "bad_request"


def test_settings_that_are_no_text_are_refused(crag, tmp_path):
    (tmp_path / ".env").write_bytes(b"\xff\xfe\x00")
    code, document = crag("list")
    assert (code, document["error"]["code"]) == (1, "bad_request")
    assert ".env" in document["error"]["message"]


@pytest.mark.parametrize("option", [("--model",), ("--conversation",), ("--collection",)])
def test_arguments_that_are_no_text_are_read_as_far_as_they_go(crag, option):
    code, document = crag("ask", "What\udcff?", *option, "gone\udcff")
    assert code == 1
    assert document["error"]["code"] in ("unknown_model", "not_found", "bad_request")


def test_an_unreadable_line_to_grade_is_named_by_its_number(crag, tmp_path):
    (tmp_path / "pairs.jsonl").write_text('{"question": "q", "passage": "p"}\n\n{"question": "q"}\n')
    code, document = crag("grade", str(tmp_path / "pairs.jsonl"), "--model", "builtin")
    assert (code, document["error"]["message"].partition(":")[0]) == (1, "Line 3")


def test_lines_to_grade_may_hold_any_text(crag, tmp_path):
    row = json.dumps({"question": "q\u2028q", "passage": "p\x85p"}, ensure_ascii=False)
    (tmp_path / "pairs.jsonl").write_text(f"\ufeff{row}\n{row}\n", encoding="utf-8")
    assert len(crag("grade", str(tmp_path / "pairs.jsonl"), "--model", "builtin")[1]["grades"]) == 2
    (tmp_path / "pairs.jsonl").write_text("[" * 100_000)
    assert crag("grade", str(tmp_path / "pairs.jsonl"), "--model", "builtin")[1]["error"]["code"] == "bad_request"


def test_a_collection_goes_out_and_comes_in_again(crag, notes, tmp_path):
    crag("add", notes)
    code, exported = crag("export", str(tmp_path / "out"), "--format", "langchain")
    assert (code, exported) == (0, {"exported": exported["exported"], "path": str(tmp_path / "out")})
    assert exported["exported"] > 0
    code, refused = crag("export", str(tmp_path / "out"), "--format", "langchain")
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    code, imported = crag("import", str(tmp_path / "out"), "--collection", "Back")
    assert (code, [one["status"] for one in imported["sources"]]) == (0, ["added"])
    assert imported["sources"][0]["passages"] == exported["exported"]
    code, failed = crag("import", str(tmp_path / "nowhere"))
    assert (code, failed["sources"][0]["error"]["code"]) == (1, "unreachable")


def test_a_home_is_saved_and_put_back(crag, notes, tmp_path):
    file = str(tmp_path / "saved.backup")
    code, refused = crag("backup", file)
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    assert not (tmp_path / "home").exists()  # asking for a backup makes no library
    crag("add", notes)
    code, saved = crag("backup", file)
    assert (code, saved["backup"], saved["sources"], saved["missing"]) == (0, file, 1, [])
    assert saved["bytes"] > 0
    code, refused = crag("restore", file)
    assert (code, refused["error"]["code"]) == (1, "bad_request")
    crag("remove", crag("list")[1]["sources"][0]["id"])
    code, restored = crag("restore", file, "--replace")
    assert (code, restored["restored"], restored["sources"]) == (0, str(tmp_path / "home"), 1)
    assert restored["moved_aside"].startswith(str(tmp_path / "home-before-"))
    assert "side exit" in crag("search", "side exit interpreter", "-k", "1")[1]["hits"][0]["text"]


def test_the_ledger_tells_what_left_and_that_nothing_did(crag, monkeypatch):
    assert crag("ledger")[1] == {"count": 0, "departures": []}
    assert crag("ledger", json_output=False) == (0, "Nothing has left this machine.\n")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    with TavilyServer(results=[CELTICS]) as tavily:
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        crag("ask", ELSEWHERE, "--web", "auto")
        crag("ask", f"{ELSEWHERE[:-1]} again?", "--web", "auto")
    _, told = crag("ledger", "--last", "1")
    (entry,) = told["departures"]
    assert (told["count"], entry["kind"], entry["what"]) == (2, "web search", tavily.queries[1])
    assert entry["host"] == tavily.url.removeprefix("http://")
    code, text = crag("ledger", "--last", "1", json_output=False)
    assert (code, text.count("web search to 127.0.0.1"), "1 older ones: --last 2" in text) == (0, 1, True)
    assert crag("ledger", "--last", "0")[0] == 2


def test_doctor_tells_how_many_searches_this_month_took(crag, monkeypatch):
    def web_search():
        return next(check for check in crag("doctor")[1]["checks"] if check["name"] == "Web search")

    assert "nothing is ever sent" in web_search()["detail"]
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    with TavilyServer(results=[CELTICS]) as tavily:
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        crag("ask", ELSEWHERE, "--web", "auto")
        assert web_search()["detail"].endswith("; 1 of 1,000 searches used this month")
