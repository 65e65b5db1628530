"""`evaluate`, `evaluations` and `datasets`, on a real home with the built-in engine."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import signal
import threading
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest

from crag.app.application import open_application
from crag.cli.evaluation_report import comparison_text, evaluation_text
from crag.cli.main import main
from crag.evaluation.dataset_format import SEED_DATASET
from crag.evaluation.summary import compare_results
from crag.evaluation.types import Cutoffs
from crag.reference_systems import REFERENCE_SYSTEMS
from crag.settings import Settings
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_values import Say
from tests.evaluation.sample import evaluation, results
from tests.waiting import wait_until

CORPUS = [
    {"id": "t-1", "title": "Alder", "text": "The bridge of Alder was opened in 1931 by the mayor of the town."},
    {"id": "t-2", "title": "Birch", "text": "Birch has a library of 40,000 books, which was founded by a baker."},
]
QUESTIONS = [
    {"question": "When was the bridge of Alder opened?", "answers": ["1931"], "passage_id": "t-1"},
    {"question": "Who founded the library of Birch?", "answers": ["a baker"], "passage_id": "t-2"},
    {"question": "Who won the 2024 NBA finals?", "answerable": False},
]

TEXTS = {
    "agent.md": "# ReAct\n\nThe ReAct agent integrates reasoning and acting and so uses self-reflection: it performs"
    " actions, such as calling a Wikipedia search API, then observes and reasons about the tool outputs.",
    "prompting.md": "# Few-shot prompting\n\nThe types of biases that can arise with few-shot prompting are majority"
    " label bias, recency bias and common token bias.",
    "attacks.md": "# Adversarial attacks\n\nFive types of adversarial attacks are token manipulation, gradient-based"
    " attack, jailbreak prompting, human red-teaming and model red-teaming.",
}


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A home with one evaluation of a grid, and what it printed."""
    folder = tmp_path_factory.mktemp("evaluated")
    questions = write_lines(folder / "towns.jsonl", QUESTIONS)
    corpus = write_lines(folder / "corpus.jsonl", CORPUS)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
        given = [questions, "--corpus", corpus, "--grid", "k=1,2", "--save-preset", "best of towns", "--web", "ask"]
        given += ["--model", "builtin"]
        place = ["--output", str(folder / "towns.html"), "--home", str(folder / "home")]
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            assert main(["evaluate", *given, *place]) == 0
    (folder / "told.txt").write_text(out.getvalue() + err.getvalue(), encoding="utf-8")
    return folder


