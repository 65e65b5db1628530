"""Every reference system over scripted servers: what is asked of the models and the web, in order, and with what."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crag.app.application import Application
from crag.evaluation.dataset_format import SEED_DATASET
from crag.inspection.run_labels import threshold_origin
from crag.options import RunOptions
from crag.prompts import load_prompt
from crag.reference_systems import REFERENCE_SYSTEMS, find_system
from crag.runs.trace import Trace
from tests.applications import opened_with, wait
from tests.doubles.evaluator import write_evaluator
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import LLAMA, NOMIC, Asked, Model, Say, ScriptedOllama
from tests.doubles.tavily import TavilyServer

SMALL = Model("llama3.2:1b", size=1_300_000_000, digest="c" * 64)
ANSWERING = "ollama:llama3.2:1b"
QUESTION = "Which metal is the harbour bell of Port Ellis made of?"
ELSEWHERE = "Who won the regatta of Lake Avon?"
PROMPTS = (
    *("grade_json", "grade_binary", "score", "grade", "sufficiency", "condense"),
    *("rewrite_question", "rewrite_keywords", "answer_short", "answer_context", "answer"),
)
BELL = "The harbour bell of Port Ellis is made of bronze. It was cast by the Anders foundry."
TOPICS = {
    "bell": f"{BELL} Sailors ring it in fog.",
    "mayor": "The mayor of Port Ellis opens the market on Mondays. Her office is above the fish hall.",
    "ferry": "The ferry leaves the harbour of Port Ellis every hour. A ticket costs two coins.",
    "tower": "The tower of Port Ellis has ninety steps. A clock hangs at its top, made by two brothers.",
    "school": "The school has twelve rooms. Lessons begin at eight, and the yard is shaded by a chestnut tree.",
}
NEWS = [
    {"title": "Regatta", "url": "https://news.example/regatta", "content": "The Herons won the regatta of Lake Avon."},
    {
        "title": "Lake Avon - Wikipedia",
        "url": "https://en.wikipedia.org/wiki/Lake_Avon",
        "content": "Lake Avon holds a regatta, which the Herons won.",
    },
]


@pytest.fixture
def tavily() -> Iterator[TavilyServer]:
    with TavilyServer(results=NEWS) as server:
        yield server


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the documents, to copy."""
    home = tmp_path_factory.mktemp("town") / "home"
    with opened_with(home, {f"{name}.txt": text for name, text in TOPICS.items()}):
        return home


@pytest.fixture
def application(ollama: ScriptedOllama, tavily: TavilyServer, town: Path, tmp_path: Path) -> Iterator[Application]:
    shutil.copytree(town, tmp_path / "home")
    ollama.models = [LLAMA, SMALL, NOMIC]
    servers = {"ollama_host": ollama.url, "tavily_api_key": "tvly-x", "tavily_url": tavily.url}
    with opened_with(tmp_path / "home", chat_model=ANSWERING, **servers) as opened:
        yield opened


def options_of(application: Application, preset: str, **changes: Any) -> RunOptions:
    chosen = application.preferences.options({**application.preferences.presets()[preset], "preset": preset})
    return replace(chosen, **changes)


def ask(application: Application, question: str, options: RunOptions) -> Trace:
    return wait(application.runs.start(None, question, options))


def prompt_name(asked: Asked) -> str:
    """The prompt file that a request was written from."""
    said = asked.body["messages"][0]["content"]
    return next(name for name in PROMPTS if said.startswith(load_prompt(name).partition("\n---")[0].partition("$")[0]))


def requests(ollama: ScriptedOllama) -> list[tuple[str, str, str]]:
    """Prompt file, model and format of each request, in order."""
    formats = {str: "json", dict: "schema", type(None): "text"}
    return [(prompt_name(one), one.body["model"], formats[type(one.body.get("format"))]) for one in ollama.chats]


