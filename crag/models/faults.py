"""Translation of errors of the Ollama server and its client library into faults; hosted providers are separate."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from urllib.parse import urlsplit

from crag.errors import ModelFault
from crag.settings import Settings

_OUT_OF_MEMORY = ("out of memory", "system memory", "enough memory", "insufficient memory", "allocate")
_GPU_FAILED = ("cuda error", "rocm error", "hip error", "metal error", "vulkan")
_RUNNER_ENDED = ("runner process", "runner has unexpectedly stopped")
_TOO_LONG = ("context length", "context size", "context window", "exceed_context_size")
# Reply of servers before 0.5 to a JSON schema, and of newer ones to any unknown option.
_TOO_OLD = ("cannot unmarshal",)
_ALLOWANCE = ("usage limit", "quota", "upgrade", "subscription")
_TWO_SIZES = re.compile(r"(\d[\d.]* ?[KMGT]i?B)\D.*?(\d[\d.]* ?[KMGT]i?B)")
_ACCESS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
_IN_STREAM = -1  # the client library's status for an error sent as a line of the stream
_REDIRECTS = range(300, 400)  # never followed: prompts go only to the configured address


def host_label(settings: Settings) -> str:
    """Return Ollama's host and port for display, never user name or password."""
    return urlsplit(settings.ollama_host).netloc.rpartition("@")[2]


def unreachable(settings: Settings) -> ModelFault:
    """Build the fault for a server that does not accept connections."""
    remedy = "Start it with `ollama serve`, then try again."
    if not settings.ollama_is_here:
        remedy = "Start it there with `OLLAMA_HOST=0.0.0.0 ollama serve`, or set OLLAMA_HOST here to where it is."
    return ModelFault("unreachable", f"Ollama does not answer at {host_label(settings)}.", remedy)


def missing_model(model: str) -> ModelFault:
    """Build the fault for a model that the server does not have."""
    return ModelFault(
        "model_missing",
        f"Ollama has no model called {model}.",
        f"Get it with `ollama pull {model}`, then try again.",
        model=f"ollama:{model}",
    )


def only_embeds(model: str) -> ModelFault:
    """Build the fault for an embedding model chosen to answer."""
    return ModelFault(
        "only_embeds",
        f"{model} only makes vectors: it cannot answer.",
        "Choose a chat model, such as Llama 3.1, in the settings.",
    )


def consent_needed(model: str, label: str, host: str) -> ModelFault:
    """Build the fault for a remote model without consent to send questions and passages."""
    return ModelFault(
        "consent_needed",
        f"{label} runs on another machine, at {host}: your question and passages of your documents would go there.",
        "Nothing was sent. Allow it, or choose a model on this machine.",
        model=model,
    )


def question_too_long(tokens: int, room: int) -> ModelFault:
    """Build the fault for a question over the window; questions are never cut. Counts are our token estimates."""
    return ModelFault(
        "question_too_long",
        f"Your question is too long for this model: about {tokens:,} tokens, where {room:,} fit.",
        "Shorten it, or add its text as a document and ask about that.",
    )


def bad_reply(server: str) -> ModelFault:
    """Build the fault for a malformed reply."""
    return ModelFault(
        "bad_reply", f"{server} sent a reply that cannot be read.", "Try again, or restart the model server.", "passing"
    )


def broken_off(server: str) -> ModelFault:
    """Build the fault for a connection that ended in the middle of a reply."""
    return ModelFault("incomplete", f"{server} broke off its reply.", "Ask again to get a whole answer.", "passing")


def broken_in_the_middle(fault: ModelFault) -> ModelFault:
    """Turn a fault into a partial one: part of the answer was written and is kept."""
    mended = "" if fault.fault == "passing" else f"{fault.remedy} "
    remedy = f"{mended}Continue from what had come, or ask again."
    return ModelFault(fault.code, fault.message, remedy, "partial", model=fault.model)


def silent(server: str) -> ModelFault:
    """Build the fault for a server that keeps the connection open but sends nothing."""
    return ModelFault("silent", f"{server} has sent nothing for too long.", "Restart the model server, then try again.")


def unknown(server: str) -> ModelFault:
    """Build the fault for a failure without a known cause."""
    return ModelFault("model_failed", f"{server} failed for a reason it did not explain.", "Look at its log.", "bug")


