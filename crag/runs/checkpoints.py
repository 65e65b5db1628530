"""The graph's state on disk, a file of its own: for runs that wait for a person."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from crag.database.engine import CHECKPOINTS_NAME
from crag.errors import HomeFault, NotFound

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.types import StateSnapshot

    from crag.graph.build import Graph

_log = logging.getLogger(__name__)
_BUSY_SECONDS = 30
_KEPT_TYPES = ("Passage", "Verdict", "Strip", "Knowledge", "Turn")


class Checkpoints:
    """The compiled graph over its file; one thread of checkpoints for each run, under the run's id. Safe to share.

    A run that may wait is written when it ends or waits: a step in between is of no use, since a run whose process died
    is not gone on with, and the event log tells what it had come to.
    """

    def __init__(self, home: Path) -> None:
        self._path = home / CHECKPOINTS_NAME
        self._lock = threading.Lock()
        self._graph: Graph | None = None
        self._closed = False

    @property
    def graph(self) -> Graph:
        """The graph, opened when first asked for: LangGraph is slow to import.

        Raises `sqlite3.ProgrammingError` once it was closed.
        """
        with self._lock:
            if self._closed:
                raise sqlite3.ProgrammingError("The file of checkpoints was closed.")
            if self._graph is None:
                self._graph = self._open()
            return self._graph

    @cached_property
    def plain_graph(self) -> Graph:
        """The same graph without the file, for runs that never wait: writing their state costs milliseconds."""
        from crag.graph.build import build_graph

        return build_graph(None)

    def waits(self, run_id: str) -> bool:
        """Whether a run waits for a person, and all that it needs to go on is there. Raises `NotFound`, `HomeFault`."""
        return bool(self._kept(run_id).interrupts)

    def forget(self, run_ids: Iterable[str]) -> None:
        """Deletes all that is kept of these runs."""
        for run_id in run_ids:
            self._saver.delete_thread(run_id)

    def runs(self) -> set[str]:
        """The runs that something is kept of."""
        with self._saver.cursor(transaction=False) as cursor:
            return {row[0] for row in cursor.execute("SELECT DISTINCT thread_id FROM checkpoints")}

    def close(self) -> None:
        """Closes the file, once nobody is in the middle of using it."""
        with self._lock:
            if self._graph is not None and not self._closed:
                saver = cast("SqliteSaver", self._graph.checkpointer)
                with saver.lock:
                    saver.conn.close()
            self._closed = True

    def _kept(self, run_id: str) -> StateSnapshot:
        """All that is kept of a run; whatever a damaged file may hold, it is one of two faults."""
        try:
            return self.graph.get_state(of_run(run_id))
        except sqlite3.Error as error:
            raise HomeFault("The state of earlier answers cannot be read.", "Restart, then ask again.") from error
        except Exception as error:
            _log.exception("The state of a run cannot be read")
            raise _gone() from error

    @property
    def _saver(self) -> SqliteSaver:
        return cast("SqliteSaver", self.graph.checkpointer)

    def _open(self) -> Graph:
        from langgraph.checkpoint.sqlite import SqliteSaver

        from crag.graph.build import build_graph
        from crag.runs.serializer import PlainSerializer

        kept = [("crag.types", name) for name in _KEPT_TYPES]
        saver = SqliteSaver(self._connect(), serde=PlainSerializer(allowed_msgpack_modules=kept))
        saver.setup()
        return build_graph(saver)

    def _connect(self) -> sqlite3.Connection:
        """A connection to the file; one that is damaged is set aside, since answers do not depend on it."""
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
        return connection


def of_run(run_id: str) -> RunnableConfig:
    """The configuration under which a run's checkpoints are found."""
    return {"configurable": {"thread_id": run_id}}


def _gone() -> NotFound:
    return NotFound("What this answer was made from is no longer kept.", "Ask the question again.")
