"""Ollama in the settings: loaded models, pulling others, and a server that is down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.errors import HomeFault
from pages.parts.services import shared_application
from tests.doubles.ollama import ScriptedOllama, closed_address
from tests.doubles.ollama_registry import Offer
from tests.doubles.ollama_values import LLAMA, NOMIC, Model
from tests.pages.conftest import labels, open_settings, said, until

CLOUD = Model("gpt-oss:120b-cloud", "gptoss", 384, "d" * 64, remote_host="https://ollama.com:443")
SMALL = replace(LLAMA, name="llama3.2:1b", size=1_300_000_000, parameters="1.2B", digest="1" * 64)
QWEN = Model("qwen3:8b", "qwen3", 5_200_000_000, "9" * 64)


@pytest.fixture
def ollama(monkeypatch):
    with ScriptedOllama(models=[LLAMA, SMALL, CLOUD, NOMIC]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def page(ollama, chat):
    opened = open_settings(chat, "models")
    until(opened, lambda: said(opened, "llama3.1:8b"))
    return opened


def keys(page):
    return {button.key for button in page.button}


def bars(page):
    """The words over the progress bars."""
    return " ".join(bar.proto.text for bar in page.get("progress")).replace("\\", "")


def get(page, name):
    box = page.selectbox(key="model_to_get")
    box.options.append(name)
    box.set_value(name)
    page.button[labels(page).index("Get it")].click().run()
    assert not page.exception


def test_each_model_shows_its_facts_and_roles(ollama, page):
    assert said(page, f"{ollama.version} at 127.0.0.1")
    assert said(page, "8.0B · Q4_K_M · 131,072 tokens · 4.9 GB")
    assert said(page, ":blue-badge[used for all]"), "it answers, grades and rewrites"
    assert said(page, "runs at ollama.com")
    assert said(page, "embedding model")
    assert f"Load-{CLOUD.name}" not in keys(page)


def test_a_model_is_loaded_with_its_window_and_unloaded(ollama, page):
    shared_application().preferences.save("answering.window", 16_384)
    page.button(key=f"Load-{SMALL.name}").click().run()
    until(page, lambda: f"Unload-{SMALL.name}" in keys(page))
    assert said(page, "1.3 GB · :green[loaded on GPU]")
    assert (SMALL.name, 16_384) in ollama.memory.loads
    page.button(key=f"Unload-{SMALL.name}").click().run()
    until(page, lambda: f"Load-{SMALL.name}" in keys(page))
    assert SMALL.name not in ollama.memory.held


def test_a_load_that_takes_long_is_told_with_its_seconds(ollama, page):
    ollama.memory.load_seconds = 1.5
    page.button(key=f"Load-{SMALL.name}").click().run()
    until(page, lambda: said(page, "loading, 1 s so far"))
    until(page, lambda: f"Unload-{SMALL.name}" in keys(page))


def test_deleting_a_model_asks_first_and_names_it(ollama, page):
    page.button(key=f"delete-{SMALL.name}").click().run()
    assert said(page, "**llama3.2:1b**, 1.3 GB will be removed from Ollama")
    page.button[labels(page).index("Cancel")].click().run()
    assert ollama.has(SMALL.name)
    page.button(key=f"delete-{SMALL.name}").click().run()
    [button for button in page.button if button.label == "Delete"][-1].click().run()
    until(page, lambda: not said(page, SMALL.name))
    assert not ollama.has(SMALL.name)


def test_a_pull_is_followed_cancelled_resumed_and_dismissed(ollama, page):
    ollama.registry["qwen3:8b"] = offer = Offer(QWEN, seconds=60, steps=600)
    get(page, "qwen3:8b")
    until(page, lambda: "MB of 5.2 GB · " in bars(page))
    page.button[labels(page).index("Cancel")].click().run()
    until(page, lambda: "Resume" in labels(page))
    assert said(page, "Getting") is False
    assert said(page, "downloaded and kept. Not finished.")
    offer.seconds = 0
    page.button[labels(page).index("Resume")].click().run()
    until(page, lambda: ollama.has("qwen3:8b") and said(page, "5.2 GB"))
    assert "Resume" not in labels(page)


def test_what_cannot_be_got_is_told_and_dismissed(ollama, page):
    get(page, "nothing")
    until(page, lambda: said(page, "Ollama's registry has no model called nothing."))
    page.button(key="dismiss-ollama:nothing").click().run()
    assert not said(page, "called nothing")


def test_a_missing_server_is_explained_and_noticed_later(monkeypatch, chat):
    page = open_settings(chat, "models")
    until(page, lambda: said(page, "Ollama does not answer at 127.0.0.1:9."))
    assert page.code[0].value == "ollama serve"
    assert said(page, "ollama.com/download")
    assert not any("](http" in one.value for one in page.caption), "too pale for a link"
    assert "Get it" not in labels(page)
    assert "Built-in engine" in page.selectbox(key="setting-model").options[0]


def test_several_hosts_are_listed_with_their_state(ollama, monkeypatch, chat):
    gone = closed_address().removeprefix("http://")
    monkeypatch.setenv("OLLAMA_HOST", f"{ollama.url},{gone}")
    page = open_settings(chat, "models")
    until(page, lambda: said(page, "4 models in Ollama"))
    assert said(page, f"{gone} :small[:gray[does not answer; left out for now, and tried again soon]]")


def test_providers_list_their_needs_and_never_their_keys(chat, monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", "gsk-secret")
    page = open_settings(chat, "models")
    page.session_state["providers"] = True
    page.run()
    assert said(page, "The key is set, the package is not installed.")
    assert "pip install langchain-groq" in [code.value for code in page.code]
    assert "secret" not in str([item.value for item in [*page.code, *page.markdown, *page.caption]])


def test_a_name_that_no_model_can_have_is_refused_in_words(ollama, page):
    get(page, "two words\n$(reboot)")
    [toast] = page.toast
    assert "cannot be downloaded" in toast.value
    assert shared_application().downloads.all() == []


def test_a_full_disk_is_told_when_a_download_cannot_begin(ollama, page, monkeypatch):
    def full(name):
        raise HomeFault("The disk is full, so nothing was saved.", "Free some space, then try again.")

    monkeypatch.setattr(shared_application().downloads, "start", full)
    get(page, SMALL.name)
    [toast] = page.toast
    assert "The disk is full" in toast.value
