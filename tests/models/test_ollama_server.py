"""The models of an Ollama server over real HTTP: report, load, unload, delete."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.models.chat_models import open_chat_model
from crag.models.ollama_server import ModelReport, OllamaServer, recommend_llama
from crag.options import ModelParameters
from crag.types import Prompt
from tests.doubles.ollama import closed_address
from tests.doubles.ollama_values import LLAMA, NOMIC, Model
from tests.waiting import PATIENCE

THINKER = Model("qwen3:4b", "qwen3", 2_600_000_000, "c" * 64, 40_960, 2560, "", "4.0B", "Q4_K_M", thinks=True)
CLOUD = Model("gpt-oss:120b-cloud", "gptoss", 384, "d" * 64, 131_072, remote_host="https://ollama.com:443")


@pytest.fixture
def server(settings):
    server = OllamaServer(settings)
    yield server
    server.close()


def named(server: OllamaServer, name: str) -> ModelReport:
    return next(model for model in server.models() if model.name == name)


def test_all_that_is_known_of_a_model(ollama, server):
    ollama.models = [THINKER, LLAMA, NOMIC, CLOUD]
    thinker, llama, nomic, cloud = server.models()
    assert (llama.name, llama.label, llama.size, llama.family) == (
        "llama3.1:8b",
        "Llama 3.1 8B",
        4_900_000_000,
        "llama",
    )
    assert (llama.parameters, llama.quantization, llama.context_length) == ("8.0B", "Q4_K_M", 131_072)
    assert (llama.embeds, llama.thinks, llama.loaded, llama.processor, llama.expires_at) == (False,) * 3 + ("", None)
    assert (thinker.thinks, thinker.embeds, nomic.embeds, nomic.quantization) == (True, False, True, "F16")
    assert [model.cloud for model in (thinker, llama, nomic, cloud)] == [False, False, False, True]
    assert (cloud.host, llama.host) == ("ollama.com", "")


def test_thirty_models_are_asked_about_once(ollama, server):
    ollama.models = [replace(LLAMA, name=f"llama{number}", digest=f"{number:064}") for number in range(30)]
    server.models()
    assert [model.name for model in server.models()] == [model.name for model in ollama.models]
    assert len(ollama.asked("/api/show")) == 30
    ollama.models[7] = replace(ollama.models[7], digest="f" * 64, context_length=8192)
    assert server.models()[7].context_length == 8192
    assert len(ollama.asked("/api/show")) == 31


def test_an_old_server_tells_no_capabilities(ollama, server):
    ollama.models = [replace(THINKER, capabilities=()), replace(NOMIC, capabilities=())]
    thinker, nomic = server.models()
    assert (thinker.embeds, thinker.thinks, nomic.embeds) == (False, False, True)


@pytest.mark.parametrize(("share", "processor"), [(1.0, "GPU"), (0.0, "CPU"), (0.45, "45% GPU")])
def test_on_what_a_loaded_model_runs(ollama, server, share, processor):
    ollama.memory.on_gpu = share
    server.load("llama3.1:8b", ModelParameters(window=4096, keep_alive=600))
    loaded = named(server, "llama3.1:8b")
    assert (loaded.loaded, loaded.processor, loaded.window) == (True, processor, 4096)
    assert loaded.expires_at == pytest.approx(time.time() + 600, abs=60)
    assert not named(server, "nomic-embed-text:latest").loaded


def test_kept_as_long_as_the_server_runs(server):
    server.load("llama3.1:8b", ModelParameters(keep_alive=-1))
    assert (named(server, "llama3.1:8b").loaded, named(server, "llama3.1:8b").expires_at) == (True, None)


def test_a_question_finds_the_model_as_it_was_loaded(ollama, server, settings):
    ollama.models = [replace(LLAMA, context_length=6000)]
    tuning = ModelParameters(window=16_384)
    server.load("llama3.1:8b", tuning)
    model = open_chat_model("ollama:llama3.1:8b", settings, tuning=tuning)
    model.complete([Prompt("user", "Where?")], Cancellation())
    assert ollama.memory.loads == [("llama3.1:8b", 6000)]
    open_chat_model("ollama:llama3.1:8b", settings, tuning=ModelParameters(window=4096)).complete(
        [Prompt("user", "?")], Cancellation()
    )
    assert ollama.memory.loads == [("llama3.1:8b", 6000), ("llama3.1:8b", 4096)]


def test_a_model_with_keep_alive_zero_is_loaded_all_the_same(ollama, server):
    server.load("llama3.1:8b", ModelParameters(keep_alive=0))
    assert named(server, "llama3.1:8b").loaded
    assert "keep_alive" not in ollama.asked("/api/generate")[0].body


def test_an_embedding_model_is_loaded_and_unloaded(ollama, server):
    server.load("nomic-embed-text")
    assert named(server, "nomic-embed-text:latest").loaded
    server.unload("nomic-embed-text")
    assert not named(server, "nomic-embed-text:latest").loaded


def test_deleting_and_what_is_not_there(ollama, server):
    server.load("llama3.1:8b")
    server.delete("llama3.1:8b")
    assert not ollama.memory.held
    assert [model.name for model in server.models()] == ["nomic-embed-text:latest"]
    for act in (server.delete, server.load, server.unload):
        with pytest.raises(ModelFault, match=r"no model called llama3\.1:8b") as raised:
            act("llama3.1:8b")
        assert (raised.value.code, raised.value.model) == ("model_missing", "ollama:llama3.1:8b")


def test_a_model_that_is_too_large(ollama, server):
    ollama.memory.refusals.append("model requires more system memory (41.2 GiB) than is available (7.1 GiB)")
    with pytest.raises(ModelFault, match=r"not enough memory for llama3\.1:8b"):
        server.load("llama3.1:8b")


def test_closing_cuts_a_load(ollama, server):
    ollama.memory.load_seconds = 60.0
    ended: list[type[BaseException]] = []

    def load() -> None:
        with pytest.raises(Stopped) as raised:
            server.load("llama3.1:8b")
        ended.append(raised.type)

    loading = threading.Thread(target=load)
    loading.start()
    ollama.wait_until(lambda: ollama.memory.loads)
    server.close()
    loading.join(PATIENCE)
    assert ended == [Stopped]
    ollama.wait_until(lambda: ollama.asked("/api/generate")[0].outcome == "dropped")
    assert not ollama.memory.held


def test_no_server(settings):
    server = OllamaServer(replace(settings, ollama_host=closed_address()))
    assert server.version() is None
    for act in (server.models, lambda: server.load("llama3.1:8b"), lambda: server.delete("llama3.1:8b")):
        with pytest.raises(ModelFault, match="does not answer"):
            act()


@pytest.mark.parametrize(
    ("gigabytes", "name"), [(64, "llama3.1:8b"), (12, "llama3.1:8b"), (8, "llama3.2:3b"), (4, "llama3.2:1b")]
)
def test_the_llama_for_a_machine(gigabytes, name):
    assert recommend_llama(gigabytes * 1_000_000_000)[0] == name
