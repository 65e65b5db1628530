"""Faults of downloading a file: what happened, why, and what to do next."""

from __future__ import annotations

import errno
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from crag.amounts import size
from crag.errors import ModelFault

_KEPT = "What has come is kept: try again, and it goes on from there."
_LATER = "Try again later."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def no_connection(host: str, error: Exception) -> ModelFault:
    """Build the fault for a host that sent nothing, for this error of the HTTP library."""
    if isinstance(error.__cause__ and error.__cause__.__context__, ssl.SSLError):
        return _elsewhere("unreachable", f"{host} could not prove who it is (its TLS certificate was refused).")
    return ModelFault("unreachable", f"{host} does not answer.", "Check your connection, then try again.", "passing")


def broken_off(host: str) -> ModelFault:
    """Build the fault for a connection that broke repeatedly after data was received."""
    return ModelFault("broken_off", f"The connection to {host} broke off again and again.", _KEPT, "passing")


def refused(status: int, host: str) -> ModelFault:
    """Build the fault for a status that is neither success nor a redirect."""
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return _elsewhere("http_error", f"{host} no longer has this file ({status}).")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return _elsewhere("http_error", f"{host} does not give this file away ({status}).")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelFault("http_error", f"{host} has had too many requests ({status}).", _LATER, "passing")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelFault("http_error", f"{host} has a fault of its own ({status}).", _LATER, "passing")
    return _elsewhere("http_error", f"{host} answered {status} instead of sending the file.")


def unsafe_redirect(host: str) -> ModelFault:
    """Build the fault for a redirect without HTTPS, which could not prove the identity of its target."""
    return _elsewhere("http_error", f"{host} sent us on to an address that is not secure (not https).")


def endless_redirect(host: str) -> ModelFault:
    """Build the fault for too many redirects."""
    return _elsewhere("http_error", f"{host} sent us on from address to address without end.")


def other_file(host: str) -> ModelFault:
    """Build the fault for wrong content with a success status, such as a network's sign-in page."""
    return ModelFault(
        "wrong_file",
        f"{host} sent something else than the file: a page of the network that you are in, perhaps.",
        "Sign in to the network, then try again.",
    )


def wrong_checksum(host: str) -> ModelFault:
    """Build the fault for a complete file whose checksum differs from the published one."""
    return ModelFault(
        "wrong_checksum",
        f"What came from {host} is not what was published: its checksum is another. It was deleted.",
        "Try again; if it stays so, tell whoever runs that server.",
    )


def busy() -> ModelFault:
    """Build the fault for a partial file locked by another process."""
    return ModelFault("busy", "Another window or command is fetching this file.", "Wait until it is done.")


def full(needed: int = 0) -> ModelFault:
    """Build the fault for a full disk."""
    room = f" ({size(needed)} more are needed)" if needed else ""
    return ModelFault("disk_full", f"The disk is full{room}.", f"Free some space. {_KEPT}")


@contextmanager
def of_disk() -> Iterator[None]:
    """Translate operating system errors while writing the file. Raises `ModelFault`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise full() from error
        raise ModelFault(
            "not_writable",
            "The file cannot be written to its folder, .cache/gpt4all of your home.",
            "See that this folder can be written to, then try again.",
        ) from error


def _elsewhere(code: str, message: str) -> ModelFault:
    return ModelFault(code, message, "Set CRAG_NOMIC_URL to another address of it, or try again later.")
