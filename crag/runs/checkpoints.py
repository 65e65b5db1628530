"""Checkpoints: graph state of runs that wait for the user, in a file of its own."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from crag.storage.files import WatchedFile
from crag.storage.sqlite_file import CHECKPOINTS_NAME

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.sqlite import SqliteSaver

    from crag.graph.build import Graph


_log = logging.getLogger(__name__)
_BUSY_SECONDS = 30
_ALLOWED_TYPES = ("Passage", "Verdict", "Strip", "Knowledge", "Turn", "Assessment", "Statement")


class Checkpoints:
    """The compiled graph over its file; one LangGraph thread per run, named by the run's id. Safe to share.

    A run that may wait is written when it ends or waits. Checkpoints in between would be useless: a run whose process
    died is not resumed, and the event log shows how far it got.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / CHECKPOINTS_NAME
        self._lock = threading.Lock()
        self._graph: Graph | None = None
        self._file = WatchedFile(self._path)
        self._closed = False

    @property
    def graph(self) -> Graph:
        """The graph, opened on first use because LangGraph is slow to import.

        Raises `sqlite3.ProgrammingError` once it is closed, and `HomeFault` if its file is no longer in its place.
        """
        with self._lock:
            if self._closed:
                raise sqlite3.ProgrammingError("The file of checkpoints was closed.")
            if self._graph is None:
                self._graph = self._open()
            self._file.check_in_place()
            return self._graph

    @cached_property
    def plain_graph(self) -> Graph:
        """The same graph without the file, for runs that never wait: writing their state would cost milliseconds."""
        from crag.graph.build import build_graph

        return build_graph(None)

    def is_waiting(self, run_id: str) -> bool:
        """Return whether the file holds a readable state of the run, waiting for the user; log damage to the file."""
        try:
            return bool(self.graph.get_state(checkpoint_config(run_id)).interrupts)
        except Exception:  # noqa: BLE001 — the file may be damaged in any way; the state can be rebuilt from events
            _log.warning("The saved state of a run cannot be read", exc_info=True)
            return False

    def forget(self, run_ids: Iterable[str]) -> None:
        """Delete the checkpoints of these runs."""
        for run_id in run_ids:
            self._saver.delete_thread(run_id)

    def runs(self) -> set[str]:
        """Return the ids of all runs with checkpoints."""
        with self._saver.cursor(transaction=False) as cursor:
            return {row[0] for row in cursor.execute("SELECT DISTINCT thread_id FROM checkpoints")}

    def close(self) -> None:
        """Close the file once no thread is using it."""
        with self._lock:
            if self._graph is not None and not self._closed:
                saver = cast("SqliteSaver", self._graph.checkpointer)
                with saver.lock:
                    saver.conn.close()
            self._closed = True

    @property
    def _saver(self) -> SqliteSaver:
        return cast("SqliteSaver", self.graph.checkpointer)

    def _open(self) -> Graph:
        from langgraph.checkpoint.sqlite import SqliteSaver

        from crag.graph.build import build_graph
        from crag.runs.state_serializer import PlainValueSerializer

        kept = [("crag.types", name) for name in _ALLOWED_TYPES]
        saver = SqliteSaver(self._connect(), serde=PlainValueSerializer(allowed_msgpack_modules=kept))
        saver.setup()
        return build_graph(saver)

    def _connect(self) -> sqlite3.Connection:
        """Connect to the file; a damaged one is moved aside, since answers do not depend on it."""
        connection = sqlite3.connect(self._path, check_same_thread=False, timeout=_BUSY_SECONDS)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("The file of checkpoints is damaged.")
        except sqlite3.DatabaseError as error:
            connection.close()
            if isinstance(error, sqlite3.OperationalError):
                raise
            self._path.replace(self._path.with_suffix(".damaged"))
            return self._connect()
        self._file = WatchedFile(self._path)
        return connection


def checkpoint_config(run_id: str) -> RunnableConfig:
    """Return the LangGraph configuration that addresses a run's checkpoints."""
    return {"configurable": {"thread_id": run_id}}
