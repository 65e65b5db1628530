"""The one place where errors of model servers and their client libraries become words a person can act on."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from urllib.parse import urlsplit

from crag.errors import ModelFault
from crag.settings import Settings

_OUT_OF_MEMORY = ("memory", "cuda error", "allocate")
_KEY_STATUSES = (401, 403)
_REDIRECTS = range(300, 400)  # never followed: what is sent goes where a person said


def host_label(settings: Settings) -> str:
    """Where Ollama is, as shown: host and port, never user name or password."""
    return urlsplit(settings.ollama_host).netloc.rpartition("@")[2]


def unreachable(settings: Settings) -> ModelFault:
    """Nothing listens, or the connection could not be made."""
    return ModelFault(
        "unreachable",
        f"Ollama does not answer at {host_label(settings)}.",
        "Start it with `ollama serve`, then try again.",
    )


def missing_model(model: str) -> ModelFault:
    """The server is there, the model is not."""
    return ModelFault(
        "model_missing",
        f"Ollama has no model called {model}.",
        f"Get it with `ollama pull {model}`, then try again.",
        model=f"ollama:{model}",
    )


def only_embeds(model: str) -> ModelFault:
    """The model is there, and makes vectors."""
    return ModelFault(
        "only_embeds",
        f"{model} only makes vectors: it cannot answer.",
        "Choose a chat model, such as Llama 3.1, in the settings.",
    )


def consent_needed(model: str, label: str, host: str) -> ModelFault:
    """Nobody has said yet that questions and passages may go to this model, which runs elsewhere."""
    return ModelFault(
        "consent_needed",
        f"{label} runs on another machine, at {host}: your question and passages of your documents would go there.",
        "Nothing was sent. Allow it, or choose a model on this machine.",
        model=model,
    )


def question_too_long(tokens: int, room: int) -> ModelFault:
    """The question, which is never cut, does not fit; counts in tokens, by our own estimate."""
    return ModelFault(
        "question_too_long",
        f"Your question is too long for this model: about {tokens:,} tokens, where {room:,} fit.",
        "Shorten it, or add its text as a document and ask about that.",
    )


def bad_reply(server: str) -> ModelFault:
    """The reply is not what such a server sends."""
    return ModelFault(
        "bad_reply", f"{server} sent a reply that cannot be read.", "Try again, or restart the model server.", "passing"
    )


def broken_off(server: str) -> ModelFault:
    """The connection ended in the middle of a reply."""
    return ModelFault("incomplete", f"{server} broke off its reply.", "Ask again to get a whole answer.", "passing")


def broken_in_the_middle(fault: ModelFault) -> ModelFault:
    """A fault that came when a part of the answer had been written, which is kept."""
    mended = "" if fault.fault == "passing" else f"{fault.remedy} "
    remedy = f"{mended}Continue from what had come, or ask again."
    return ModelFault(fault.code, fault.message, remedy, "partial", model=fault.model)


def silent(server: str) -> ModelFault:
    """The server holds the connection but sends nothing for longer than any load takes."""
    return ModelFault("silent", f"{server} has sent nothing for too long.", "Restart the model server, then try again.")


def unknown(server: str) -> ModelFault:
    """Nothing better is known than that it failed."""
    return ModelFault("model_failed", f"{server} failed for a reason it did not explain.", "Look at its log.", "bug")


def translate_ollama(error: Exception, model: str, settings: Settings) -> ModelFault:
    """What an error of `httpx` or `ollama` means to the person, for `model` on the server of `settings`."""
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
    if any(sign in words for sign in _OUT_OF_MEMORY):
        return ModelFault(
            "out_of_memory",
            f"There is not enough memory for {model}.",
            "Close other programs or choose a smaller model, then try again.",
        )
    if status in _REDIRECTS:
        return not_ollama(settings)
    if status == HTTPStatus.NOT_FOUND:
        return missing_model(model) if _is_ollama(text) else not_ollama(settings)
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        return ModelFault("busy", "Ollama is busy: its queue is full.", "Wait a moment, then ask again.", "passing")
    if status == HTTPStatus.FORBIDDEN:
        return not_ollama(settings)
    if status == HTTPStatus.UNAUTHORIZED:
        return ModelFault("no_access", f"Ollama asks for a sign-in to use {model}.", "Run `ollama signin`.")
    if status == HTTPStatus.BAD_REQUEST:
        return ModelFault(
            "refused", f"Ollama refused the request for {model}.", "Choose another model, or update Ollama."
        )
    return ModelFault(
        "server_error",
        f"Ollama reported an error while {model} was at work.",
        "Try again; if it happens again, look at Ollama's log.",
        "passing" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "yours",
    )


def _is_ollama(text: str) -> bool:
    """Whether the words of a 404 are Ollama's own, and not those of some other web server."""
    try:
        return "error" in json.loads(text)
    except (ValueError, TypeError):
        return "model" in text and "not found" in text


def not_ollama(settings: Settings) -> ModelFault:
    """Something else answers at that address."""
    return ModelFault(
        "not_ollama",
        f"What answers at {host_label(settings)} does not act like Ollama.",
        "Set OLLAMA_HOST to the address of your Ollama server.",
    )


def missing_package(provider: str, package: str) -> ModelFault:
    """The provider's client library is not installed."""
    return ModelFault(
        "package_missing",
        f"The package for the provider {provider} is not installed.",
        f"Install it with `pip install {package}`, then try again.",
    )


def missing_key(provider: str, words: str = "") -> ModelFault:
    """No key, or one that is refused. The variable is read from the library's words where they name one."""
    named = re.search(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|KEY|TOKEN)\b", words)
    variable = named.group() if named else f"{provider.upper()}_API_KEY"
    return ModelFault(
        "key_missing", f"The provider {provider} needs a valid key.", f"Set {variable} to your key, then try again."
    )


def unknown_provider(name: str) -> ModelFault:
    """A name that no engine goes by."""
    return ModelFault(
        "unknown_model",
        f"There is no model called “{name}”.",
        "Write builtin, ollama:NAME, or provider:model such as openai:gpt-4o-mini.",
    )


def translate_provider(error: Exception, provider: str) -> ModelFault:
    """What an error of a hosted provider means. Only its status is looked at: its words may hold keys or addresses."""
    import httpx

    if isinstance(error, ModelFault):
        return error
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if status in _KEY_STATUSES:
        return missing_key(provider)
    if status == HTTPStatus.NOT_FOUND:
        return ModelFault("model_missing", f"{provider} has no such model.", "Check the model's name in the settings.")
    if status == HTTPStatus.BAD_REQUEST:
        return ModelFault("refused", f"{provider} refused the request.", "Choose another model in the settings.")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelFault(
            "busy", f"{provider} takes no more requests now.", "Wait a moment, then ask again.", "passing"
        )
    if isinstance(status, int) and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelFault("server_error", f"{provider} reported an error.", "Ask again in a moment.", "passing")
    if isinstance(error, httpx.TransportError | OSError) or "Connection" in type(error).__name__:
        return ModelFault(
            "unreachable", f"{provider} cannot be reached.", "Check the network, then ask again.", "passing"
        )
    return unknown(provider)
