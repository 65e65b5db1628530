"""Preloading: the answering model, and no other, is in memory before the first question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crag.app.application import Application, open_application
from crag.settings import Settings
from tests.applications import opening
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_registry import Mishap
from tests.doubles.ollama_values import CLOUD, LLAMA, NOMIC, Model
from tests.waiting import PATIENCE, wait_until

QWEN = Model("qwen3:4b", "qwen3", 2_600_000_000, "c" * 64, 40_960)
Open = Callable[..., Application]


@pytest.fixture
def ollama() -> Iterator[ScriptedOllama]:
    with ScriptedOllama(models=[LLAMA, NOMIC, QWEN, CLOUD]) as server:
        yield server


@pytest.fixture
def opened(ollama: ScriptedOllama, tmp_path: Path) -> Iterator[Open]:
    with opening(tmp_path / "home", chat_model="auto", ollama_host=ollama.url) as open_:
        yield open_


def test_the_first_question_finds_the_model_there(opened: Open, ollama: ScriptedOllama) -> None:
    application = opened()
    application.library.pipeline.add_bytes("bees.md", b"# Bees\n\nBees dance to tell where the flowers are.")
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    assert ollama.memory.loads == [("llama3.1:8b", 8192)]
    run = application.runs.start(None, "Where do bees dance?", application.preferences.options())
    list(run.follow(seconds=PATIENCE))
    assert ollama.chats
    assert ollama.memory.loads == [("llama3.1:8b", 8192)]


def test_with_the_window_that_all_roles_of_the_model_share(opened: Open, ollama: ScriptedOllama) -> None:
    application = opened()
    application.preferences.save("grading.window", 16_384)
    application.preferences.save("answering.keep_alive", -1)
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    assert ollama.memory.loads == [("llama3.1:8b", 16_384)]
    assert ollama.asked("/api/generate")[0].body["keep_alive"] == -1


def test_what_is_there_already_is_left_alone(opened: Open, ollama: ScriptedOllama) -> None:
    application = opened()
    application.ollama.load("llama3.1:8b", application.preferences.options().answering)
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    assert len(ollama.asked("/api/generate")) == 1


def test_another_model_that_is_saved_is_loaded_too(opened: Open, ollama: ScriptedOllama) -> None:
    application = opened()
    application.preferences.save("model", "ollama:qwen3:4b")
    assert ollama.memory.loads == []
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    application.preferences.save("model", "ollama:llama3.1:8b")
    wait_until(lambda: len(ollama.memory.loads) == 2)
    application.preferences.save("k", 6)
    assert application.model_preloader.wait(PATIENCE)
    assert ollama.memory.loads == [("qwen3:4b", 8192), ("llama3.1:8b", 8192)]


def test_what_was_unloaded_by_hand_stays_so(opened: Open, ollama: ScriptedOllama) -> None:
    application = opened()
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    application.ollama.unload("llama3.1:8b")
    application.preferences.save("k", 6)
    assert application.model_preloader.wait(PATIENCE)
    assert not ollama.memory.held


@pytest.mark.parametrize("model", ["builtin", "ollama:gpt-oss:120b-cloud", "openai:gpt-4o-mini"])
def test_nothing_elsewhere_is_loaded(opened: Open, ollama: ScriptedOllama, model: str) -> None:
    application = opened(chat_model=model)
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    assert ollama.asked("/api/generate") == []
    assert [entry.kind for entry in application.outbound_log.entries()] == []


def test_a_model_that_is_never_kept_is_not_loaded(opened: Open, ollama: ScriptedOllama) -> None:
    application = opened()
    application.preferences.save("answering.keep_alive", 0)
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    assert ollama.memory.loads == []


def test_closing_cuts_a_load(opened: Open, ollama: ScriptedOllama) -> None:
    ollama.memory.load_seconds = 60.0
    application = opened()
    application.warm_up()
    ollama.wait_until(lambda: ollama.memory.loads)
    application.close()
    assert application.model_preloader.wait(PATIENCE)
    ollama.wait_until(lambda: ollama.asked("/api/generate")[0].outcome == "dropped")


def test_a_model_that_was_fetched_answers_and_is_loaded(opened: Open, ollama: ScriptedOllama) -> None:
    ollama.models = []
    application = opened()
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    assert application.model_choice().builtin
    ollama.registry["llama3.2:3b"].mishaps.append(Mishap(0.5))
    application.downloads.start("ollama:llama3.2:3b")
    wait_until(lambda: application.model_choice().name == "ollama:llama3.2:3b")
    wait_until(lambda: ollama.memory.loads == [("llama3.2:3b", 8192)])


def test_a_model_that_was_deleted_answers_no_longer(opened: Open) -> None:
    application = opened()
    assert application.model_choice().name == "ollama:llama3.1:8b"
    application.ollama.delete("llama3.1:8b")
    assert application.model_choice().builtin


def test_a_command_loads_nothing(opened: Open, ollama: ScriptedOllama) -> None:
    application = opened()
    application.preferences.save("model", "ollama:qwen3:4b")
    application.downloads.start("ollama:llama3.2:1b")
    application.downloads.wait("ollama:llama3.2:1b", PATIENCE)
    assert application.model_preloader.wait(1)
    assert ollama.memory.loads == []


def test_a_server_started_later_gets_the_model_loaded(tmp_path: Path) -> None:
    address = closed_address()
    application = open_application(Settings(home=tmp_path / "home", ollama_host=address, embedder="builtin"))
    application.warm_up()
    assert application.model_preloader.wait(PATIENCE)
    assert application.model_choice().builtin
    with ScriptedOllama(models=[LLAMA], port=urlsplit(address).port or 0) as server:
        assert application.model_choice(refresh=True).name == "ollama:llama3.1:8b"
        assert application.model_preloader.wait(PATIENCE)
        assert server.memory.loads == [("llama3.1:8b", 8192)]
    application.close()
