"""Embedders that change from outside: another model of the same name, lost servers, commands that switch."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from crag.cli.main import main
from crag.retrieval import active_embedder
from crag.runs.trace import Trace
from tests import applications
from tests.applications import opening
from tests.doubles.little_model import embed_words
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.waiting import PATIENCE

BEES = b"# Bees\n\nBees dance to tell where the flowers are.\n\n# Wasps\n\nWasps build nests of paper.\n"
QUESTION = "How do bees dance?"
NOMIC = "ollama:nomic-embed-text"


@pytest.fixture(autouse=True)
def _look_each_time(monkeypatch):
    monkeypatch.setattr(active_embedder, "_CACHE_SECONDS", 0)
    monkeypatch.setattr(active_embedder, "_FAULT_CACHE_SECONDS", 0)


@pytest.fixture
def opened(tmp_path):
    with opening(tmp_path / "home", chat_model="auto") as open_:
        yield open_


def ask(application) -> Trace:
    return applications.ask(application, QUESTION, model="builtin", policy="off")


def other_weights(texts, size):
    """The vectors of another model of the same dimension."""
    return [[*row[1:], row[0]] for row in embed_words([text[::-1] for text in texts], size)]


@pytest.mark.parametrize("digest_told", [True, False], ids=["another digest", "the same digest"])
def test_another_model_under_the_same_name_is_noticed(opened, digest_told):
    with ScriptedOllama() as ollama:
        application = opened(ollama_host=ollama.url, embedder=NOMIC)
        application.library.pipeline.add_bytes("bees.md", BEES)
        assert ask(application).notes == []
        before = application.library.spaces.active_embedder.active_space().space
        ollama.embed = other_weights
        if digest_told:
            ollama.models = [replace(model, digest="d" * 64) for model in ollama.models]
        trace = ask(application)
        assert (trace.state, trace.outcome) == ("done", "quoted")
        assert any("the model changed under the same name" in note for note in trace.notes)
        application.library.space_work.begin()
        assert application.library.space_work.wait(PATIENCE)
        after = application.library.spaces.active_embedder.active_space().space
        assert (after.name, after.dimension) == (before.name, before.dimension)
        assert after.digest == ("d" * 64 if digest_told else before.digest + "+2")
        assert ask(application).notes == []


def test_a_server_that_is_gone_leaves_the_words_and_a_note(opened):
    with ScriptedOllama() as ollama:
        opened(ollama_host=ollama.url, embedder=NOMIC).library.pipeline.add_bytes("bees.md", BEES)
    application = opened(ollama_host=closed_address(), embedder=NOMIC)
    trace = ask(application)
    assert (trace.state, trace.outcome) == ("done", "quoted")
    assert any("ollama serve" in note and "by words" in note for note in trace.notes)
    assert any(check.status == "fail" and "ollama serve" in check.fix for check in application.diagnose())


def lose(_texts, _size):
    """The connection ends without a reply."""
    raise ConnectionResetError


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda texts, size: [[float("nan")] * size for _ in texts], "values that are not numbers"),
        (lambda texts, size: [[0.0] * size for _ in texts], "all zeros"),
        (lambda texts, size: [[1.0] * 5 for _ in texts], "do not have 768 dimensions"),
        (lambda texts, size: [[1.0] * size for _ in texts][1:], "are 0 for 1 text"),
        (lose, "could not embed this text"),
    ],
    ids=["not numbers", "zero", "another size", "too few", "closed"],
)
def test_unsound_vectors_are_never_stored(opened, answer, words):
    with ScriptedOllama() as ollama:
        application = opened(ollama_host=ollama.url, embedder=NOMIC)
        application.library.pipeline.add_bytes("bees.md", BEES)
        held = application.library.size()
        ollama.embed = answer
        refused = application.library.pipeline.add_bytes("ants.md", b"# Ants\n\nAnts walk in lines.\n")
        assert (refused.status, refused.error.code) == ("failed", "embedding_failed")
        assert words in refused.error.message
        assert "choose another embedder" in refused.error.message
        assert application.library.size() == held
        trace = ask(application)
        assert (trace.state, trace.outcome) == ("done", "quoted")
        assert any(words in note and "by words" in note for note in trace.notes)


def test_vectors_of_a_lost_server_give_way_to_builtin_ones(opened):
    with ScriptedOllama() as ollama:
        opened(ollama_host=ollama.url, embedder=NOMIC).library.pipeline.add_bytes("bees.md", BEES)
    application = opened(ollama_host=closed_address(), embedder="builtin")
    application.warm_up()
    assert application.library.space_work.wait(PATIENCE)
    assert application.embedders.answering() == "Built-in embeddings"
    assert ask(application).notes == []


def test_the_commands_of_spaces(tmp_path, capsys, monkeypatch):
    def crag(*arguments):
        code = main([*arguments, "--home", str(tmp_path / "home"), "--json"])
        return code, json.loads(capsys.readouterr().out)

    def states(document):
        return {space["name"]: (space["state"], space["vectors"]) for space in document["spaces"]}

    file = tmp_path / "bees.md"
    file.write_bytes(BEES)
    with ScriptedOllama() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        assert crag("spaces") == (0, {"spaces": [], "wanted": "builtin", "overruled": None, "fault": None})
        crag("add", str(file))
        code, document = crag("spaces", "use", NOMIC)
        count = document["spaces"][0]["passages"]
        assert (code, states(document)) == (0, {NOMIC: ("answering", count), "builtin": ("kept", count)})
        assert crag("search", "bees dance")[1]["hits"]
        code, document = crag("spaces", "rollback")
        assert (code, states(document)["builtin"]) == (0, ("answering", count))
        monkeypatch.setenv("CRAG_EMBEDDER", NOMIC)
        document = crag("spaces")[1]
        assert (document["wanted"], document["overruled"]) == ("builtin", NOMIC)
        in_use, kept = (space["id"] for space in document["spaces"])
        code, refused = crag("spaces", "drop", in_use)
        assert (code, refused["error"]["code"]) == (1, "bad_request")
        assert crag("spaces", "drop", kept[:6]) == (0, {"dropped": kept})
        code, refused = crag("spaces", "rollback")
        assert (code, refused["error"]["code"]) == (1, "not_found")
        assert crag("spaces", "use", "ollama:nobody")[0] == 1
    assert crag("doctor")[0] == 0
