"""Log of everything that leaves the machine, written before it is sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import delete, func, insert, select

from crag.errors import HomeFault
from crag.storage.engine import Database
from crag.storage.tables import departures
from crag.storage.user_scope import UserScoped
from crag.types import OutboundKind, OutboundRecord, strip_unstorable

SERVER_KEY = "server"  # owner of what commands send, or what is sent for several users; no browser has this key
_DEFAULT_LIMIT = 100
_current_user: ContextVar[str] = ContextVar("current_user", default="")


@contextmanager
def on_behalf_of(user: str) -> Iterator[None]:
    """Attribute everything sent during the block to this user (empty: to nobody)."""
    token = _current_user.set(user)
    try:
        yield
    finally:
        _current_user.reset(token)


class OutboundLog(UserScoped):
    """The outbound log of one home. Safe to share between threads; several processes may write to it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, host: str, kind: OutboundKind, what: str) -> None:
        """Record durably what is about to be sent to `host`. Send only after this returns. Raises `HomeFault`.

        `what` is shown to users: the query, the address, the question; never a key or a password.
        """
        readable = strip_unstorable(what)
        row = {"at": time.time(), "host": host, "kind": kind, "what": readable, "person": _current_user.get()}
        try:
            with self._database.whole.write() as connection:  # also on behalf of somebody else
                connection.execute(insert(departures).values(row))
        except HomeFault as fault:
            unsent = f"Nothing was sent because it could not be logged first. {fault.message}"
            raise HomeFault(unsent, fault.remedy) from fault

    def entries(self, last: int = _DEFAULT_LIMIT, kind: OutboundKind | None = None) -> list[OutboundRecord]:
        """Return the last records, of one kind or of all, newest first."""
        columns = (departures.c.at, departures.c.host, departures.c.kind, departures.c.what)
        query = select(*columns).where(self._visible(departures))
        query = query.order_by(departures.c.number.desc()).limit(last)
        if kind:
            query = query.where(departures.c.kind == kind)
        with self._database.read() as connection:
            return [OutboundRecord(*row) for row in connection.execute(query)]

    def count_since(self, moment: float = 0.0, kind: OutboundKind | None = None, host: str = "") -> int:
        """Return the number of records since `moment`, in seconds since the epoch, of one host or of all."""
        since = departures.c.at >= moment
        query = select(func.count()).select_from(departures).where(since, self._visible(departures))
        if kind:
            query = query.where(departures.c.kind == kind)
        if host:
            query = query.where(departures.c.host == host)
        with self._database.read() as connection:
            return connection.scalar(query) or 0

    def count_hidden(self) -> int:
        """Return the number of records of other users and of commands."""
        query = select(func.count()).select_from(departures).where(~self._visible(departures))
        with self._database.whole.read() as connection:
            return connection.scalar(query) or 0

    def clear(self) -> int:
        """Delete the records and return their number. Raises `HomeFault`."""
        with self._database.write() as connection:
            return connection.execute(delete(departures).where(self._visible(departures))).rowcount
