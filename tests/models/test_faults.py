"""Each fault of an Ollama server in words, and partial replies that are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.models.chat_models import open_chat_model
from crag.models.faults import unreachable_fault
from crag.settings import Settings
from crag.types import Prompt
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import LLAMA, NOMIC, Model, Say

ASK = [Prompt("user", "What is the capital of France?")]
NAME = "ollama:llama3.1:8b"
TWENTY = " ".join(f"word{n}" for n in range(20))
NO_MEMORY = "model requires more system memory (9.1 GiB) than is available (4.2 GiB)"


def fault_of(ollama: ScriptedOllama, settings: Settings, reply: Say, *, schema: bool = False) -> ModelFault:
    ollama.script = lambda asked: reply
    with pytest.raises(ModelFault) as fault:
        open_chat_model(NAME, settings).complete(ASK, Cancellation(), schema={"type": "object"} if schema else None)
    return fault.value


@pytest.mark.parametrize(
    ("status", "error", "code", "kind", "message", "remedy"),
    [
        (500, NO_MEMORY, "out_of_memory", "yours", "it needs 9.1 GiB, and 4.2 GiB are free", "choose a smaller model"),
        (500, "cudaMalloc failed: out of memory", "out_of_memory", "yours", "not enough memory", "smaller model"),
        (500, "CUDA error: device kernel image is invalid", "server_error", "passing", "GPU", "driver"),
        (
            500,
            "llama runner process has terminated: exit status 2",
            "server_error",
            "passing",
            "stopped unexpectedly",
            "smaller",
        ),
        *(
            (500, error, "server_error", "passing", "stopped unexpectedly", "smaller")
            for error in (
                "llama-server process has terminated: signal: killed",
                "an error was encountered while running the model: unexpected EOF",
            )
        ),
        (500, "something else", "server_error", "passing", "reported an error", "Ollama's log"),
        (503, "server busy, please try again", "busy", "passing", "busy", "Wait a moment"),
        (400, "registry.ollama.ai/x does not support chat", "refused", "yours", "refused", "Choose another model"),
        *(
            (400, error, "prompt_too_long", "yours", "too long", "fewer passages")
            for error in (
                "input length exceeds maximum context length",
                "the request exceeds the available context size",
            )
        ),
        (401, "unauthorized", "no_access", "yours", "sign-in", "ollama signin"),
        (403, "this model requires a subscription", "no_access", "yours", "no quota left", "on this machine"),
        (429, "you've reached your hourly usage limit", "no_access", "yours", "no quota left", "on this machine"),
    ],
)
def test_a_status_has_a_name_a_reason_and_a_remedy(ollama, settings, status, error, code, kind, message, remedy):
    fault = fault_of(ollama, settings, Say(status=status, error=error))
    assert (fault.code, fault.fault) == (code, kind)
    assert message in fault.message
    assert remedy in fault.remedy


def test_too_old_for_structured_replies(ollama, settings):
    said = "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"
    fault = fault_of(ollama, settings, Say(status=400, error=said), schema=True)
    assert fault.code == "too_old"
    assert "0.5" in fault.remedy


def test_too_little_memory_names_a_smaller_model_that_is_there(ollama, settings):
    small, tiny = Model("llama3.2:3b", size=2_000_000_000), Model("qwen3:0.6b", size=500_000_000)
    large, cloud = Model("llama3.3:70b", size=40_000_000_000), Model("glm:cloud", size=400, remote_host="https://a.b")
    ollama.models = [large, tiny, NOMIC, LLAMA, cloud, small]
    fault = fault_of(ollama, settings, Say(status=500, error=NO_MEMORY))
    assert "such as llama3.2:3b" in fault.remedy


@pytest.mark.parametrize(
    ("status", "code"), [(200, "bad_reply"), (404, "not_ollama"), (403, "not_ollama"), (502, "server_error")]
)
def test_another_web_server(ollama, settings, status, code):
    fault = fault_of(ollama, settings, Say(status=status, body=b"<html><h1>It works!</h1></html>"))
    assert fault.code == code
    assert "It works" not in str(fault)


def test_a_remote_server_is_named_with_its_remedy():
    fault = unreachable_fault(Settings(ollama_host="http://10.0.0.7:11434"))
    assert fault.message == "Ollama does not answer at 10.0.0.7:11434."
    assert "OLLAMA_HOST=0.0.0.0 ollama serve" in fault.remedy


@pytest.mark.parametrize(
    ("end", "code", "message"),
    [
        ("reset", "incomplete", "stopped in the middle"),
        ("close", "incomplete", "stopped in the middle"),
        ("error_line", "server_error", "reported an error"),
        ("bad_line", "bad_reply", "could not be read"),
    ],
)
def test_a_crash_after_twenty_tokens_keeps_them_for_continuing(ollama, settings, end, code, message):
    ollama.script = lambda asked: Say(TWENTY, end=end, per_token=0.005)  # type: ignore[arg-type]
    pieces = []
    with pytest.raises(ModelFault) as fault:
        pieces.extend(open_chat_model(NAME, settings).stream(ASK, Cancellation()))
    assert "".join(piece.text for piece in pieces) == TWENTY[: len("".join(piece.text for piece in pieces))]
    assert (fault.value.code, fault.value.fault) == (code, "partial")
    assert message in fault.value.message
    assert fault.value.remedy == "Continue from the text so far, or ask again."
    assert len(ollama.chats) == 1


def test_want_of_memory_in_the_middle_is_mended_first(ollama, settings):
    ollama.script = lambda asked: Say(TWENTY, end="error_line", error="CUDA error: out of memory")
    with pytest.raises(ModelFault) as fault:
        list(open_chat_model(NAME, settings).stream(ASK, Cancellation()))
    assert (fault.value.code, fault.value.fault) == ("out_of_memory", "partial")
    assert fault.value.remedy.endswith("then try again. Continue from the text so far, or ask again.")


def test_a_verdict_that_breaks_off_is_no_partial_answer(ollama, settings):
    """Graders go on without one that failed in passing."""
    assert fault_of(ollama, settings, Say(TWENTY, end="error_line")).fault == "passing"


def test_facts_of_a_model_are_asked_once_for_each_digest(ollama, settings):
    for digest in ("d" * 64, "d" * 64, "f" * 64, "d" * 64):
        ollama.models = [replace(LLAMA, digest=digest)]
        open_chat_model(NAME, settings)
    assert len(ollama.asked("/api/show")) == 2
