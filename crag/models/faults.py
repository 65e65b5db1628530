"""Translation of Ollama and provider errors into faults."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from urllib.parse import urlsplit

from crag.errors import ModelFault
from crag.models.providers import find_provider
from crag.settings import Settings

_OUT_OF_MEMORY_WORDS = ("out of memory", "system memory", "enough memory", "insufficient memory", "allocate")
_GPU_FAILED_WORDS = ("cuda error", "rocm error", "hip error", "metal error", "vulkan")
_RUNNER_ENDED_WORDS = ("runner process", "runner has unexpectedly stopped")
_TOO_LONG_WORDS = ("context length", "context size", "context window", "exceed_context_size")
# Reply of servers before 0.5 to a JSON schema, and of newer ones to any unknown option.
_TOO_OLD_WORDS = ("cannot unmarshal",)
_QUOTA_WORDS = ("usage limit", "quota", "upgrade", "subscription")
_MEMORY_SIZES = re.compile(r"(\d[\d.]* ?[KMGT]i?B)\D.*?(\d[\d.]* ?[KMGT]i?B)")
_QUOTA_STATUSES = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_STREAM_ERROR_STATUS = -1  # the client library's status for an error sent as a line of the stream
_REDIRECTS = range(300, 400)  # never followed: prompts go only to the configured address


def ollama_host_label(settings: Settings) -> str:
    """Return Ollama's host and port for display, never user name or password."""
    return urlsplit(settings.ollama_host).netloc.rpartition("@")[2]


def unreachable_fault(settings: Settings) -> ModelFault:
    """Build the fault for a server that does not accept connections."""
    remedy = "Start it with `ollama serve`, then try again."
    if not settings.ollama_is_local:
        remedy = "Start it there with `OLLAMA_HOST=0.0.0.0 ollama serve`, or set OLLAMA_HOST here to where it is."
    return ModelFault("unreachable", f"Ollama does not answer at {ollama_host_label(settings)}.", remedy)


def missing_model_fault(model: str) -> ModelFault:
    """Build the fault for a model that the server does not have."""
    return ModelFault(
        "model_missing",
        f"Ollama has no model called {model}.",
        f"Get it with `ollama pull {model}`, then try again.",
        model=f"ollama:{model}",
    )


def embedding_only_fault(model: str) -> ModelFault:
    """Build the fault for an embedding model chosen to answer."""
    return ModelFault(
        "only_embeds",
        f"{model} only makes vectors: it cannot answer.",
        "Choose a chat model, such as Llama 3.1, in the settings.",
    )


def consent_needed_fault(model: str, label: str, host: str) -> ModelFault:
    """Build the fault for a remote model without consent to send questions and passages."""
    return ModelFault(
        "consent_needed",
        f"{label} runs on another machine, at {host}: your question and passages of your documents would go there.",
        "Nothing was sent. Allow it, or choose a model on this machine.",
        model=model,
    )


def question_too_long_fault(tokens: int, room: int) -> ModelFault:
    """Build the fault for a question over the window; questions are never cut. Counts are our token estimates."""
    return ModelFault(
        "question_too_long",
        f"Your question is too long for this model: about {tokens:,} tokens, where {room:,} fit.",
        "Shorten it, or add its text as a document and ask about that.",
    )


def bad_reply_fault(server: str) -> ModelFault:
    """Build the fault for a malformed reply."""
    return ModelFault(
        "bad_reply", f"{server} sent a reply that cannot be read.", "Try again, or restart the model server.", "passing"
    )


def incomplete_reply_fault(server: str) -> ModelFault:
    """Build the fault for a connection that ended in the middle of a reply."""
    return ModelFault("incomplete", f"{server} broke off its reply.", "Ask again to get a whole answer.", "passing")


def partial_answer_fault(fault: ModelFault) -> ModelFault:
    """Turn a fault into a partial one: part of the answer was written and is kept."""
    mended = "" if fault.fault == "passing" else f"{fault.remedy} "
    remedy = f"{mended}Continue from what had come, or ask again."
    return ModelFault(fault.code, fault.message, remedy, "partial", model=fault.model)


