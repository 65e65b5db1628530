"""The database of a home: SQLite in its folder, or PostgreSQL; connections and short transactions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, Executable, Table, TextClause
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DatabaseError, DataError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from crag.errors import BadRequest, DatabaseClosed, HomeFault
from crag.storage.migrations import migrate
from crag.storage.sqlite_file import SqliteFile, make_home

_CLOSE_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Store(Protocol):
    """What differs between the kinds of database. Transactions are always started explicitly."""

    engine: Engine
    name: str
    """How the log names the database."""
    begin_read: str
    """Statement that starts a transaction for reading whose statements each see the latest commit."""
    begin_write: str
    """Statements that start a transaction which no other writer can enter before it ends."""
    begin_beside: str
    """Statement that starts a transaction beside those of other writers, as far as this database can."""
    begin_snapshot: str
    """Statement that starts a transaction whose statements all see the same state."""
    is_one_file: bool
    """Whether all processes use one folder, whose files a backup can copy."""
    term_occurrences: TextClause
    """Statement that returns the ids of the passages with `:term`, with commas, in order, one for each occurrence."""
    passages_with_term: TextClause
    """Statement that returns at most `:limit` ids of passages with `:term`."""
    has_row_security: bool | None
    """Whether `limit_to` has an effect, as known after `finish_opening`; None where rows have no policies."""

    def finish_opening(self) -> None:
        """Prepare the database for use, once its schema is known to be right. Raises `DatabaseError`."""
        ...

    def limit_to(self, user: str | None) -> str:
        """Return the statement that lets the rest of a transaction see and change only the rows of a user.

        None: of everyone. Empty where rows have no policies.
        """
        ...

    def check_in_place(self) -> None:
        """Raise `HomeFault` if the database is no longer where it was opened."""
        ...

    def in_transaction(self, connection: Any) -> bool:
        """Return whether a connection of the driver has an open transaction."""
        ...

    def find_fault(self, error: DatabaseError) -> HomeFault | None:
        """Return the fault behind an error of the driver; None if the statement is at fault."""
        ...

    def describe_error(self, error: Exception) -> str:
        """Return the message of the driver, for the log."""
        ...

    def owner_name(self) -> str:
        """Return the name under which this process owns rows; no other process has or had it."""
        ...

    def is_owner_alive(self, connection: Connection, name: str) -> bool:
        """Return whether the process of this name still runs. Anything after a second `-` is ignored."""
        ...

    def read_counter(self, connection: Connection, table: Table) -> int | None:
        """Return the last id that a table has given, if it remembers those of deleted rows."""
        ...

    def write_counter(self, connection: Connection, table: Table, last: int) -> None:
        """Let a table give the next ids after `last`."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class Database:
    """One database. Safe to share between threads, and between processes: on one machine if it is SQLite."""

    def __init__(self, home: Path, url: str = "") -> None:
        """Open or create `home/crag.sqlite`, or the PostgreSQL database at `url`.

        Raises `HomeFault`, and leaves an unusable database untouched.
        """
        self.home = home
        self._usage = _Usage()
        self._store: Store = _open_store(home, url)
        self._limit = ""
        self._engine = self._store.engine.execution_options(store=self._store)
        try:
            with self.write() as connection:
                migrate(connection)
            self._store.finish_opening()
        except (HomeFault, DatabaseError) as error:
            _log.warning("Could not open %s: %s", self._store.name, self._store.describe_error(error))
            self.close()
            if isinstance(error, HomeFault):
                raise
            raise self._home_fault(error) from error

    def for_user(self, user: str | None) -> Database:
        """Return this database limited to what a user (None: anyone) may see and change, if its rows have policies."""
        limited = copy(self)
        limited._limit = self._store.limit_to(user) if user else ""  # noqa: SLF001 — of the same class
        return limited

    @property
    def is_one_file(self) -> bool:
        """Whether it is a file in `home`, which all processes share with it."""
        return self._store.is_one_file

    @property
    def has_row_security(self) -> bool | None:
        """Whether the database hides the rows of other users itself; None for one that cannot, a file."""
        return self._store.has_row_security

    @property
    def whole(self) -> Database:
        """This database without a limit, for work that depends on the rows of all users."""
        return self.for_user(None)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Provide a connection for reading; each statement sees the latest commit.

        Raises `HomeFault` if the database is damaged, gone or does not answer.
        """
        if self._limit:  # which ends with a transaction
            with self._read_in_transaction(self._store.begin_read) as connection:
                yield connection
            return
        with self._connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Provide a connection for reading whose statements all see the same state, whatever is committed meanwhile."""
        with self._read_in_transaction(self._store.begin_snapshot) as connection:
            yield connection

    @contextmanager
    def _read_in_transaction(self, begin: str) -> Iterator[Connection]:
        with self._connect() as connection:
            try:
                self._begin(connection, begin)
                yield connection
            finally:
                self._roll_back(connection)

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        with self._usage.count(), self._translate_errors():
            self._store.check_in_place()
            with self._engine.connect() as connection:
                yield connection

    def _begin(self, connection: Connection, begin: str) -> None:
        """Start a transaction with its limit, in one round trip to the server."""
        connection.execution_options(limit=self._limit)
        connection.exec_driver_sql("; ".join(filter(None, (begin, self._limit))))

    @contextmanager
    def write(self, *, alone: bool = True) -> Iterator[Connection]:
        """Provide a write transaction that commits at the end.

        It waits at the start until no other writes, so that it never fails later because of another. Rows that no other
        transaction decides about need not wait (`alone=False`), where the database can do that.

        Raises `HomeFault` if the disk is full or read-only, or if the file is no longer in its place: SQLite would
        go on writing to a file that was moved, or to one that was deleted and vanishes when it is closed.
        """
        with self._connect() as connection:
            try:
                self._begin(connection, self._store.begin_write if alone else self._store.begin_beside)
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException as error:
                self._roll_back(connection)
                if isinstance(error, OperationalError):
                    _log.warning("Could not write to %s: %s", self._store.name, self._store.describe_error(error))
                    raise self._home_fault(error) from error
                raise
            self._store.check_in_place()  # before the database may be closed

    def owner_name(self) -> str:
        """Return the name under which this process owns rows."""
        return self._store.owner_name()

    def is_answering(self) -> bool:
        """Return whether the database is in its place and answers a statement now."""
        try:
            with self.read() as connection:
                return bool(connection.exec_driver_sql("SELECT 1").scalar())
        except (HomeFault, SQLAlchemyError):
            return False

    def close(self) -> None:
        """Wait a few seconds for transactions in progress, and close all connections.

        From now on every use raises `DatabaseClosed`: a connection opened so late might never be closed.
        """
        self._usage.end(_CLOSE_SECONDS)
        self._store.close()

    def _roll_back(self, connection: Connection) -> None:
        if not connection.invalidated and self._store.in_transaction(connection.connection.dbapi_connection):
            no_cursor = {"stream_results": False, "yield_per": None}
            connection.exec_driver_sql("ROLLBACK", execution_options=no_cursor)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Convert errors of the database itself into `HomeFault`; errors of a statement pass unchanged.

        Except a text with NUL, which SQLite stores but PostgreSQL refuses: it raises `BadRequest`.
        """
        try:
            yield
        except DatabaseError as error:
            if isinstance(error, DataError) and "NUL" in str(error.orig):
                raise BadRequest("A text contains the character NUL, which cannot be stored.", "Remove it.") from error
            if fault := self._store.find_fault(error):
                raise fault from error
            raise
        except PoolTimeout as error:  # every connection of this process was in use
            raise HomeFault("The database was busy for too long.", "Try again in a moment.") from error

    def _home_fault(self, error: DatabaseError) -> HomeFault:
        return self._store.find_fault(error) or HomeFault(
            "The database rejected the change.", "Try again. If it happens again, restart the app."
        )


class _Usage:
    """Count of the connections in use, until there may be no more of them. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._connections = 0
        self._is_over = False

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count one connection during the block. Raises `DatabaseClosed`."""
        with self._changed:
            if self._is_over:
                raise DatabaseClosed("The app is closing.", "Start it again.")
            self._connections += 1
        try:
            yield
        finally:
            with self._changed:
                self._connections -= 1
                self._changed.notify_all()

    def end(self, seconds: float) -> None:
        """Allow no more connections, and wait at most `seconds` until none is in use."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: not self._connections, seconds)


