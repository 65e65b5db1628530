"""The commands for a home: `settings`, `presets` and `gaps`."""

import json

import pytest

from crag.cli.main import main
from tests.cli.conftest import CELTICS, ELSEWHERE
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import LLAMA, NOMIC
from tests.doubles.search_api import SearchApi
from tests.doubles.tavily import TavilyServer
from tests.inspection.conftest import FINALS, QUESTION


def test_a_value_is_saved_told_with_its_origin_and_given_back(crag):
    assert crag("settings", "set", "answering.temperature", "0.4")[1]["origin"] == "saved"
    code, listed = crag("settings")
    rows = {row["name"]: (row["value"], row["origin"]) for row in listed["settings"]}
    assert code == 0
    assert rows["answering.temperature"] == (0.4, "saved")
    assert rows["refine"] == (True, "default")
    assert crag("settings", "reset", "answering.temperature")[1]["origin"] == "default"


@pytest.mark.parametrize("written", [("refine", "off", False), ("policy", "off", "off"), ("k", "7", 7)])
def test_words_are_read_as_the_setting_means_them(crag, written):
    name, word, value = written
    assert crag("settings", "set", name, word)[1]["value"] == value


@pytest.mark.parametrize("written", [("k", "many"), ("refine", "perhaps"), ("nothing", "1")])
def test_what_cannot_be_is_refused(crag, written):
    code, document = crag("settings", "set", *written)
    assert code == 1
    assert document["error"]["message"]


def test_a_saved_preset_applies_to_a_question(crag, tmp_path):
    for name in ("tea", "coffee", "cocoa"):
        (tmp_path / f"{name}.txt").write_text(f"A warm drink called {name} is drunk in the morning.")
    assert crag("add", *(str(tmp_path / f"{name}.txt") for name in ("tea", "coffee", "cocoa")))[0] == 0
    crag("settings", "set", "k", "2")
    crag("settings", "set", "policy", "none")
    assert crag("presets", "save", "Two")[1]["presets"]["Two"]["k"] == 2
    crag("settings", "reset", "k")
    crag("settings", "reset", "policy")
    question = "Which warm drink is drunk in the morning?"
    assert len(crag("ask", question)[1]["verdicts"]) == 3
    assert len(crag("ask", question, "--preset", "Two")[1]["verdicts"]) == 2
    assert crag("ask", question, "--preset", "Three")[0] == 1
    assert "Two" not in crag("presets", "delete", "Two")[1]["presets"]


@pytest.fixture
def list_gaps(home, capsys):
    def run(*arguments):
        code = main(["gaps", "--home", str(home), *arguments])
        return code, capsys.readouterr().out

    return run


def test_what_is_missing_is_listed_with_the_pages_that_answered(world, list_gaps):
    world.tavily.results = [{"title": "Finals\x1b[31m", "url": world.page, "content": FINALS, "score": 0.9}]
    run, _ = world.ask()
    world.application.close()
    code, printed = list_gaps("--json")
    (gap,) = json.loads(printed)["gaps"]
    (asked,) = gap["questions"]
    assert (code, gap["topic"], gap["count"], gap["last_asked"]) == (0, QUESTION, 1, asked["asked_at"])
    assert (asked["run_id"], asked["question"], asked["outcome"]) == (run.id, QUESTION, "web")
    assert [page["location"] for page in asked["pages"]] == [world.page]
    code, printed = list_gaps()
    assert code == 0
    assert f"{QUESTION}  (1 question, the last on 20" in printed
    assert (QUESTION in printed, world.page in printed, "\x1b" in printed) == (True, True, False)


def test_an_empty_home_has_no_gap(list_gaps):
    assert list_gaps("--json") == (0, '{"gaps": []}\n')
    assert "No coverage gaps" in list_gaps()[1]


def test_doctor_names_what_mends_each_thing(crag):
    code, document = crag("doctor")
    checks = {check["name"]: check for check in document["checks"]}
    assert code == 0
    assert checks["Built-in engine"]["status"] == "ok"
    assert "ollama pull" in checks["Llama 3 on Ollama"]["fix"]
    assert checks["Web search"]["fix"]


def test_doctor_has_a_line_for_each_of_several_hosts_of_ollama(crag, monkeypatch):
    gone = closed_address()
    with ScriptedOllama(models=[LLAMA]) as one, ScriptedOllama(models=[NOMIC]) as other:
        monkeypatch.setenv("OLLAMA_HOST", one.url)
        assert not [check for check in crag("doctor")[1]["checks"] if check["name"].startswith("Ollama at")]
        monkeypatch.setenv("OLLAMA_HOST", f"{one.url}, {other.url},{gone}")
        crag("models", "load", LLAMA.name)
        code, document = crag("doctor")
        labels = [address.removeprefix("http://") for address in (one.url, other.url, gone)]
    checks = {check["name"]: check for check in document["checks"]}
    first, second, third = (checks[f"Ollama at {label}"] for label in labels)
    assert code == 0
    assert (first["status"], first["detail"]) == ("ok", f"1 model in Ollama {one.version}. Loaded: {LLAMA.name}")
    assert second["detail"].endswith(". Nothing is loaded. It does not have llama3.1:8b")
    assert f"OLLAMA_HOST={labels[1]} ollama pull llama3.1:8b" in second["fix"]
    assert (third["status"], third["detail"]) == ("warn", "does not answer; left out for now, and tried again soon")
    assert all(label in checks["Llama 3 on Ollama"]["detail"] for label in labels)


def test_doctor_searches_only_when_told_to(crag, monkeypatch):
    found = {"title": "Corrective RAG", "url": "https://arxiv.org/abs/2401.15884", "content": "CRAG"}
    with SearchApi({"results": [found]}) as server:
        monkeypatch.setenv("CRAG_SEARXNG_URL", server.url)
        assert crag("doctor")[0] == 0
        assert server.asked == []
        code, document = crag("doctor", "--search")
        assert (code, document["checks"][-1]["detail"]) == (0, "Corrective RAG (arxiv.org)")
        server.status = 403
        code, document = crag("doctor", "--search")
    assert (code, document["checks"][-1]["status"]) == (1, "fail")
    assert "settings.yml" in document["checks"][-1]["fix"]
    assert crag("ledger")[1]["count"] == len(server.asked) == 2
    monkeypatch.delenv("CRAG_SEARXNG_URL")
    assert crag("doctor", "--search")[1]["checks"][-1]["name"] != "Test search"


@pytest.mark.parametrize("variable", ["CRAG_CHAT_MODEL", "CRAG_EMBEDDER"])
def test_doctor_finds_what_cannot_be_opened(crag, monkeypatch, variable):
    monkeypatch.setenv(variable, "nothing")
    code, document = crag("doctor")
    assert code == 1
    assert "nothing" in next(check for check in document["checks"] if check["status"] == "fail")["detail"]


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

    assert "nothing is sent" in web_search()["detail"]
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    with TavilyServer(results=[CELTICS]) as tavily:
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        crag("ask", ELSEWHERE, "--web", "auto")
        assert web_search()["detail"].endswith("; 1 of 1,000 searches used this month")
