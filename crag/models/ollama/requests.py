"""JSON requests to the Ollama server, whole or streamed, with errors translated into faults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crag.models.faults import bad_reply, not_ollama, translate_ollama
from crag.settings import Settings

if TYPE_CHECKING:
    import httpx

ASK_SECONDS = 5.0


def ask(
    settings: Settings,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    *,
    model: str = "the model",
    timeout: float | None = None,
) -> dict[str, Any]:
    """Return the JSON object of the reply; `model` is the name used in faults. Raises `ModelFault`."""
    with _request(settings, method, path, body, model, timeout or ASK_SECONDS) as reply:
        content = reply.read()
    try:
        value = json.loads(content or b"{}")
    except ValueError as error:
        raise not_ollama(settings) from error
    if not isinstance(value, dict):
        raise not_ollama(settings)
    return value


def ask_for_lines(
    settings: Settings, path: str, body: dict[str, Any], *, model: str, timeout: float
) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a streamed reply; `timeout` in seconds limits silence. Raises `ModelFault`."""
    with _request(settings, "POST", path, body, model, timeout) as reply:
        for line in reply.iter_lines():
            value = json.loads(line) if line else {}
            if not isinstance(value, dict):
                raise bad_reply("Ollama")
            yield value


@contextmanager
def _request(
    settings: Settings, method: str, path: str, body: dict[str, Any] | None, model: str, timeout: float
) -> Iterator[httpx.Response]:
    """Open a reply with unread content; translate errors until the block ends."""
    import httpx

    from crag.models.connections import CONNECT_SECONDS, CuttableTransport

    limits = httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    try:
        with (
            httpx.Client(transport=CuttableTransport(settings), timeout=limits, trust_env=False) as client,
            client.stream(method, settings.ollama_host + path, json=body) as reply,
        ):
            if not reply.is_success:
                reply.read()
            reply.raise_for_status()
            yield reply
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise translate_ollama(error, model, settings) from error