def verdicts_by_topic(asked: Asked) -> Say:
    """Says yes to passages that name what the question is about, as a sensible model would."""
    if prompt_name(asked).startswith("grade"):
        passage = asked.prompt.rpartition("<passage")[2]
        relevant = "bell" in passage if "bell" in asked.prompt.partition("<passage")[0].lower() else False
        word = "yes" if relevant else "no"
        return Say(f'{{"score": "{word}"}}' if asked.body["format"] == "json" else f'{{"binary_score": "{word}"}}')
    if asked.schema and "question" in asked.schema["properties"]:
        return Say('{"question": "regatta of Lake Avon winner"}')
    return Say(answer_like_a_little_model(asked))


SMALL_NAME, LARGE_NAME = "llama3.2:1b", "llama3.1:8b"
JSON = ("grade_json", SMALL_NAME, "json")
BINARY = ("grade_binary", SMALL_NAME, "schema")
LARGE_BINARY = ("grade_binary", LARGE_NAME, "schema")
REWRITE = ("rewrite_question", SMALL_NAME, "text")
SHORT = ("answer_short", SMALL_NAME, "text")

FROM_LIBRARY_AND_WEB = {  # one of four passages is relevant, so systems that want all of them search the web
    "langgraph-local": ([*[JSON] * 4, SHORT], 3),
    "langgraph": ([*[LARGE_BINARY] * 4, REWRITE, SHORT], 3),
    "langgraph-js": ([*[BINARY] * 4, SHORT], None),
    "parent-child": (
        [*[BINARY] * 4, ("rewrite_question", SMALL_NAME, "schema"), ("answer_context", SMALL_NAME, "text")],
        3,
    ),
    "mistral": ([*[BINARY] * 4, REWRITE, SHORT], 3),
    "mistral-no-rewrite": ([*[BINARY] * 4, SHORT], 3),
}


@pytest.mark.parametrize("preset", FROM_LIBRARY_AND_WEB)
def test_each_system_sends_its_own_requests_in_its_own_order(application, ollama, tavily, preset):
    ollama.script = verdicts_by_topic
    trace = ask(application, QUESTION, options_of(application, preset))
    expected, results = FROM_LIBRARY_AND_WEB[preset]
    assert requests(ollama) == expected
    assert [one["max_results"] for one in tavily.requests] == ([results] if results else [])
    assert ollama.most_at_once == 1, "one call a document, in turn"
    assert {one.body["options"]["temperature"] for one in ollama.chats} == {0.0}

    graded = [one for one in ollama.chats if prompt_name(one).startswith("grade")]
    found = [passage for passage in trace.passages.values() if passage.id > 0]
    for one, passage in zip(graded, found, strict=True):
        assert QUESTION in one.prompt
        assert passage.text in one.prompt, "in the order in which they were found"
    answer = ollama.chats[-1].prompt
    assert BELL in answer
    assert "ninety steps" not in answer, "what is not relevant is left out"
    assert ("won the regatta" in answer) is bool(results), "web results are used as they are, without being graded"
    assert set(trace.verdicts) == {passage.id for passage in found}
    assert trace.state == "done"


@pytest.mark.parametrize("preset", ["langgraph-js", "langgraph-local", "parent-child"])
def test_without_any_relevant_passage_every_system_answers_from_the_web(application, ollama, tavily, preset):
    ollama.script = verdicts_by_topic
    trace = ask(application, ELSEWHERE, options_of(application, preset))
    assert "Herons" in trace.text
    asked = tavily.queries[0]
    assert asked == ("regatta of Lake Avon winner" if preset == "parent-child" else ELSEWHERE)
    rewritten = ["transform_query"] * (preset != "langgraph-local")
    assert trace.trajectory == [
        *("retrieve_documents", "grade_document_retrieval", *rewritten, "web_search", "generate_answer")
    ]
    joined = REFERENCE_SYSTEMS[preset].options.join_web
    assert sum(passage.id < 0 for passage in trace.passages.values()) == (1 if joined else 2)