def silent_server_fault(server: str) -> ModelFault:
    """Build the fault for a server that keeps the connection open but sends nothing."""
    return ModelFault("silent", f"{server} has sent nothing for too long.", "Restart the model server, then try again.")


def unexplained_fault(server: str) -> ModelFault:
    """Build the fault for a failure without a known cause."""
    return ModelFault("model_failed", f"{server} failed for a reason it did not explain.", "Look at its log.", "bug")


def translate_ollama_error(error: Exception, model: str, settings: Settings) -> ModelFault:
    """Translate an error of `httpx` or `ollama` for `model` on the configured server."""
    import httpx

    if isinstance(error, ModelFault):
        return error
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
        return unreachable_fault(settings)
    if isinstance(error, httpx.HTTPStatusError):
        return _ollama_status_fault(error.response.status_code, error.response.text, model, settings)
    if isinstance(error, httpx.TransportError):
        return (
            silent_server_fault("Ollama")
            if isinstance(error, httpx.TimeoutException)
            else incomplete_reply_fault("Ollama")
        )
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _ollama_status_fault(status, str(getattr(error, "error", "")), model, settings)
    if isinstance(error, ValueError | TypeError | AttributeError | KeyError):
        return bad_reply_fault("Ollama")
    return unexplained_fault("Ollama")


def _ollama_status_fault(status: int, text: str, model: str, settings: Settings) -> ModelFault:
    words = text.lower()

    def said(signs: tuple[str, ...]) -> bool:
        return any(sign in words for sign in signs)

    if said(_OUT_OF_MEMORY_WORDS):
        return _out_of_memory_fault(model, text)
    if status in _QUOTA_STATUSES and said(_QUOTA_WORDS):
        return _quota_fault(model)
    if status in _REDIRECTS or (status in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN) and not _is_ollama_error(text)):
        return not_ollama_fault(settings)
    if status == HTTPStatus.NOT_FOUND:
        return missing_model_fault(model)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ModelFault("no_access", f"Ollama asks for a sign-in to use {model}.", "Run `ollama signin`.")
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        return ModelFault("busy", "Ollama is busy: its queue is full.", "Wait a moment, then ask again.", "passing")
    if said(_TOO_LONG_WORDS):
        return _prompt_too_long_fault(model)
    if status == HTTPStatus.BAD_REQUEST:
        return _outdated_server_fault() if said(_TOO_OLD_WORDS) else _refused_fault(model)
    return _server_error_fault(status, model, gpu=said(_GPU_FAILED_WORDS), ended=said(_RUNNER_ENDED_WORDS))


def _out_of_memory_fault(model: str, text: str) -> ModelFault:
    sizes = _MEMORY_SIZES.search(text)
    figures = f": it needs {sizes[1]}, and {sizes[2]} are free" if sizes else ""
    return ModelFault(
        "out_of_memory",
        f"There is not enough memory for {model}{figures}.",
        "Close other programs or choose a smaller model, then try again.",
    )


def _quota_fault(model: str) -> ModelFault:
    return ModelFault(
        "no_access",
        f"What your account allows of {model} is used up, or does not cover it.",
        "Wait until it is renewed, or choose a model on this machine.",
    )


def _prompt_too_long_fault(model: str) -> ModelFault:
    return ModelFault(
        "prompt_too_long",
        f"The question with its passages is longer than {model} takes.",
        "Use fewer passages, or make the model's context window larger in the settings.",
    )


def _outdated_server_fault() -> ModelFault:
    return ModelFault(
        "too_old",
        "This Ollama is too old: it does not understand what it is asked.",
        "Update it to version 0.5 or later, then try again.",
    )


def _refused_fault(model: str) -> ModelFault:
    return ModelFault("refused", f"Ollama refused the request for {model}.", "Choose another model, or update Ollama.")


def _server_error_fault(status: int, model: str, *, gpu: bool, ended: bool) -> ModelFault:
    message = f"Ollama reported an error while {model} was at work."
    remedy = "Try again; if it happens again, look at Ollama's log."
    if gpu:
        message = f"The graphics processor failed while {model} was at work."
        remedy = "Restart Ollama, then try again; if it happens again, update the driver."
    elif ended:
        message = f"{model} ended while it was at work, perhaps because memory ran out."
        remedy = "Try again; if it happens again, choose a smaller model or a smaller context window."
    passing = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == _STREAM_ERROR_STATUS
    return ModelFault("server_error", message, remedy, "passing" if passing else "yours")


