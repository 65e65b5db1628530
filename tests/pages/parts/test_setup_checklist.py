"""The set-up checklist: its buttons, progress, and a server that does not answer."""

from __future__ import annotations

import shutil
import socket

import pytest

from pages.parts import setup_checklist
from pages.parts.services import model_choice, refresh_status
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_registry import Mishap
from tests.doubles.ollama_values import LLAMA
from tests.pages.conftest import NOTES, add, labels, open_settings, said, until
from tests.waiting import wait_until

NAME = "ollama:llama3.1:8b"
GET = "Get Llama 3"


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch, tmp_path):
    """Neither Ollama nor Nomic's weights are installed, whatever this machine has; and it has the memory of most."""
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("crag.models.ollama_server.recommend_llama", lambda: ("llama3.1:8b", LLAMA.size))


@pytest.fixture
def ollama(monkeypatch):
    with ScriptedOllama(models=[]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def silent(monkeypatch, impatient_probes):
    """The address of a server that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{listening.getsockname()[1]}")
        yield


def words(page):
    return [label.replace("\\", "") for label in labels(page)]


def click(page, beginning):
    """Press a button, which may come only when the server has been looked at."""
    until(page, lambda: any(word.startswith(beginning) for word in words(page)))
    next(button for button in page.button if button.label.replace("\\", "").startswith(beginning)).click().run()


def test_a_model_that_comes_while_the_page_is_drawn_is_not_missed(chat, ollama, monkeypatch):
    """The question box is drawn before the checklist: it must not keep the model of before."""
    draw = setup_checklist.draw_checklist

    def come_and_draw():
        ollama.install(LLAMA)
        refresh_status()
        wait_until(lambda: model_choice().name == NAME)
        draw()

    chat.run()
    until(chat, lambda: f"{GET}.1 8B · 4.9 GB" in words(chat))
    monkeypatch.setattr(setup_checklist, "draw_checklist", come_and_draw)
    chat.run()
    assert "Llama 3.1 8B" in words(chat)


def test_the_weights_of_nomic_are_offered_beside_the_embedders(chat):
    page = open_settings(chat, "embeddings")
    until(page, lambda: any(word.startswith("Download · 274 MB") for word in words(page)))
    assert said(page, "Nomic embeddings")


def test_a_download_that_failed_says_why(chat, ollama):
    ollama.registry["llama3.1:8b"].mishaps.append(Mishap(0.4, "error", "write /root/x: no space left on device"))
    chat.run()
    click(chat, GET)
    until(chat, lambda: said(chat, "The disk is full where Ollama keeps its models"))
    assert "Resume" in words(chat)


def test_install_commands_are_shown_until_ollama_is_installed(chat, monkeypatch):
    chat.run()
    until(chat, lambda: said(chat, "not reachable"))  # the server was looked at: nothing changes any more
    click(chat, "How to install Ollama")
    until(chat, lambda: chat.code)
    assert "ollama.com/install.sh" in chat.code[0].value
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")  # Ollama is installed now, and to be started
    until(chat, lambda: not chat.code and "How to start Ollama" in words(chat))


@pytest.mark.parametrize("looks", [1, 2, 3])
def test_no_click_is_lost_while_the_page_changes(chat, monkeypatch, looks):
    """As the first seconds after a start, when the spaces begin to be looked after."""
    chat.run()
    until(chat, lambda: "How to install Ollama" in words(chat))
    before = iter([False] * looks)
    monkeypatch.setattr(setup_checklist, "_is_switching_space", lambda: next(before, True))
    click(chat, "How to install Ollama")
    assert "ollama.com/install.sh" in chat.code[0].value


def test_a_key_is_a_line_to_copy(chat):
    chat.run()
    click(chat, "Add a key")
    assert chat.code[0].value.startswith("TAVILY_API_KEY=")
    assert said(chat, "then restart")


def test_an_answer_of_the_built_in_engine_offers_the_same(chat, ollama, services):
    add(services, "brewing.md", NOTES)
    chat.run()
    chat.chat_input[0].set_value("What is the espresso machine descaled with?").run()
    until(chat, lambda: said(chat, "No language model is in use"))
    click(chat, GET)
    until(chat, lambda: "Llama 3.1 8B" in words(chat))


def test_nobody_waits_for_a_silent_server(chat, silent):
    chat.run()
    assert not chat.exception
    assert said(chat, "looking for it")
    until(chat, lambda: said(chat, "no response at 127.0.0.1"))
