"""PostgreSQL database of a home, for processes on several machines."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from contextlib import suppress
from typing import Any

from psycopg.sql import Literal
from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError, ProgrammingError, SQLAlchemyError

from crag.errors import DatabaseUnreachable, HomeFault
from crag.storage.row_security import ACCOUNT_SETTING, EVERYONE

_POOL_SIZE = 10
_POOL_OVERFLOW = 40
_CONNECT_SECONDS = 10
_WAIT_MILLISECONDS = 30_000
_LEASE_SECONDS = 4.0
_RENEW_SECONDS = 1.0
# One writer at a time, as in SQLite: a transaction that reads, decides and writes is never overtaken by another. The
# lock belongs to the schema, so that several homes can be in one database.
_LOCK_WRITERS = "SELECT pg_advisory_xact_lock(7163, hashtext(current_schema()))"

# Superusers and roles with BYPASSRLS ignore policies, so transactions of a user change to this role.
_LIMITED_ROLE = "crag_limited"
_IGNORES_POLICIES = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_LACKS_RIGHTS = """
SELECT to_regrole('crag_limited') IS NULL OR EXISTS (
    SELECT FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
    AND NOT has_table_privilege('crag_limited', oid, 'DELETE')
)"""
_GIVE_RIGHTS = """
DO $$
DECLARE home text := quote_ident(current_schema());
BEGIN
    IF to_regrole('crag_limited') IS NULL THEN
        BEGIN
            CREATE ROLE crag_limited NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN  -- of another home of this server, a moment ago
        END;
    END IF;
    IF NOT pg_has_role('crag_limited', 'SET') THEN
        GRANT crag_limited TO current_user;
    END IF;
    EXECUTE 'GRANT USAGE ON SCHEMA ' || home || ' TO crag_limited';
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ' || home || ' TO crag_limited';
    EXECUTE 'GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA ' || home || ' TO crag_limited';
END $$"""

_log = logging.getLogger(__name__)


class PostgresServer:
    """The schema of one home on a PostgreSQL server; a `Store`.

    A process owns rows under a lease that it renews each second, by the clock of the server. A process whose lease is
    four seconds old counts as dead, whatever machine it ran on.
    """

    begin_read = "BEGIN READ ONLY"
    begin_write = f"BEGIN; SET LOCAL lock_timeout = {_WAIT_MILLISECONDS}; {_LOCK_WRITERS}"
    begin_beside = "BEGIN"
    begin_snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    is_one_file = False
    term_occurrences = text(
        "SELECT string_agg(rowid::text, ',' ORDER BY rowid) FROM passage_terms, unnest(words) AS term"
        " WHERE words @> ARRAY[CAST(:term AS text)] AND term = :term"
    )
    passages_with_term = text(
        "SELECT rowid AS id FROM passage_terms WHERE words @> ARRAY[CAST(:term AS text)] LIMIT :limit"
    )

    def __init__(self, url: str) -> None:
        """Prepare a pool that connects on first use. Raises `HomeFault` if the address is malformed."""
        try:
            address = make_url(url).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError) as error:
            raise HomeFault(
                "CRAG_DATABASE_URL is not an address.", "Write postgresql://user:password@host/database."
            ) from error
        self.name = f"{address.database} on {address.host or 'a local socket'}"
        self.engine = _create_engine(address, _POOL_SIZE, _POOL_OVERFLOW)
        self._lease = Lease(_create_engine(address, 1, 0))  # however many wait for the other connections
        self._limited_role = ""
        self.has_row_security: bool | None = True

    def finish_opening(self) -> None:
        """Find out which role is subject to policies, and take the lease of this process."""
        with self.engine.connect() as connection:
            try:
                self._limited_role = _prepare_limited_role(connection)
            except ProgrammingError as error:
                self.has_row_security = False
                _log.warning("Row-level security has no effect: %s", _describe_error(error))
        self._lease.start()

    def limit_to(self, user: str | None) -> str:
        """Return the statement that sets the account, and the role if that of the address ignores policies."""
        settings = {ACCOUNT_SETTING: user or EVERYONE}
        if self._limited_role:
            settings["role"] = self._limited_role if user else "none"
        return "SELECT " + ", ".join(f"set_config({_quote(k)}, {_quote(v)}, true)" for k, v in settings.items())

    def check_in_place(self) -> None:
        """Do nothing: an error of the next statement shows that the server is gone."""

    def in_transaction(self, connection: Any) -> bool:
        """Return whether a connection has an open transaction, failed or not."""
        return bool(connection.info.transaction_status)

    def find_fault(self, error: DatabaseError) -> HomeFault | None:
        """Return the fault of the server behind an error, by its SQLSTATE."""
        state = getattr(error.orig, "sqlstate", None) or ""
        if state == "53100":
            return HomeFault("The disk is full, so nothing was saved.", "Free some space, then try again.")
        if state == "55P03":
            return HomeFault("The database was busy for too long.", "Try again in a moment.")
        if state == "25006":
            return HomeFault("The database can only be read.", "Connect to the primary server with CRAG_DATABASE_URL.")
        if isinstance(error, OperationalError) and (not state or state[:2] in ("08", "28", "3D", "53", "57")):
            return DatabaseUnreachable(
                "The database does not answer, so nothing was saved.",
                "Check that PostgreSQL is running and that CRAG_DATABASE_URL is right, then try again.",
            )
        return None

    def describe_error(self, error: Exception) -> str:
        """Return the server's message without the address, which may hold a password."""
        return _describe_error(error)

    def owner_name(self) -> str:
        """Return the name of the lease of this process."""
        return self._lease.name

    def is_owner_alive(self, connection: Connection, name: str) -> bool:
        """Return whether a process has renewed the lease of this name in time."""
        return self._lease.is_held(connection, name)

    def read_counter(self, connection: Connection, table: Table) -> int | None:
        """Return the last id that a table has given."""
        (key,) = table.primary_key
        read = text("SELECT last_value FROM pg_sequences WHERE schemaname = current_schema() AND sequencename = :name")
        last: int | None = connection.scalar(read, {"name": f"{table.name}_{key.name}_seq"})
        return last

    def write_counter(self, connection: Connection, table: Table, last: int) -> None:
        """Let a table give the next ids after `last`, which is at least 1."""
        (key,) = table.primary_key
        counter = {"name": f"{table.name}_{key.name}_seq", "last": max(1, last)}
        connection.execute(text("SELECT setval(:name, :last)"), counter)

    def close(self) -> None:
        """Give up the lease, and close all connections."""
        self._lease.stop()
        self.engine.dispose()