def test_the_paper_grades_without_a_language_model_and_prefers_wikipedia(application, ollama, tavily):
    options = options_of(application, "paper", fetch_pages=False)
    trace = ask(application, ELSEWHERE, options)
    assert requests(ollama) == [("rewrite_keywords", SMALL_NAME, "text"), ("answer", SMALL_NAME, "text")]
    assert [one["max_results"] for one in tavily.requests] == [10]
    web = [passage for passage in trace.passages.values() if passage.id < 0]
    assert [passage.title for passage in web] == ["Lake Avon - Wikipedia", "Regatta"]
    assert {passage.id for passage in web} <= set(trace.verdicts), "the evaluator grades web pages, too"
    assert (trace.thresholds.lower, trace.thresholds.upper) == (0.005, 0.795)
    assert "“CRAG paper” grades with an evaluator. There is none, so the built-in grader was used." in trace.notes


def test_the_paper_keeps_the_best_five_strips_in_the_order_of_the_documents(ollama, tavily, tmp_path):
    evaluator = str(write_evaluator(tmp_path / "evaluator"))
    lines = [f"Fact {n}: the harbour bell of Port Ellis is made of metal number {n}." for n in range(1, 25)]
    bell = {"bell.txt": "\n\n".join(lines)}
    with opened_with(
        tmp_path / "home", bell, chat_model="auto", ollama_host=ollama.url, evaluator=evaluator
    ) as application:
        trace = ask(application, QUESTION, options_of(application, "paper", web="off"))
    assert not any("built-in grader" in note for note in trace.notes)
    kept = [strip for key in trace.passages for strip in trace.strips.get(key, ()) if strip.kept]
    scores = [strip.score for cut in trace.strips.values() for strip in cut]
    assert 1 <= len(kept) <= 5
    assert all(strip.score > 0.25 for strip in kept)
    assert len(scores) > len(kept)
    prompt = ollama.chats[-1].prompt
    places = [prompt.index(strip.text.splitlines()[0]) for strip in kept]
    assert places == sorted(places)


@pytest.mark.parametrize(("preset", "size", "around"), [("langgraph-js", 250, 250), ("parent-child", 400, 2000)])
def test_a_system_searches_passages_of_its_own_size(application, ollama, preset, size, around):
    ollama.script = verdicts_by_topic
    text = " ".join(f"The harbour bell rang {n} times in the year {1700 + n}." for n in range(60))
    application.library.pipeline.add_bytes("long.txt", text.encode())
    trace = ask(application, "How often did the harbour bell ring in the year 1731?", options_of(application, preset))
    found = [passage for passage in trace.passages.values() if passage.id > 0]
    assert len(found) == 4
    assert all(len(passage.text) <= size for passage in found)
    assert any(f"Splitting documents into passages of {size} characters" in note for note in trace.notes)
    longest = max(map(len, re.findall(r"The harbour bell rang[^\n]+(?:\n[^\n]+)*", ollama.chats[-1].prompt)))
    assert size / 2 < longest <= around + 8
    assert (longest > size) is (around > size), "the wider context goes to the model"
    again = ask(application, "How often did the harbour bell ring in the year 1740?", options_of(application, preset))
    assert not any("Splitting" in note for note in again.notes), "prepared once"


POSTS = {
    "agents": "The ReAct agent uses self-reflection: it acts by calling a Wikipedia search, then observes the output.",
    "prompts": "Few-shot prompting can bring majority label bias, recency bias and common token bias.",
    "attacks": "Token manipulation, gradients, jailbreak prompts, human and model red-teaming are adversarial attacks.",
}
KEYS = {"Wikipedia": 0, "recency": 1, "jailbreak": 2}  # which of the five questions a post answers
FROM_LIBRARY = ["retrieve_documents", "grade_document_retrieval", "generate_answer"]
STRAIGHT_TO_WEB = ["retrieve_documents", "grade_document_retrieval", "web_search", "generate_answer"]
REWRITTEN = ["retrieve_documents", "grade_document_retrieval", "transform_query", "web_search", "generate_answer"]


