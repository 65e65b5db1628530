"""The SQLite database of a home: one file in WAL mode, watched while the application runs."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.util import LRUCache
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from crag.errors import HomeFault
from crag.storage.files import WatchedFile, make_folder, read_only_fault, write_fault
from crag.storage.ownership import current_process_name, is_process_alive

DATABASE_NAME = "crag.sqlite"
CHECKPOINTS_NAME = "checkpoints.sqlite"  # in the same folder: graph state of runs
_BUSY_SECONDS = 30
_PRIVATE_FOLDER, _PRIVATE_FILE, _OF_OTHERS = 0o700, 0o600, 0o077

_log = logging.getLogger(__name__)


class _StatementCache(LRUCache[Any, Any]):
    """Compiled statements, shared by all files of this process: their engines have dialects that compile alike."""

    def __init__(self) -> None:
        super().__init__(1000)

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key[1:], default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key[1:], value)


_STATEMENTS = _StatementCache()


class SqliteFile:
    """`crag.sqlite` in a home; a `Store`. Several processes on one machine may use it."""

    begin_read = "BEGIN"
    begin_write = "BEGIN IMMEDIATE"  # takes the write lock at the start
    begin_beside = begin_write
    begin_snapshot = "BEGIN"
    is_one_file = True
    term_occurrences = text("SELECT group_concat(doc) FROM passage_occurrences WHERE term = :term")
    passages_with_term = text(
        """SELECT rowid AS id FROM passage_terms WHERE terms MATCH '"' || :term || '"' LIMIT :limit"""
    )
    has_row_security: bool | None = None

    def __init__(self, home: Path) -> None:
        """Open the file, or create an empty one. Raises `HomeFault`."""
        path = home.absolute() / DATABASE_NAME
        make_home(home)
        _make_file(path)
        self.name = str(path)
        self._file = WatchedFile(path)
        self._log_file: WatchedFile | None = None  # holds the latest commits; stays while a connection of the pool does
        self._path = path
        # `mode=rw`: no connection may create an empty file where the home has been removed meanwhile.
        address = URL.create("sqlite", database=path.as_uri(), query={"mode": "rw", "uri": "true"})
        engine = create_engine(address, connect_args={"timeout": _BUSY_SECONDS})
        self.engine: Engine = engine.execution_options(compiled_cache=_STATEMENTS)
        event.listen(self.engine, "connect", _configure_connection)

    def finish_opening(self) -> None:
        """Switch to WAL mode, and watch the file of the log from now on."""
        self._enable_wal()
        with self.engine.connect() as connection:  # creates the file
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            connection.exec_driver_sql("COMMIT")
        self._log_file = WatchedFile(self._path.with_name(f"{DATABASE_NAME}-wal"))

    @retry(
        retry=retry_if_exception_message(match=".*database is locked"),
        stop=stop_after_delay(_BUSY_SECONDS),
        wait=wait_random(0.01, 0.05),
        reraise=True,
    )
    def _enable_wal(self) -> None:
        """Switch to WAL mode, with retries: SQLite does not wait here while another process creates the same home."""
        with self.engine.connect() as connection:
            connection.execute(text("PRAGMA journal_mode = WAL"))

    def limit_to(self, _user: str | None) -> str:
        """Return nothing: rows have no policies here."""
        return ""

    def check_in_place(self) -> None:
        """Raise `HomeFault` if the file or its log was moved, deleted or replaced."""
        self._file.check_in_place()
        if self._log_file:
            self._log_file.check_in_place()

    def in_transaction(self, connection: Any) -> bool:
        """Return whether a connection has an open transaction; after some errors SQLite has rolled it back itself."""
        return bool(connection.in_transaction)

    def find_fault(self, error: DatabaseError) -> HomeFault | None:
        """Return the fault of the file or its disk behind an error."""
        words = str(error.orig).lower()
        # SQLite reports another error when it finds no room for the index that it keeps beside its file.
        if "is full" in words or getattr(error.orig, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE":
            return HomeFault("The disk is full, so nothing was saved.", "Free some space, then try again.")
        if "readonly" in words or "unable to open" in words:
            return read_only_fault()
        if "not a database" in words or "malformed" in words:
            return HomeFault(
                "The database file is damaged or not a database; it was left as it is.",
                "Put a backup in its place, or choose another folder with CRAG_HOME.",
            )
        if "locked" in words:
            return HomeFault("The database was busy for too long.", "Try again in a moment.")
        if "i/o error" in words:
            return HomeFault(
                "The disk that holds your data cannot be read or written.",
                "Check that it is neither full nor damaged, then try again.",
            )
        return None

    def describe_error(self, error: Exception) -> str:
        """Return what SQLite says, with the name of its error where it has one."""
        found = error if isinstance(error, DatabaseError) else error.__cause__
        if not isinstance(found, DatabaseError):
            return str(error)
        return f"{found.orig} ({getattr(found.orig, 'sqlite_errorname', 'no code')})"

    def owner_name(self) -> str:
        """Return the name of this process on this machine."""
        return current_process_name()

    def is_owner_alive(self, _connection: Connection, name: str) -> bool:
        """Return whether a process of this machine runs."""
        return is_process_alive(name)

    def read_counter(self, connection: Connection, table: Table) -> int | None:
        """Return the last id that a table has given."""
        read = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        last: int | None = connection.scalar(read, {"name": table.name})
        return last

    def write_counter(self, connection: Connection, table: Table, last: int) -> None:
        """Let a table give the next ids after `last`."""
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        if last:
            added = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)")
            connection.execute(added, {"name": table.name, "last": last})

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _configure_connection(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions are always started explicitly
    for pragma in ("synchronous = FULL", "foreign_keys = ON", f"busy_timeout = {_BUSY_SECONDS * 1000}"):
        connection.execute(f"PRAGMA {pragma}")
    connection.create_function("lower", 1, _lower, deterministic=True)  # SQLite's own knows only ASCII letters


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def make_home(home: Path) -> None:
    """Create the folder if necessary; only its owner may open it. Raises `HomeFault`."""
    try:
        make_folder(home, _PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        _log.warning("The data folder cannot be created: %s", error)
        raise HomeFault("The data folder cannot be created.", "Choose another with CRAG_HOME.") from error
    if not os.access(home, os.W_OK):
        _log.warning("The data folder %s cannot be written to.", home)
        raise read_only_fault()


def _make_file(database: Path) -> None:
    """Create an empty database file if it does not exist; only its owner may read it."""
    try:
        _make_private(database.parent, database)
        database.touch(mode=_PRIVATE_FILE)
    except OSError as error:
        raise write_fault(error) from error


def _make_private(home: Path, database: Path) -> None:
    """Close a home of an earlier version to other users of the machine, and log that once.

    A folder that also holds other things keeps its permissions until it has a database.
    """
    is_open = os.name == "posix" and home.stat().st_mode & _OF_OTHERS
    if not is_open or not database.exists():
        return
    with suppress(PermissionError):  # the folder of another user, who shares it on purpose
        home.chmod(_PRIVATE_FOLDER)
        for file in home.glob("*.sqlite*"):
            file.chmod(_PRIVATE_FILE)
        _log.warning("Other users of this machine could open %s. It is private now.", home)
