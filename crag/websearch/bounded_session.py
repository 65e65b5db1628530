"""HTTP sessions with a limit on the size of replies, whose connections end with the call that opened them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from crag.cancellation import current_connection_group

MAX_REPLY_BYTES = 5_000_000


class BoundedSession(requests.Session):
    """Session that follows no redirects and reads no reply beyond `MAX_REPLY_BYTES`.

    Its connections belong to the connection group of the calling thread, which cuts them when nobody waits any more: a
    reply that drips in would otherwise keep its thread, and an endless one fill memory.
    """

    def __init__(self) -> None:
        super().__init__()
        for prefix in ("http://", "https://"):
            self.mount(prefix, _BoundedAdapter())

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Raise `TooManyRedirects` before the body of a redirect is read, which `max_redirects` would only do after."""
        if resp.is_redirect:
            resp.close()
            raise requests.TooManyRedirects(response=resp)
        return None


class _BoundedAdapter(HTTPAdapter):
    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def send(self, *arguments: Any, **options: Any) -> requests.Response:
        reply = super().send(*arguments, **options)
        reply.raw = _BoundedBody(reply.raw)
        return reply


class _BoundedBody:
    def __init__(self, body: Any) -> None:
        self._body = body
        self.close, self.release_conn = body.close, body.release_conn

    def stream(self, size: int, **options: Any) -> Iterator[bytes]:
        left = MAX_REPLY_BYTES
        for piece in self._body.stream(min(size, 65_536), **options):
            left -= len(piece)
            if left < 0:
                self.close()
                raise requests.exceptions.ContentDecodingError("The reply is too long.")
            yield piece


class _Connection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _register(self)


class _SecureConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        _register(self)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


def _register(connection: HTTPConnection) -> None:
    group = current_connection_group()
    if group is not None and connection.sock is not None:
        group.add(connection.sock)