def _is_ollama_error(text: str) -> bool:
    """Return whether an error text comes from Ollama and not from another web server."""
    try:
        return "error" in json.loads(text)
    except (ValueError, TypeError):
        return "model" in text and "not found" in text


def not_ollama_fault(settings: Settings) -> ModelFault:
    """Build the fault for a server at that address that is not Ollama."""
    return ModelFault(
        "not_ollama",
        f"What answers at {ollama_host_label(settings)} does not act like Ollama.",
        "Set OLLAMA_HOST to the address of your Ollama server.",
    )


_KEY_STATUSES = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached")
_TOO_LONG_CODES = ("context_length_exceeded", "string_above_max_length")
_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|KEY|TOKEN)\b")


def missing_package_fault(provider: str) -> ModelFault:
    """Build the fault for a provider whose client library is not installed."""
    return ModelFault(
        "package_missing",
        f"The package for the provider {provider} is not installed.",
        f"Install it with `pip install {find_provider(provider).package}`, then try again.",
    )


def missing_key_fault(provider: str, words: str = "") -> ModelFault:
    """Build the fault for a missing or refused key; the variable comes from the library's message if it names one."""
    named = _KEY_VARIABLE.search(words)
    variable = named.group() if named else find_provider(provider).key_variable
    return ModelFault(
        "key_missing", f"The provider {provider} needs a valid key.", f"Set {variable} to your key, then try again."
    )


def unknown_model_fault(name: str) -> ModelFault:
    """Build the fault for a name that matches no engine."""
    return ModelFault(
        "unknown_model",
        f"There is no model called “{name}”.",
        f"If Ollama has it, write ollama:{name}; else builtin, or provider:model such as openai:gpt-4o-mini.",
    )


def translate_provider_error(error: Exception, provider: str) -> ModelFault:
    """Translate an error of a hosted provider."""
    import httpx

    if isinstance(error, ModelFault):
        return error
    if status := _http_status(error):
        return _provider_status_fault(status, getattr(error, "code", None), provider)
    if isinstance(error, httpx.TimeoutException | TimeoutError) or "Timeout" in type(error).__name__:
        return silent_server_fault(provider)
    if isinstance(error, httpx.TransportError | OSError) or "Connection" in type(error).__name__:
        return ModelFault(
            "unreachable", f"{provider} cannot be reached.", "Check the network, then ask again.", "passing"
        )
    return unexplained_fault(provider)


def _http_status(error: Exception) -> int:
    """Return the HTTP status from the places where client libraries keep it; 0 for none."""
    response = getattr(error, "response", None)
    told = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    places = (getattr(error, "status_code", None), getattr(response, "status_code", None), told)
    return next((place for place in (*places, getattr(error, "code", None)) if isinstance(place, int)), 0)


def _provider_status_fault(status: int, code: object, provider: str) -> ModelFault:
    if status in _KEY_STATUSES:
        return missing_key_fault(provider)
    if status == HTTPStatus.PAYMENT_REQUIRED or code in _QUOTA_CODES:
        return ModelFault(
            "no_access", f"The credit at {provider} is used up.", "Add to it there, or choose another model."
        )
    if status == HTTPStatus.NOT_FOUND:
        return ModelFault("model_missing", f"{provider} has no such model.", "Check the model's name in the settings.")
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or code in _TOO_LONG_CODES:
        return ModelFault(
            "prompt_too_long",
            f"The question with its passages is longer than the model of {provider} takes.",
            "Use fewer passages, or set a smaller context window in the settings.",
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelFault(
            "busy", f"{provider} takes no more requests now.", "Wait a moment, then ask again.", "passing"
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelFault("server_error", f"{provider} reported an error.", "Ask again in a moment.", "passing")
    return ModelFault("refused", f"{provider} refused the request.", "Choose another model in the settings.")
