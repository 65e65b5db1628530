"""The automatic choice of a model and its reason; the list of models says where they run."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from crag.errors import ModelFault
from crag.models.destinations import external_host
from crag.models.model_choice import available_chat_models, choose_chat_model, choose_embedder, model_label
from crag.models.ollama_api import fetch_ollama_version, list_installed_models
from crag.settings import Settings
from tests.doubles.ollama import closed_address
from tests.doubles.ollama_values import LLAMA, NOMIC, Model


def test_a_llama_on_ollama_answers(settings):
    choice = choose_chat_model(settings)
    assert (choice.name, choice.label, choice.builtin) == ("ollama:llama3.1:8b", "Llama 3.1 8B", False)
    assert "Llama 3.1 8B" in choice.reason


def test_without_a_server_the_builtin_engine_answers(settings):
    address = closed_address()
    choice = choose_chat_model(replace(settings, ollama_host=address))
    host = address.removeprefix("http://")
    assert (choice.name, choice.label) == ("builtin", "Built-in engine")
    assert choice.reason == f"Ollama does not answer at {host}, so the built-in engine answers."


def test_a_server_too_busy_to_list_its_models_keeps_the_choice(settings, monkeypatch):
    before = choose_chat_model(settings)
    monkeypatch.setattr("crag.models.ollama_pool.PROBE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as busy:  # accepts connections, but never replies
        silent = replace(settings, ollama_host=f"http://127.0.0.1:{busy.getsockname()[1]}")
        assert choose_chat_model(silent, before) == before
        assert choose_chat_model(silent).builtin
    assert choose_chat_model(replace(settings, ollama_host=closed_address()), before).builtin


def test_without_a_local_llama_the_builtin_engine_answers(ollama, settings):
    ollama.models = [NOMIC, Model("qwen3:4b"), Model("llama3.3:70b-cloud", remote_host="https://ollama.com:443")]
    choice = choose_chat_model(settings)
    assert choice.builtin
    assert "ollama pull llama3.1" in choice.reason


def test_the_largest_llama_that_most_machines_can_run(ollama, settings):
    sizes = {"llama3.3:70b": 43_000_000_000, "llama3.2:1b": 1_300_000_000, "llama3:8b": 4_700_000_000}
    ollama.models = [Model(name, size=size) for name, size in sizes.items()]
    assert choose_chat_model(settings).name == "ollama:llama3:8b"
    ollama.models = ollama.models[:1]
    assert choose_chat_model(settings).name == "ollama:llama3.3:70b"


def test_what_is_set_wins(settings):
    asked = replace(settings, chat_model="openai:gpt-4o-mini", embedder="ollama:bge-m3", ollama_host=closed_address())
    assert choose_chat_model(asked).name == "openai:gpt-4o-mini"
    assert choose_embedder(asked).name == "ollama:bge-m3"
    assert choose_chat_model(replace(settings, chat_model="builtin")).label == "Built-in engine"


def test_nomic_embeds_where_its_weights_are(settings, no_weights):
    without = choose_embedder(settings)
    no_weights.parent.mkdir(parents=True)
    no_weights.write_bytes(b"weights")
    assert (without.name, choose_embedder(settings).name) == ("builtin", "nomic")
    assert "not on this machine" in without.reason


def test_models_to_choose_from(ollama, settings):
    cloud = Model("gpt-oss:120b-cloud", remote_host="https://ollama.com:443")
    ollama.models = [LLAMA, NOMIC, cloud, Model("all-minilm:latest", "bert")]
    choices = available_chat_models(settings)
    assert [choice.name for choice in choices] == ["builtin", "ollama:llama3.1:8b", "ollama:gpt-oss:120b-cloud"]
    assert [choice.cloud for choice in choices] == [False, False, True]
    assert [choice.host for choice in choices] == ["", "", "ollama.com"]
    assert len(available_chat_models(replace(settings, ollama_host=closed_address()))) == 1


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("builtin", "Built-in engine"),
        ("ollama:llama3.1:8b", "Llama 3.1 8B"),
        ("ollama:llama3", "Llama 3"),
        ("ollama:llama3.2:latest", "Llama 3.2"),
        ("ollama:qwen2.5-coder:7b", "Qwen 2.5 Coder 7B"),
        ("ollama:mistral:7b-instruct-q4_K_M", "Mistral 7B Instruct q4_K_M"),
        ("ollama:somebody/model:tag", "somebody/model:tag"),
        ("openai:gpt-4o-mini", "openai:gpt-4o-mini"),
    ],
)
def test_labels(name, label):
    assert model_label(name) == label


@pytest.mark.parametrize(
    ("name", "server", "host"),
    [
        ("builtin", "http://127.0.0.1:11434", ""),
        ("ollama:llama3.1:8b", "http://127.0.0.1:11434", ""),
        ("ollama:llama3.1:8b", "http://me:secret@gpu.example:11434", "gpu.example:11434"),
        ("ollama:gpt-oss:120b-cloud", "http://127.0.0.1:11434", "ollama.com"),
        ("openai:gpt-4o-mini", "http://127.0.0.1:11434", "openai"),
        ("llama3.1:8b", "http://127.0.0.1:11434", ""),
    ],
)
def test_where_what_a_model_is_given_goes_to(name, server, host):
    assert external_host(name, Settings(ollama_host=server)) == host


def test_what_the_server_says_of_itself(ollama, settings):
    assert fetch_ollama_version(settings) == "0.30.11"
    assert [(model.name, model.size, model.family) for model in list_installed_models(settings)] == [
        ("llama3.1:8b", 4_900_000_000, "llama"),
        ("nomic-embed-text:latest", 274_000_000, "nomic-bert"),
    ]
    nowhere = replace(settings, ollama_host=closed_address())
    assert fetch_ollama_version(nowhere) is None
    with pytest.raises(ModelFault, match="does not answer"):
        list_installed_models(nowhere)
