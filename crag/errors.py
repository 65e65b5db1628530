"""Errors shown to the user. Each says what happened, why, and what to do next."""

from __future__ import annotations

from typing import Literal

SourceErrorCode = Literal[
    "encrypted",
    "empty",
    "no_text",
    "unsupported",
    "corrupt",
    "too_large",
    "too_slow",
    "blocked_url",
    "http_error",
    "unreachable",
    "embedding_failed",
]
FaultClass = Literal["yours", "passing", "partial", "bug"]


class CragError(Exception):
    """Base class of all errors shown to the user. `message` says what happened and why, `remedy` what to do next."""

    code = "error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class SourceRefused(CragError):
    """A file or address that cannot be added. `code` is an error code from CONTRACT.md."""

    def __init__(self, code: SourceErrorCode, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.code: SourceErrorCode = code


class ModelFault(CragError):
    """A model failed.

    `fault` says who can fix it: *yours* (stop and name the command), *passing* (retry before the first token),
    *partial* (keep the partial reply; it can be continued) or *bug* (fail loudly). `model` names the model to download
    or to allow, if that resolves the fault.
    """

    def __init__(
        self, code: str, message: str, remedy: str = "", fault: FaultClass = "yours", *, model: str = ""
    ) -> None:
        super().__init__(message, remedy)
        self.code = code
        self.fault = fault
        self.model = model


class WebSearchFailed(CragError):
    """The web search failed. The run continues without it and says so."""

    code = "web_search_failed"


class LangSmithFailed(CragError):
    """LangSmith did not accept what the user sent. Nothing else depends on it."""

    code = "langsmith_failed"


class BadRequest(CragError):
    """An invalid question or setting."""

    code = "bad_request"


class NotFound(CragError):
    """No object with this id exists, or it was deleted."""

    code = "not_found"


class HomeFault(CragError):
    """The home folder cannot be used: read-only, damaged, full, or written by a newer version."""

    code = "home"


class Stopped(Exception):
    """Raised inside cancelled work; never shown."""
