"""Translation of Ollama and provider errors into faults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from crag.errors import ModelFault
from crag.models.providers import find_provider
from crag.settings import Settings
from crag.translation import N_

_OUT_OF_MEMORY_WORDS = ("out of memory", "system memory", "enough memory", "insufficient memory", "allocate")
_GPU_FAILED_WORDS = ("cuda error", "rocm error", "hip error", "metal error", "vulkan")
_RUNNER_ENDED_WORDS = (
    *("runner process", "runner has unexpectedly stopped"),
    *("llama-server process", "running the model: unexpected eof"),  # since Ollama 0.30
)
_TOO_LONG_WORDS = ("context length", "context size", "context window", "exceed_context_size")
# Reply of servers before 0.5 to a JSON schema, and of newer ones to any unknown option.
_TOO_OLD_WORDS = ("cannot unmarshal",)
_QUOTA_WORDS = ("usage limit", "quota", "upgrade", "subscription")
_MEMORY_SIZES = re.compile(r"(?<![\d.])(\d[\d.]* ?[KMGT]i?B)\D.*?(\d[\d.]* ?[KMGT]i?B)")
_QUOTA_STATUSES = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
)
_STREAM_ERROR_STATUS = -1  # the client library's status for an error sent as a line of the stream
_REDIRECTS = range(300, 400)  # never followed: prompts go only to the configured address


def unreachable_fault(settings: Settings) -> ModelFault:
    """Return the fault for a server that does not accept connections."""
    key = "ollama.unreachable" if settings.ollama_is_local else "ollama.unreachable_remote"
    return ModelFault.make(key, host=settings.ollama_host_label)


def not_ollama_fault(settings: Settings) -> ModelFault:
    """Return the fault for a host that is not Ollama."""
    return ModelFault.make("ollama.not_ollama", host=settings.ollama_host_label)


def partial_answer_fault(fault: ModelFault) -> ModelFault:
    """Turn a fault into a partial one: part of the answer was written and is kept."""
    remedy = N_("Continue from the text so far, or ask again.")
    if fault.fault != "passing":
        remedy = f"{fault.remedy} {remedy}"
    return ModelFault(fault.code, fault.message, remedy, "partial", model=fault.model)


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
        silent = isinstance(error, httpx.TimeoutException)
        return ModelFault.make("model.silent" if silent else "model.incomplete", server="Ollama")
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _ollama_status_fault(status, str(getattr(error, "error", "")), model, settings)
    if isinstance(error, ValueError | TypeError | AttributeError | KeyError):
        return ModelFault.make("model.bad_reply", server="Ollama")
    return ModelFault.make("model.model_failed", server="Ollama")


def _ollama_status_fault(status: int, text: str, model: str, settings: Settings) -> ModelFault:
    words = text.lower()

    def said(signs: tuple[str, ...]) -> bool:
        return any(sign in words for sign in signs)

    if said(_OUT_OF_MEMORY_WORDS):
        return _out_of_memory_fault(model, text)
    if status in _QUOTA_STATUSES and said(_QUOTA_WORDS):
        return ModelFault.make("ollama.quota", model=model)
    if status in _REDIRECTS or (status in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN) and not _is_ollama_error(text)):
        return not_ollama_fault(settings)
    if status == HTTPStatus.NOT_FOUND:
        return ModelFault.make("ollama.model_missing", model=model)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ModelFault.make("ollama.signin", model=model)
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        return ModelFault.make("ollama.busy")
    if said(_TOO_LONG_WORDS):
        return ModelFault.make("ollama.prompt_too_long", model=model)
    if status == HTTPStatus.BAD_REQUEST:
        return ModelFault.make("ollama.too_old" if said(_TOO_OLD_WORDS) else "ollama.refused", model=model)
    return _server_error_fault(status, model, gpu=said(_GPU_FAILED_WORDS), ended=said(_RUNNER_ENDED_WORDS))


def _out_of_memory_fault(model: str, text: str) -> ModelFault:
    found = _MEMORY_SIZES.search(text)
    if found is None:
        return ModelFault.make("ollama.out_of_memory", model=model)
    return ModelFault.make("ollama.too_little_memory", model=model, needed=found[1], free=found[2])


def _server_error_fault(status: int, model: str, *, gpu: bool, ended: bool) -> ModelFault:
    key = "ollama.gpu_failed" if gpu else "ollama.runner_ended" if ended else "ollama.server_error"
    fault = ModelFault.make(key, model=model)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR and status != _STREAM_ERROR_STATUS:
        fault.fault = "yours"
    return fault


def _is_ollama_error(text: str) -> bool:
    """Return whether an error text comes from Ollama and not from another web server."""
    try:
        return "error" in json.loads(text)
    except (ValueError, TypeError):
        return "model" in text and "not found" in text


_QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached")
_TOO_LONG_CODES = ("context_length_exceeded", "string_above_max_length")
_STATUS_OF_CODE = dict.fromkeys(_QUOTA_CODES, HTTPStatus.PAYMENT_REQUIRED) | dict.fromkeys(
    _TOO_LONG_CODES, HTTPStatus.REQUEST_ENTITY_TOO_LARGE
)
# Statuses that say more than the code in the body.
_CLEAR_STATUSES = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PAYMENT_REQUIRED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
)
_KEY_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|KEY|TOKEN)\b")


@contextmanager
def translate_opening(provider: str, unknown_words: str, unknown_fault: str, name: str) -> Iterator[None]:
    """Translate errors of a block in which LangChain opens a provider's model. Raises only `ModelFault`.

    The library is not installed, `unknown_words` say that it does not know the provider, or else the key is missing;
    its variable comes from the message if that names one.
    """
    try:
        yield
    except ImportError as error:
        package = find_provider(provider).package
        raise ModelFault.make("provider.package_missing", provider=provider, package=package) from error
    except Exception as error:
        if unknown_words in str(error):
            raise ModelFault.make(unknown_fault, name=name) from error
        named = _KEY_VARIABLE.search(str(error))
        variable = named.group() if named else find_provider(provider).key_variable
        raise ModelFault.make("provider.key_missing", provider=provider, variable=variable) from error


def translate_provider_error(error: Exception, provider: str) -> ModelFault:
    """Translate an error of a hosted provider."""
    import httpx

    if isinstance(error, ModelFault):
        return error
    if status := _http_status(error):
        if status not in _CLEAR_STATUSES:
            status = _STATUS_OF_CODE.get(str(getattr(error, "code", None)), status)
        variable = find_provider(provider).key_variable
        return ModelFault.from_status("provider", status, provider=provider, variable=variable)
    if isinstance(error, httpx.TimeoutException | TimeoutError) or "Timeout" in type(error).__name__:
        return ModelFault.make("model.silent", server=provider)
    if isinstance(error, httpx.TransportError | OSError) or "Connection" in type(error).__name__:
        return ModelFault.make("provider.unreachable", provider=provider)
    return ModelFault.make("model.model_failed", server=provider)


def _http_status(error: Exception) -> int:
    """Return the HTTP status from the places where client libraries keep it; 0 for none."""
    response = getattr(error, "response", None)
    told = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    places = (getattr(error, "status_code", None), getattr(response, "status_code", None), told)
    return next((place for place in (*places, getattr(error, "code", None)) if isinstance(place, int)), 0)