def _create_engine(address: URL, pool_size: int, overflow: int) -> Engine:
    engine = create_engine(
        address,
        isolation_level="AUTOCOMMIT",  # transactions are always started explicitly
        pool_size=pool_size,
        max_overflow=overflow,
        pool_pre_ping=True,
        connect_args={"connect_timeout": _CONNECT_SECONDS},
    )
    event.listen(engine, "connect", _hide_nothing)
    return engine


def _hide_nothing(connection: Any, _record: Any) -> None:
    """Let a connection see the rows of everyone in transactions without a limit."""
    connection.execute(f"SET {ACCOUNT_SETTING} = '{EVERYONE}'")
    connection.commit()


def _quote(text: str) -> str:
    return Literal(text).as_string().replace("%", "%%")  # the driver looks for parameters


def _prepare_limited_role(connection: Connection) -> str:
    """Return the role for transactions of a user, created if necessary; empty if the present one obeys policies.

    Raises `DatabaseError` if it does not, and may not create another.
    """
    if not connection.scalar(text(_IGNORES_POLICIES)):
        return ""
    if connection.scalar(text(_LACKS_RIGHTS)):
        connection.exec_driver_sql(f"BEGIN; {_LOCK_WRITERS}")
        try:
            connection.exec_driver_sql(_GIVE_RIGHTS)
            connection.exec_driver_sql("COMMIT")
        except DatabaseError:
            connection.exec_driver_sql("ROLLBACK")
            raise
    return _LIMITED_ROLE


def _describe_error(error: Exception) -> str:
    found = error if isinstance(error, DatabaseError) else error.__cause__
    return str(found.orig).partition("\n")[0] if isinstance(found, DatabaseError) else str(error)


class Lease:
    """Row of this process in `process_leases`, renewed by a thread while the process runs."""

    def __init__(self, engine: Engine) -> None:
        self.name = f"{secrets.token_hex(4)}-{secrets.token_hex(4)}"
        self._engine = engine
        self._held_since = time.monotonic()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Take the lease, delete those of long dead processes, and keep renewing it."""
        self._renew()
        self._held_since = time.monotonic()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give up the lease, so that others see at once that this process has ended."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            with suppress(SQLAlchemyError), self._engine.connect() as connection:
                connection.execute(text("DELETE FROM process_leases WHERE name = :name"), {"name": self.name})
        self._engine.dispose()

    def is_held(self, connection: Connection, name: str) -> bool:
        """Return whether a process has a lease of this name and has renewed it in time.

        A server that was away let every lease expire, so others get the time of a lease after this one was renewed.
        """
        first, _, rest = name.partition("-")
        name = f"{first}-{rest.partition('-')[0]}"
        if name == self.name:
            return not self._stopped.is_set()
        age = text("SELECT extract(epoch FROM clock_timestamp() - renewed_at) FROM process_leases WHERE name = :name")
        seconds = connection.scalar(age, {"name": name})
        if seconds is None:
            return False
        return float(seconds) < _LEASE_SECONDS or time.monotonic() - self._held_since < _LEASE_SECONDS

    def _keep(self) -> None:
        is_lost = False
        while not self._stopped.wait(_RENEW_SECONDS):
            try:
                self._renew()
                if is_lost:
                    self._held_since = time.monotonic()
                is_lost = False
            except SQLAlchemyError as error:
                if not is_lost:
                    _log.warning("Could not renew the lease of this process: %s", _describe_error(error))
                is_lost = True

    def _renew(self) -> None:
        renew = text(
            "INSERT INTO process_leases (name, renewed_at) VALUES (:name, clock_timestamp())"
            " ON CONFLICT (name) DO UPDATE SET renewed_at = excluded.renewed_at"
        )
        with self._engine.connect() as connection:
            connection.execute(renew, {"name": self.name})
            connection.execute(
                text("DELETE FROM process_leases WHERE renewed_at < clock_timestamp() - interval '1 day'")
            )