def translate_ollama(error: Exception, model: str, settings: Settings) -> ModelFault:
    """Translate an error of `httpx` or `ollama` for `model` on the configured server."""
    import httpx

    if isinstance(error, ModelFault):
        return error
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return unreachable(settings)
    if isinstance(error, httpx.HTTPStatusError):
        return _from_status(error.response.status_code, error.response.text, model, settings)
    if isinstance(error, httpx.TransportError):
        return silent("Ollama") if isinstance(error, httpx.TimeoutException) else broken_off("Ollama")
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _from_status(status, str(getattr(error, "error", "")), model, settings)
    if isinstance(error, ValueError | TypeError | AttributeError | KeyError):
        return bad_reply("Ollama")
    return unknown("Ollama")


def _from_status(status: int, text: str, model: str, settings: Settings) -> ModelFault:
    words = text.lower()

    def said(signs: tuple[str, ...]) -> bool:
        return any(sign in words for sign in signs)

    if said(_OUT_OF_MEMORY):
        return _out_of_memory(model, text)
    if status in _ACCESS and said(_ALLOWANCE):
        return _used_up(model)
    if status in _REDIRECTS or (status in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN) and not _is_ollama(text)):
        return not_ollama(settings)
    if status == HTTPStatus.NOT_FOUND:
        return missing_model(model)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ModelFault("no_access", f"Ollama asks for a sign-in to use {model}.", "Run `ollama signin`.")
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        return ModelFault("busy", "Ollama is busy: its queue is full.", "Wait a moment, then ask again.", "passing")
    if said(_TOO_LONG):
        return _prompt_too_long(model)
    if status == HTTPStatus.BAD_REQUEST:
        return _too_old() if said(_TOO_OLD) else _refused(model)
    return _server_error(status, model, gpu=said(_GPU_FAILED), ended=said(_RUNNER_ENDED))


def _out_of_memory(model: str, text: str) -> ModelFault:
    sizes = _TWO_SIZES.search(text)
    figures = f": it needs {sizes[1]}, and {sizes[2]} are free" if sizes else ""
    return ModelFault(
        "out_of_memory",
        f"There is not enough memory for {model}{figures}.",
        "Close other programs or choose a smaller model, then try again.",
    )


def _used_up(model: str) -> ModelFault:
    return ModelFault(
        "no_access",
        f"What your account allows of {model} is used up, or does not cover it.",
        "Wait until it is renewed, or choose a model on this machine.",
    )


def _prompt_too_long(model: str) -> ModelFault:
    return ModelFault(
        "prompt_too_long",
        f"The question with its passages is longer than {model} takes.",
        "Use fewer passages, or make the model's context window larger in the settings.",
    )


def _too_old() -> ModelFault:
    return ModelFault(
        "too_old",
        "This Ollama is too old: it does not understand what it is asked.",
        "Update it to version 0.5 or later, then try again.",
    )


def _refused(model: str) -> ModelFault:
    return ModelFault("refused", f"Ollama refused the request for {model}.", "Choose another model, or update Ollama.")


def _server_error(status: int, model: str, *, gpu: bool, ended: bool) -> ModelFault:
    message = f"Ollama reported an error while {model} was at work."
    remedy = "Try again; if it happens again, look at Ollama's log."
    if gpu:
        message = f"The graphics processor failed while {model} was at work."
        remedy = "Restart Ollama, then try again; if it happens again, update the driver."
    elif ended:
        message = f"{model} ended while it was at work, perhaps because memory ran out."
        remedy = "Try again; if it happens again, choose a smaller model or a smaller context window."
    passing = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == _IN_STREAM
    return ModelFault("server_error", message, remedy, "passing" if passing else "yours")


def _is_ollama(text: str) -> bool:
    """Return whether an error text comes from Ollama and not from another web server."""
    try:
        return "error" in json.loads(text)
    except (ValueError, TypeError):
        return "model" in text and "not found" in text


def not_ollama(settings: Settings) -> ModelFault:
    """Build the fault for a server at that address that is not Ollama."""
    return ModelFault(
        "not_ollama",
        f"What answers at {host_label(settings)} does not act like Ollama.",
        "Set OLLAMA_HOST to the address of your Ollama server.",
    )
