"""`ask` and `grade`: the contract of an answer, the web, models, conversations, terminal output."""

import json

import pytest

from tests.cli.conftest import CELTICS, ELSEWHERE, NOTES, QUESTION
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.tavily import TavilyServer


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
    assert answer["web"]["why"] == "No web search is set up, so the web was not searched."


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


def test_a_new_conversation_is_named_and_goes_on(crag, notes):
    crag("add", notes)
    _, first = crag("ask", QUESTION, "--conversation", "new")
    _, second = crag("ask", "And what does that mean?", "--conversation", first["conversation_id"])
    assert second["conversation_id"] == first["conversation_id"]
    assert second["steps"][0] == "condense_question"
    assert crag("ask", QUESTION)[1]["conversation_id"] is None
    assert crag("ask", QUESTION, "--conversation", "")[1]["error"]["code"] == "not_found"


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


def test_for_people_the_answer_comes_with_its_sources(crag, notes):
    assert "added" in crag("add", notes, json_output=False)[1]
    printed = crag("ask", QUESTION, json_output=False)[1]
    assert "blacklisted" in printed
    assert "\n[1] " in printed


def test_without_a_document_the_command_that_adds_one_is_named(crag):
    assert "python -m crag add FILE" in crag("ask", QUESTION, json_output=False)[1]


def test_escape_codes_do_not_reach_the_terminal(crag, tmp_path):
    (tmp_path / "evil.md").write_text("# A\n\nThe fragment\x1b[2J\x1b]0;owned\x07 is blacklisted after two failures.")
    crag("add", str(tmp_path / "evil.md"), json_output=False)
    assert "\x1b" not in crag("ask", QUESTION, json_output=False)[1]


@pytest.mark.parametrize("question", ["", "  "])
def test_an_empty_question_is_refused(crag, question):
    code, document = crag("ask", question)
    assert (code, document["error"]["code"]) == (1, "bad_request")


def test_consent_without_a_terminal_sends_nothing_and_says_so(crag, notes, monkeypatch):
    with TavilyServer(results=[CELTICS]) as tavily:
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
        crag("add", notes)
        _, answer = crag("ask", ELSEWHERE, "--web", "ask")
    assert tavily.requests == []
    assert answer["web"]["why"] == "Nobody could allow the search, so the web was not searched."


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


def test_the_route_and_what_belongs_to_it_are_reported(crag, tmp_path):
    (tmp_path / "robots.csv").write_text("Robot,Units sold\nMule,385\nAnt,510\nBee,90\n")
    crag("add", str(tmp_path / "robots.csv"))
    _, document = crag("ask", "Which robot sold the most units?")
    assert (document["route"], document["outcome"]) == ("table", "calculated")
    assert document["sql"].startswith("SELECT")
    assert document["table"]["rows"] == [["Ant", 510]]
    _, document = crag("ask", "Where is the Mule mentioned?")
    assert (document["route"], document["coverage"]) == ("list", {"read": 1, "of": 1})
    assert document["matches"][0]["title"] == "robots.csv"
    _, document = crag("ask", "Where is the Mule mentioned?", "--route", "fact")
    assert (document["route"], document["matches"]) == ("fact", None)
    _, document = crag("ask", "Compare the Mule and the Ant")
    assert [part["question"] for part in document["sub_questions"]] == ["Mule", "Ant"]
