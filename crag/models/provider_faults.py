"""Translation of errors of hosted providers and their packages into faults.

Only codes and type names are used: an error's text may contain keys, prompts or addresses.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from crag.errors import ModelFault
from crag.models.faults import silent, unknown
from crag.models.providers import key_variable_of, package_of

_KEY_STATUSES = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
_USED_UP = ("insufficient_quota", "billing_hard_limit_reached")
_TOO_LONG = ("context_length_exceeded", "string_above_max_length")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|KEY|TOKEN)\b")


def missing_package(provider: str) -> ModelFault:
    """Build the fault for a provider whose client library is not installed."""
    return ModelFault(
        "package_missing",
        f"The package for the provider {provider} is not installed.",
        f"Install it with `pip install {package_of(provider)}`, then try again.",
    )


def missing_key(provider: str, words: str = "") -> ModelFault:
    """Build the fault for a missing or refused key; the variable comes from the library's message if it names one."""
    named = _VARIABLE.search(words)
    variable = named.group() if named else key_variable_of(provider)
    return ModelFault(
        "key_missing", f"The provider {provider} needs a valid key.", f"Set {variable} to your key, then try again."
    )


def unknown_provider(name: str) -> ModelFault:
    """Build the fault for a name that matches no engine."""
    return ModelFault(
        "unknown_model",
        f"There is no model called “{name}”.",
        f"If Ollama has it, write ollama:{name}; else builtin, or provider:model such as openai:gpt-4o-mini.",
    )


def translate_provider(error: Exception, provider: str) -> ModelFault:
    """Translate an error of a hosted provider."""
    import httpx

    if isinstance(error, ModelFault):
        return error
    if status := _status(error):
        return _from_status(status, getattr(error, "code", None), provider)
    if isinstance(error, httpx.TimeoutException | TimeoutError) or "Timeout" in type(error).__name__:
        return silent(provider)
    if isinstance(error, httpx.TransportError | OSError) or "Connection" in type(error).__name__:
        return ModelFault(
            "unreachable", f"{provider} cannot be reached.", "Check the network, then ask again.", "passing"
        )
    return unknown(provider)


def _status(error: Exception) -> int:
    """Return the HTTP status from the places where client libraries keep it; 0 for none."""
    response = getattr(error, "response", None)
    told = response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    places = (getattr(error, "status_code", None), getattr(response, "status_code", None), told)
    return next((place for place in (*places, getattr(error, "code", None)) if isinstance(place, int)), 0)


def _from_status(status: int, code: object, provider: str) -> ModelFault:
    if status in _KEY_STATUSES:
        return missing_key(provider)
    if status == HTTPStatus.PAYMENT_REQUIRED or code in _USED_UP:
        return ModelFault(
            "no_access", f"The credit at {provider} is used up.", "Add to it there, or choose another model."
        )
    if status == HTTPStatus.NOT_FOUND:
        return ModelFault("model_missing", f"{provider} has no such model.", "Check the model's name in the settings.")
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or code in _TOO_LONG:
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
