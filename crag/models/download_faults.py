"""Translation of download errors into faults."""

from __future__ import annotations

import errno
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from crag.errors import FaultClass, ModelFault
from crag.text.formatting import format_size

_PULL_RESUME_HINT = "What has come is kept: try again, and it goes on from there."
# Parts of Ollama's message (any of them), code, message template, remedy, fault class.
_PULL_ERRORS: tuple[tuple[tuple[str, ...], str, str, str, FaultClass], ...] = (
    (
        ("file does not exist", "not found", "invalid model name"),
        "unknown_model",
        "Ollama's registry has no model called {}.",
        "Check its name on ollama.com/library.",
        "yours",
    ),
    (
        ("no space left", "not enough space"),
        "disk_full",
        "The disk is full where Ollama keeps its models, so {} could not be stored.",
        f"Free some space there. {_PULL_RESUME_HINT}",
        "yours",
    ),
    (
        ("newer version",),
        "outdated",
        "{} needs a newer Ollama than the one here.",
        "Update Ollama, then retry.",
        "yours",
    ),
    (
        ("permission denied", "read-only"),
        "not_writable",
        "Ollama cannot write to the folder where it keeps its models.",
        "See that it can, then try again.",
        "yours",
    ),
    (
        ("unauthorized", "denied"),
        "no_access",
        "Ollama's registry does not give {} to just anyone.",
        "Run `ollama signin`.",
        "yours",
    ),
    (
        ("no such host", "dial tcp", "network is", "connection re", "i/o timeout", "tls:", "max retries", "eof"),
        "unreachable_registry",
        "Ollama cannot reach its registry, registry.ollama.ai.",
        f"Check the connection of the machine that Ollama runs on. {_PULL_RESUME_HINT}",
        "passing",
    ),
)


def no_disk_space_fault(name: str, needed: int, free: int) -> ModelFault:
    """Build the fault for too little disk space; sizes in bytes."""
    return ModelFault(
        "disk_full",
        f"There is no room for {name}: {format_size(needed)} more are needed, and {format_size(free)} are free.",
        f"Free some space where Ollama keeps its models, or get a smaller one. {_PULL_RESUME_HINT}",
    )


def pull_interrupted_fault() -> ModelFault:
    """Build the fault for a connection to the Ollama server that broke on every attempt."""
    return ModelFault(
        "incomplete", "Ollama broke off the download again and again.", f"See that it runs. {_PULL_RESUME_HINT}"
    )


def pull_failed_fault(name: str, words: str) -> ModelFault:
    """Build the fault for an error inside a stream that began with status 200."""
    said = words.lower()
    for signs, code, message, remedy, fault in _PULL_ERRORS:
        if any(sign in said for sign in signs):
            return ModelFault(code, message.format(name), remedy, fault)
    return ModelFault(
        "pull_failed", f"Ollama could not get {name}.", f"Look at its log. {_PULL_RESUME_HINT}", "passing"
    )


_RESUME_HINT = "What has come is kept: try again, and it goes on from there."
_TRY_LATER = "Try again later."
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def no_connection_fault(host: str, error: Exception) -> ModelFault:
    """Build the fault for a host that sent nothing, for this error of the HTTP library."""
    if isinstance(error.__cause__ and error.__cause__.__context__, ssl.SSLError):
        return _other_address_fault(
            "unreachable", f"{host} could not prove who it is (its TLS certificate was refused)."
        )
    return ModelFault("unreachable", f"{host} does not answer.", "Check your connection, then try again.", "passing")


def connection_lost_fault(host: str) -> ModelFault:
    """Build the fault for a connection that broke repeatedly after data was received."""
    return ModelFault("broken_off", f"The connection to {host} broke off again and again.", _RESUME_HINT, "passing")


def http_status_fault(status: int, host: str) -> ModelFault:
    """Build the fault for a status that is neither success nor a redirect."""
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return _other_address_fault("http_error", f"{host} no longer has this file ({status}).")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _other_address_fault("http_error", f"{host} does not give this file away ({status}).")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelFault("http_error", f"{host} has had too many requests ({status}).", _TRY_LATER, "passing")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelFault("http_error", f"{host} has a fault of its own ({status}).", _TRY_LATER, "passing")
    return _other_address_fault("http_error", f"{host} answered {status} instead of sending the file.")


def unsafe_redirect_fault(host: str) -> ModelFault:
    """Build the fault for a redirect without HTTPS, which could not prove the identity of its target."""
    return _other_address_fault("http_error", f"{host} sent us on to an address that is not secure (not https).")


def endless_redirect_fault(host: str) -> ModelFault:
    """Build the fault for too many redirects."""
    return _other_address_fault("http_error", f"{host} sent us on from address to address without end.")


def wrong_file_fault(host: str) -> ModelFault:
    """Build the fault for wrong content with a success status, such as a network's sign-in page."""
    return ModelFault(
        "wrong_file",
        f"{host} sent something else than the file: a page of the network that you are in, perhaps.",
        "Sign in to the network, then try again.",
    )


def wrong_checksum_fault(host: str) -> ModelFault:
    """Build the fault for a complete file whose checksum differs from the published one."""
    return ModelFault(
        "wrong_checksum",
        f"What came from {host} is not what was published: its checksum is another. It was deleted.",
        "Try again; if it stays so, tell whoever runs that server.",
    )


def download_busy_fault() -> ModelFault:
    """Build the fault for a partial file locked by another process."""
    return ModelFault("busy", "Another window or command is fetching this file.", "Wait until it is done.")


def disk_full_fault(needed: int = 0) -> ModelFault:
    """Build the fault for a full disk."""
    room = f" ({format_size(needed)} more are needed)" if needed else ""
    return ModelFault("disk_full", f"The disk is full{room}.", f"Free some space. {_RESUME_HINT}")


@contextmanager
def translate_disk_errors() -> Iterator[None]:
    """Translate operating system errors while writing the file. Raises `ModelFault`."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_FULL_ERRNOS:
            raise disk_full_fault() from error
        raise ModelFault(
            "not_writable",
            "The file cannot be written to its folder, .cache/gpt4all of your home.",
            "See that this folder can be written to, then try again.",
        ) from error


def _other_address_fault(code: str, message: str) -> ModelFault:
    return ModelFault(code, message, "Set CRAG_NOMIC_URL to another address of it, or try again later.")
