"""The evaluation that the LangGraph notebook on local models ends with: five questions, three times, by the command."""

import json

import pytest

from crag.cli.main import main
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import Say
from tests.doubles.tavily import TavilyServer

TEXTS = {
    "agent.md": "# ReAct\n\nThe ReAct agent integrates reasoning and acting and so uses self-reflection: it performs"
    " actions, such as calling a Wikipedia search API, then observes and reasons about the tool outputs.",
    "prompting.md": "# Few-shot prompting\n\nThe types of biases that can arise with few-shot prompting are majority"
    " label bias, recency bias and common token bias.",
    "attacks.md": "# Adversarial attacks\n\nFive types of adversarial attacks are token manipulation, gradient-based"
    " attack, jailbreak prompting, human red-teaming and model red-teaming.",
}
FOUND = [
    {
        "title": "2024 NFL draft",
        "url": "https://example.org/draft",
        "content": "In the 2024 NFL draft the Chicago Bears did draft Caleb Williams first.",
        "score": 0.9,
    },
    {
        "title": "2024 NBA finals",
        "url": "https://example.org/finals",
        "content": "The Boston Celtics won the 2024 NBA finals.",
        "score": 0.9,
    },
]
KEYS = ("Wikipedia", "recency bias", "model red-teaming", "Caleb Williams", "Boston Celtics")


def speak(asked):
    """As a judge it looks for a word that only the right answer to this question has."""
    if asked.schema is None or "points" not in asked.schema.get("properties", {}):
        return Say(answer_like_a_little_model(asked))
    reference, _, answer = asked.prompt.partition("Must be mentioned")
    right = any(key.lower() in reference.lower() and key.lower() in answer.lower() for key in KEYS)
    return Say(json.dumps({"reason": f"{'It' if right else 'It never'} says so.", "points": 10 if right else 0}))


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    return folder


def evaluate(capsys, monkeypatch, tmp_path, texts, *options, **environment):
    for name, value in {"OLLAMA_HOST": closed_address(), "CRAG_EMBEDDER": "builtin", **environment}.items():
        monkeypatch.setenv(name, value)
    given = ["evaluate", "seed", "--repetitions", "3", "--documents", str(texts), "--home", str(tmp_path / "home")]
    assert main([*given, "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def by_question(document, score):
    """For each question how many of its answers have this score."""
    found = {}
    for row in document["rows"]:
        found[row["question"]] = found.get(row["question"], 0) + score(row)
    return list(found.values())


def test_a_local_model_with_the_web_goes_the_notebooks_ways(capsys, monkeypatch, tmp_path, texts):
    with ScriptedOllama(script=speak) as ollama, TavilyServer(results=FOUND) as tavily:
        document = evaluate(
            capsys,
            monkeypatch,
            tmp_path,
            texts,
            *("--preset", "langgraph-local", "--web", "auto", "--model", "ollama:llama3.1:8b"),
            *("--judge", "ollama:llama3.1:8b"),
            OLLAMA_HOST=ollama.url,
            TAVILY_API_KEY="tvly-x",
            CRAG_TAVILY_URL=tavily.url,
        )
    assert by_question(document, lambda row: row["scores"]["steps_match"]) == [3, 3, 3, 3, 3]
    assert by_question(document, lambda row: row["judged"]["score"] == 1.0) == [3, 3, 3, 3, 3]
    assert len(tavily.queries) >= 6, "the last two questions are not answered by the texts"


def test_the_built_in_engine_answers_what_the_texts_hold_and_refuses_the_rest(capsys, monkeypatch, tmp_path, texts):
    given = ("--preset", "langgraph-local", "--web", "off", "--model", "builtin")
    document = evaluate(capsys, monkeypatch, tmp_path, texts, *given)
    assert by_question(document, lambda row: row["outcome"] == "documents") == [3, 3, 3, 0, 0]
    assert by_question(document, lambda row: row["scores"]["steps_match"]) == [3, 3, 3, 3, 3]
