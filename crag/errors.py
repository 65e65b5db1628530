"""Every error a person can meet: what happened, why, and what to do next, in their words."""

from __future__ import annotations

from typing import Literal

SourceCode = Literal[
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
    """The base of all errors that are shown. `message` says what happened and why, `remedy` what to do next."""

    code = "error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class SourceRefused(CragError):
    """A file or an address that cannot be added; `code` is one of the contract's."""

    def __init__(self, code: SourceCode, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.code: SourceCode = code


class ModelFault(CragError):
    """A model that does not do its work.

    `fault` says who can mend it: *yours* (stop, name the command), *passing* (worth a retry before the first token),
    *partial* (what had come is kept and can be gone on with) or *bug* (loud). `model` is the name of the model that it
    is about, where one thing to do about it is to get that model, or to allow it.
    """

    def __init__(
        self, code: str, message: str, remedy: str = "", fault: FaultClass = "yours", *, model: str = ""
    ) -> None:
        super().__init__(message, remedy)
        self.code = code
        self.fault = fault
        self.model = model


class WebSearchFailed(CragError):
    """The web could not be searched; the run goes on without it and says so."""

    code = "web_search_failed"


class LangSmithFailed(CragError):
    """LangSmith could not be given what a person sent there; nothing here depends on it."""

    code = "langsmith_failed"


class BadRequest(CragError):
    """A question or a setting that cannot be used as given."""

    code = "bad_request"


class NotFound(CragError):
    """Something named by id that is not, or no longer, there."""

    code = "not_found"


class HomeFault(CragError):
    """The folder that holds everything cannot be used: read-only, damaged, full, or written by a newer version."""

    code = "home"


class Stopped(Exception):
    """Raised inside work that a person stopped; never shown."""
