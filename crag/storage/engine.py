"""The SQLite database: connections and short transactions."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, event, text
from sqlalchemy.exc import DatabaseError, OperationalError
from tenacity import retry, retry_if_exception_message, stop_after_delay, wait_random

from crag.errors import HomeFault
from crag.storage.files import WatchedFile, make_folder, read_only_fault
from crag.storage.migrations import migrate

DATABASE_NAME = "crag.sqlite"
CHECKPOINTS_NAME = "checkpoints.sqlite"  # in the same folder: graph state of runs
_BUSY_SECONDS = 30
_PRIVATE_FOLDER, _PRIVATE_FILE, _OF_OTHERS = 0o700, 0o600, 0o077

_log = logging.getLogger(__name__)


class Database:
    """One SQLite file in WAL mode. Safe to share between threads, and between processes on one machine."""

    def __init__(self, home: Path) -> None:
        """Open or create `home/crag.sqlite`. Raises `HomeFault`, and leaves an unusable file untouched."""
        self.home = home
        self._path = home.absolute() / DATABASE_NAME
        _make_home(home, self._path)
        self._file = WatchedFile(self._path)
        self._log_file: WatchedFile | None = None  # holds the latest commits; stays while a connection of the pool does
        # `mode=rw`: no connection may create an empty file where the home has been removed meanwhile.
        address = URL.create("sqlite", database=self._path.as_uri(), query={"mode": "rw", "uri": "true"})
        self._engine = create_engine(address, connect_args={"timeout": _BUSY_SECONDS})
        event.listen(self._engine, "connect", _configure_connection)
        try:
            with self.write() as connection:
                migrate(connection)
            self._enable_wal()
            with self.write():  # creates the file of the write-ahead log
                pass
        except (HomeFault, DatabaseError) as error:
            _log.warning("Could not open %s: %s", self._path, _describe_cause(error))
            self.close()
            if isinstance(error, HomeFault):
                raise
            raise _home_fault(error) from error
        self._log_file = WatchedFile(self._path.with_name(f"{DATABASE_NAME}-wal"))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Provide a connection for reading; each statement sees the latest commit.

        Raises `HomeFault` if the file is damaged or gone.
        """
        self._check_in_place()
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
        """Provide a write transaction that commits at the end.

        It takes the write lock at the start, so that it waits its turn instead of failing later. Raises `HomeFault` if
        the disk is full or read-only, or if the file is no longer in its place: SQLite would go on writing to a file
        that was moved, or to one that was deleted and vanishes when it is closed.
        """
        self._check_in_place()
        with _translate_errors(), self._engine.connect() as connection:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException as error:
                if connection.connection.dbapi_connection.in_transaction:  # type: ignore[union-attr]
                    connection.exec_driver_sql("ROLLBACK")
                if isinstance(error, OperationalError):
                    _log.warning("Could not write to %s: %s", self._path, _describe_cause(error))
                    raise _home_fault(error) from error
                raise
        self._check_in_place()

    def _check_in_place(self) -> None:
        self._file.check_in_place()
        if self._log_file:
            self._log_file.check_in_place()

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


def _make_home(home: Path, database: Path) -> None:
    """Create the folder and an empty database file where there are none; only their owner may read either."""
    try:
        make_folder(home, _PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        _log.warning("The data folder cannot be created: %s", error)
        raise HomeFault("The data folder cannot be created.", "Choose another with CRAG_HOME.") from error
    if not os.access(home, os.W_OK):
        _log.warning("The data folder %s cannot be written to.", home)
        raise read_only_fault()
    try:
        _make_private(home, database)
        database.touch(mode=_PRIVATE_FILE)
    except OSError as error:
        _log.warning("The database file cannot be created: %s", error)
        raise HomeFault("The database file cannot be created.", "Check the permissions of CRAG_HOME.") from error


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


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Convert errors of the file into `HomeFault`; errors of a statement pass unchanged."""
    try:
        yield
    except DatabaseError as error:
        if fault := _known_fault(error):
            raise fault from error
        raise


def _describe_cause(error: Exception) -> str:
    """Return what SQLite says, with the name of its error where it has one."""
    found = error if isinstance(error, DatabaseError) else error.__cause__
    if not isinstance(found, DatabaseError):
        return str(error)
    return f"{found.orig} ({getattr(found.orig, 'sqlite_errorname', 'no code')})"


def _home_fault(error: DatabaseError) -> HomeFault:
    return _known_fault(error) or HomeFault(
        "The database rejected the change.", "Try again. If it happens again, restart the app."
    )


def _known_fault(error: DatabaseError) -> HomeFault | None:
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
