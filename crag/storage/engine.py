"""The SQLite database: connections and short transactions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DatabaseError, OperationalError
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from crag.errors import HomeFault
from crag.storage.migrations import migrate

DATABASE_NAME = "crag.sqlite"
CHECKPOINTS_NAME = "checkpoints.sqlite"  # in the same folder: graph state of runs
_BUSY_SECONDS = 30


class Database:
    """One SQLite file in WAL mode. Safe to share between threads, and between processes on one machine."""

    def __init__(self, home: Path) -> None:
        """Open or create `home/crag.sqlite`. Raises `HomeFault`, and leaves an unusable file untouched."""
        self.home = home
        _make_home(home)
        path = home / DATABASE_NAME
        self._engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": _BUSY_SECONDS})
        event.listen(self._engine, "connect", _configure_connection)
        try:
            with self.write() as connection:
                migrate(connection)
            self._enable_wal()
        except HomeFault:
            self.close()
            raise
        except DatabaseError as error:
            self.close()
            raise _home_fault(error) from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Provide a connection for reading; each statement sees the latest commit.

        Raises `HomeFault` if the file is damaged.
        """
        with _translate_errors(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Provide a connection for reading whose statements all see the same state, whatever is committed meanwhile."""
        with _translate_errors(), self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection
            connection.exec_driver_sql("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Provide a write transaction that commits at the end. Raises `HomeFault` if the disk is full or read-only.

        It takes the write lock at the start, so that it waits its turn instead of failing later.
        """
        with _translate_errors(), self._engine.connect() as connection:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException as error:
                if connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
                    connection.exec_driver_sql("ROLLBACK")
                if isinstance(error, OperationalError):
                    raise _home_fault(error) from error
                raise

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @retry(
        retry=retry_if_exception_message(match=".*database is locked"),
        stop=stop_after_delay(_BUSY_SECONDS),
        wait=wait_random(0.01, 0.05),
        reraise=True,
    )
    def _enable_wal(self) -> None:
        """Switch to WAL mode, with retries: SQLite does not wait here while another process creates the same home."""
        with self._engine.connect() as connection:
            connection.execute(text("PRAGMA journal_mode = WAL"))


def _configure_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are always started explicitly
    for pragma in ("synchronous = FULL", "foreign_keys = ON", f"busy_timeout = {_BUSY_SECONDS * 1000}"):
        connection.execute(f"PRAGMA {pragma}")


def _make_home(home: Path) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HomeFault("The data folder cannot be created.", "Choose another with CRAG_HOME.") from error
    if not os.access(home, os.W_OK):
        raise HomeFault(
            "The data folder cannot be written to.",
            "Change its permissions, or choose another with CRAG_HOME.",
        )


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Convert errors of the file into `HomeFault`; errors of a statement pass unchanged."""
    try:
        yield
    except DatabaseError as error:
        if fault := _known_fault(error):
            raise fault from error
        raise


def _home_fault(error: DatabaseError) -> HomeFault:
    return _known_fault(error) or HomeFault(
        "The database rejected the change.", "Try again. If it happens again, restart the app."
    )


def _known_fault(error: DatabaseError) -> HomeFault | None:
    words = str(error.orig).lower()
    if "is full" in words:
        return HomeFault("The disk is full, so nothing was saved.", "Free some space, then try again.")
    if "readonly" in words or "read-only" in words or "unable to open" in words:
        return HomeFault("The database cannot be written to.", "Check the permissions of the folder in CRAG_HOME.")
    if "not a database" in words or "malformed" in words:
        return HomeFault(
            "The database file is damaged or not a database; it was left as it is.",
            "Put a backup in its place, or choose another folder with CRAG_HOME.",
        )
    if "locked" in words or "busy" in words:
        return HomeFault("The database was busy for too long.", "Try again in a moment.")
    if "i/o error" in words:
        return HomeFault(
            "The disk that holds your data cannot be read or written.",
            "Check that it is neither full nor damaged, then try again.",
        )
    return None