@pytest.fixture
def crag(evaluated, tmp_path, monkeypatch, capsys):
    """Runs a command on a copy of that home: its exit code, its document or what it printed."""
    shutil.copytree(evaluated, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")

    def run(*arguments, json_output=True):
        code = main([*arguments, "--home", "home", *(["--json"] if json_output else [])])
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if json_output else printed.out + printed.err

    return run


def test_a_grid_is_run_kept_shown_compared_exported_and_deleted(crag, tmp_path):
    (listed,) = crag("evaluations")[1]["evaluations"]
    assert (listed["name"], listed["kind"], listed["state"], listed["done"]) == ("towns", "grid", "done", 6)
    code, document = crag("evaluations", "show", listed["id"][:6])
    assert code == 0
    assert set(document) == {"evaluation", "summary", "rows"}
    assert [one["variant"] for one in document["summary"]["variants"]] == ["1 passage", "2 passages"]
    figures = document["summary"]["variants"][0]["figures"]
    assert (figures["answer_right"]["value"], figures["answer_right"]["n"]) == (1.0, 2)
    assert figures["recall"]["n"] == 2
    assert document["evaluation"]["variants"][0]["options"]["collection"].endswith(" corpus")
    assert document["evaluation"]["variants"][0]["environment"]["documents"] == 2
    compared = crag("evaluations", "compare", listed["id"])[1]
    assert (compared["before"]["variant"], compared["after"]["variant"], compared["examples"]) == (
        "1 passage",
        "2 passages",
        3,
    )
    assert crag("evaluations", "export", listed["id"], "--output", "towns.csv")[0] == 0
    written = (tmp_path / "towns.csv").read_text(encoding="utf-8")
    assert len(list(csv.DictReader(io.StringIO(written)))) == 6
    assert crag("evaluations", "delete", listed["id"])[0] == 0
    assert crag("evaluations")[1] == {"evaluations": []}


def test_the_best_variant_is_saved_as_a_preset_and_reported(crag, tmp_path):
    assert "1 passage" in (tmp_path / "towns.html").read_text(encoding="utf-8")
    code, document = crag("evaluate", "towns.jsonl", "--preset", "best of towns", "--limit", "1")
    assert code == 0
    assert document["evaluation"]["dataset"] == "towns (first 1 of 3)"
    assert document["evaluation"]["variants"][0]["options"]["preset"] == "best of towns"
    assert len(document["rows"]) == 1


def test_people_read_what_was_asked_of_what_and_the_best_variant(evaluated):
    told = (evaluated / "told.txt").read_text(encoding="utf-8")
    for words in (
        "2 documents",
        "Right minus wrong",
        "Right answers",
        "answered by  Built-in engine",
        "Expected passages found",
        "Best: ",
    ):
        assert words in told
    assert told.count("Evaluations cannot ask") == 1
    assert "Saved as the preset “best of towns”" in told


def test_the_built_in_questions_are_told_one_by_one(crag):
    code, told = crag("evaluate", "seed", "--sample", "2", "--name", "Mine", json_output=False)
    assert code == 0
    assert told.startswith("Mine")
    assert "Five questions on three posts (random 2, seed 0, of 5)" in told
    assert "expected steps" in told
    assert sum(example.question in told for example in SEED_DATASET.examples) == 2


def test_existing_answers_are_judged_without_asking_again(crag, monkeypatch):
    id_ = crag("evaluations")[1]["evaluations"][0]["id"]
    asked = {row["run_id"] for row in crag("evaluations", "show", id_)[1]["rows"]}
    with ScriptedOllama(script=lambda _: Say('{"reason": "It says little.", "points": 2}')) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        code, document = crag("evaluations", "judge", id_, "--model", "ollama:llama3.1:8b")
    assert (code, document["evaluation"]["state"]) == (0, "done")
    assert {row["run_id"] for row in document["rows"]} == asked
    assert [row["right"] for row in document["rows"]] == [False, False, None] * 2
    assert document["rows"][0]["judged"]["reason"] == "It says little."
    assert "It says little." in crag("evaluations", "export", id_, "--format", "html")[1]["content"]


def test_a_dataset_is_added_named_listed_and_deleted(crag):
    assert crag("datasets", "add", "towns.jsonl", "--name", "My towns")[1]["added"]["questions"] == 3
    assert {one["name"] for one in crag("datasets")[1]["datasets"]} >= {"My towns", SEED_DATASET.name}
    assert len(crag("evaluate", "My towns", "--limit", "1")[1]["rows"]) == 1
    assert len(crag("datasets", "export", "My towns")[1]["content"].splitlines()) == 3
    assert crag("datasets", "delete", "My towns")[0] == 0
    assert crag("evaluate", "My towns")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("evaluate", "none such"), 1),
        (("evaluate", "pinned"), 1),
        (("evaluate", "seed", "--collection", "None such"), 1),
        (("evaluate", "seed", "--output", "towns.html"), 1),
        (("evaluate", "seed", "--output", "towns.txt"), 1),
        (("evaluate", "seed", "--grid", "k=1", "--save-preset", "paper"), 1),
        (("evaluate", "seed", "--grid", "colour=red"), 1),
        (("evaluate", "seed", "--langsmith"), 1),
        (("evaluate", "seed", "--limit", "1", "--sample", "1"), 2),
        (("evaluations", "show", "none"), 1),
        (("evaluations", "compare", ""), 1),
        (("datasets", "delete", "seed"), 1),
    ],
)
def test_what_cannot_be_is_refused(evaluated, monkeypatch, capsys, arguments, code):
    monkeypatch.chdir(evaluated)
    refused = main([*arguments, "--home", "home", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert refused == code
    assert document["error"]["message"]


def test_an_interrupt_stops_it_and_it_goes_on_where_it_was(crag, tmp_path, monkeypatch):
    """Resumed, only what was not answered when the interrupt came is asked."""
    watching, usual = open_application(Settings(home=tmp_path / "home")), signal.getsignal(signal.SIGINT)

    def has_answered():
        return any(one.done for one in watching.evaluations.list() if one.state == "running")

    def interrupt():
        wait_until(lambda: has_answered() and signal.getsignal(signal.SIGINT) is not usual)
        signal.raise_signal(signal.SIGINT)

    def hang_at_the_second(asked):
        if asked.writes and len([one for one in ollama.chats if one.writes]) > 1:
            return Say("", first_token_after=math.inf)
        return Say(answer_like_a_little_model(asked))

    interrupting = threading.Thread(target=interrupt)
    with ScriptedOllama(script=hang_at_the_second) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        interrupting.start()
        given = ("evaluate", "towns.jsonl", "--repetitions", "2", "--parallel", "1", "--model", "ollama:llama3.1:8b")
        code, told = crag(*given, json_output=False)
        interrupting.join()
        stopped = watching.evaluations.list()[0]
        first = {one.run_id for one in watching.evaluations.results(stopped.id)}
        watching.close()
        assert (code, stopped.state) == (1, "stopped")
        assert 0 < stopped.done < 6
        assert f"evaluations resume {stopped.id}" in told
        ollama.script = lambda asked: Say(answer_like_a_little_model(asked))
        code, document = crag("evaluations", "resume", stopped.id)
    assert (code, document["evaluation"]["state"], len(document["rows"])) == (0, "done", 6)
    assert first <= {row["run_id"] for row in document["rows"]}


def test_one_variant_is_told_in_full():
    rated = [replace(results(1)[0], label=True), *results(1)[1:]]
    assert "1 rated by a person" in evaluation_text(evaluation(1, size=30), rated, Cutoffs())
    told = evaluation_text(evaluation(1, size=30), results(1), Cutoffs())
    assert "rated by a person" not in told
    for words in (
        "95% interval",
        "answered by  builtin (f1)",
        "settings     balanced grading, 1 passage, excerpts on, grader Automatic",
        "Wrong (1 question)",
        "run-0-1-1  Who is the mayor?",
    ):
        assert words in told


def test_a_grid_is_told_the_best_first_with_every_n():
    told = evaluation_text(evaluation(), results(), Cutoffs())
    ranking = told[told.index("variant") :]
    assert ranking.index("k 2") < ranking.index("k 1")
    assert "Best: k 2, but not clearly better than “k 1”." in told
    assert "n=2)" in told


def test_what_broke_is_told_with_the_run_before_and_after():
    all_of_them = results()
    before, after = ([one for one in all_of_them if one.variant == number] for number in (1, 0))
    told = comparison_text("k 2", "k 1", compare_results(before, after, Cutoffs()))
    assert "Worse (1):\n  +1 → −1  Who is the mayor?" in told
    assert "run-1-1-1 → run-0-1-1" in told
    assert "−50.0 points" in told


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


def test_all_reference_systems_are_compared_with_the_own_settings(capsys, monkeypatch, tmp_path, texts):
    given = ("--reference-systems", "--repetitions", "1", "--model", "builtin")
    document = evaluate(capsys, monkeypatch, tmp_path, texts, *given)
    titles = ["Your settings", *(system.title for system in REFERENCE_SYSTEMS.values())]
    assert [one["name"] for one in document["evaluation"]["variants"]] == titles
    assert len(document["rows"]) == 5 * len(titles)
    assert [one["options"]["preset"] for one in document["evaluation"]["variants"]] == ["", *REFERENCE_SYSTEMS]
    assert not any(row["error"] for row in document["rows"])


def test_the_builtin_engine_answers_from_the_texts_or_declines(capsys, monkeypatch, tmp_path, texts):
    given = ("--preset", "langgraph-local", "--web", "off", "--model", "builtin")
    document = evaluate(capsys, monkeypatch, tmp_path, texts, *given)
    assert by_question(document, lambda row: row["outcome"] == "quoted") == [3, 3, 3, 0, 0]
    assert by_question(document, lambda row: row["scores"]["steps_match"]) == [3, 3, 3, 3, 3]