@pytest.mark.parametrize("posts", [["agents"], list(POSTS)])
@pytest.mark.parametrize("preset", REFERENCE_SYSTEMS)
def test_the_five_questions_of_the_notebook_take_the_route_of_each_system(application, ollama, tavily, preset, posts):
    questions = [example.question for example in SEED_DATASET.examples]

    def judge(asked: Asked) -> Say:
        if not prompt_name(asked).startswith("grade"):
            return Say(answer_like_a_little_model(asked))
        passage = asked.prompt.rpartition("<passage")[2]
        key = next(key for key in KEYS if key in passage)
        word = "yes" if questions[KEYS[key]] in asked.prompt else "no"
        return Say(f'{{"score": "{word}"}}' if asked.body["format"] == "json" else f'{{"binary_score": "{word}"}}')

    ollama.script = judge
    for post in posts:
        application.library.pipeline.add_bytes(f"{post}.txt", POSTS[post].encode(), collection="Posts")
    options = options_of(application, preset, collection="Posts", fetch_pages=False)
    put = questions if len(posts) > 1 else [questions[0], *questions[3:]]
    took = [ask(application, question, options).trajectory for question in put]
    to_web = STRAIGHT_TO_WEB if options.rewrite == "none" else REWRITTEN
    if preset == "paper":
        assert took[-2:] == [to_web] * 2, "its scores for what the posts answer are those of the built-in grader here"
    elif preset == "langgraph-js":
        assert took == [*[FROM_LIBRARY] * len(posts), *[to_web] * (len(put) - len(posts))], (
            "one relevant passage suffices"
        )
    else:
        alone = [FROM_LIBRARY] if len(posts) == 1 else [to_web]
        assert took == [*alone, *[to_web] * (len(put) - 1)], "all passages must be relevant"


def test_an_empty_library_goes_to_the_web_under_every_system(ollama, tavily, tmp_path):
    servers = {"ollama_host": ollama.url, "tavily_api_key": "tvly-x", "tavily_url": tavily.url}
    with opened_with(tmp_path / "empty", chat_model="auto", **servers) as application:
        for preset in REFERENCE_SYSTEMS:
            options = options_of(application, preset, fetch_pages=False)
            assert "Herons" in ask(application, ELSEWHERE, options).text, preset


def test_a_question_is_taken_as_it_stands(application, ollama):
    options = options_of(application, "mistral-no-rewrite", web="off")
    conversation = application.conversations.create().id
    list(application.runs.start(conversation, QUESTION, options).follow(seconds=60))
    asked = len(ollama.chats)
    again = application.runs.start(conversation, "And who cast it?", options)
    trace = wait(again)
    assert trace.trajectory == ["retrieve_documents", "grade_document_retrieval", "generate_answer"]
    assert all("metal" not in one.prompt.partition("<passage")[0] for one in ollama.chats[asked:])
    greeting = ask(application, "Hello!", options)
    assert greeting.trajectory[0] == "retrieve_documents", "small talk is a question like any other there"


def test_a_model_that_is_not_there_is_said(application, ollama):
    ollama.models = [SMALL, NOMIC]
    said = ask(application, QUESTION, options_of(application, "langgraph", web="off")).notes
    assert "“LangGraph, February 2024” grades with a second model. There is only one, so it also graded." in said
    said = ask(application, QUESTION, options_of(application, "langgraph", web="off", model="builtin")).notes
    assert any("grades with a language model. There is none" in note for note in said)


def test_every_system_answers_on_the_built_in_engine(application):
    for preset in REFERENCE_SYSTEMS:
        trace = ask(application, QUESTION, options_of(application, preset, model="builtin", web="off"))
        assert "bronze" in trace.text, preset
        assert find_system(trace.options) is REFERENCE_SYSTEMS[preset]
        assert threshold_origin(trace.options, calibrated=False) == "set by the preset"
