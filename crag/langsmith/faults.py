"""LangSmith's faults as user messages; its client's messages are never shown, since they quote parts of the key."""

from __future__ import annotations

from collections.abc import Iterator

from crag.amounts import asked_wait
from crag.errors import CragError, LangSmithFailed, Stopped

_LATER = "Try again later: what arrived is not sent twice."
_ADDRESS = "Check LANGSMITH_ENDPOINT."


def refused(host: str, status: int, retry_after: str = "", *, text: str = "") -> LangSmithFailed:
    """Return the fault for a reply with this status; `retry_after` is that header (RFC 9110, section 10.2.3)."""
    match status:
        case 401:
            return LangSmithFailed(f"{host} refused the key.", "Check LANGSMITH_API_KEY, and that it is of that place.")
        case 403 if "workspace" in text:
            return LangSmithFailed("The key is of a whole organisation.", "Name a workspace in LANGSMITH_WORKSPACE_ID.")
        case 403:
            return LangSmithFailed(f"The key may not write to {host}.", "Look at what your LangSmith account allows.")
        case 404 | 405:
            return LangSmithFailed(f"{host} is no LangSmith, or one too old for this.", _ADDRESS)
        case 409:
            return LangSmithFailed(f"{host} holds something of the same name already.", _LATER)
        case 413:
            return LangSmithFailed(f"{host} does not take that much at once.", "An answer or a reference is very long.")
        case 429:
            wait = asked_wait(retry_after)
            return LangSmithFailed(f"{host} has had enough for now.", f"Wait {wait}, then try again.")
        case _ if status >= 500:
            return LangSmithFailed(f"{host} has a fault of its own (HTTP {status}).", _LATER)
    return LangSmithFailed(f"{host} did not take what was sent (HTTP {status}).", _ADDRESS)


def too_slow(host: str) -> LangSmithFailed:
    """Return the fault for a reply that is missing or incomplete at the deadline."""
    return LangSmithFailed(f"{host} did not answer in time.", _LATER)


def translate(host: str, error: Exception) -> CragError | Stopped:
    """Return the fault for an exception of the client or its HTTP library when no reply explains it."""
    import requests
    from langsmith.utils import LangSmithUserError

    for cause in _causes(error):
        match cause:
            case CragError() | Stopped():
                return cause
            case requests.TooManyRedirects():
                return LangSmithFailed(f"{host} leads elsewhere, and was not followed there.", _ADDRESS)
            case requests.exceptions.SSLError():
                return LangSmithFailed(f"The certificate of {host} is not to be trusted.", "Nothing was sent to it.")
            case requests.Timeout():
                return too_slow(host)
            case requests.ConnectionError():
                return LangSmithFailed(f"{host} cannot be reached.", "Check the connection and LANGSMITH_ENDPOINT.")
            case LangSmithUserError():
                return LangSmithFailed("LangSmith's variables contradict each other.", "Look at those you have set.")
    return LangSmithFailed(f"What {host} replied could not be read.", _ADDRESS)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