def owner_name(connection: Connection) -> str:
    """Return the name under which this process owns rows."""
    return store_of(connection).owner_name()


def is_owner_alive(connection: Connection, name: str) -> bool:
    """Return whether the process that owns a row still runs. Anything after a second `-` is ignored."""
    return store_of(connection).is_owner_alive(connection, name)


@contextmanager
def see_everything(connection: Connection) -> Iterator[None]:
    """Lift the limit of a transaction for statements that depend on the rows of all users. Not to be nested."""
    limit, store = connection.get_execution_options().get("limit", ""), store_of(connection)
    if not limit:
        yield
        return
    connection.exec_driver_sql(store.limit_to(None))
    try:
        yield
    finally:
        with suppress(DatabaseError):  # a transaction that has failed ends
            connection.exec_driver_sql(limit)


def store_of(connection: Connection) -> Store:
    """Return the store of a connection, which hides the differences between the kinds of database."""
    store: Store = connection.get_execution_options()["store"]
    return store


def insert_into(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an insert statement with `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def replace_row(connection: Connection, table: Table, row: Mapping[str, Any]) -> Executable:
    """Return the statement that inserts a row in the place of the one with its primary key, if there is one."""
    keys = [column.name for column in table.primary_key]
    return insert_into(connection, table).values(row).on_conflict_do_update(index_elements=keys, set_=dict(row))


def defer_foreign_keys(connection: Connection) -> None:
    """Let the rest of this transaction insert rows before those that they refer to."""
    is_postgres = connection.dialect.name == "postgresql"
    connection.exec_driver_sql("SET CONSTRAINTS ALL DEFERRED" if is_postgres else "PRAGMA defer_foreign_keys = ON")


def _open_store(home: Path, url: str) -> Store:
    if not url:
        return SqliteFile(home)
    from crag.storage.postgres import PostgresServer

    make_home(home)
    return PostgresServer(url)
