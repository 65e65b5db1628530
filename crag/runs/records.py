"""What the database keeps of runs and of the messages they belong to."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, func, insert, select, update

from crag.conversations.conversations import title_of
from crag.database import Database
from crag.database.tables import conversations, events, messages, runs
from crag.errors import BadRequest, NotFound
from crag.events import RunEnded, encode
from crag.processes import is_alive, this_process
from crag.runs.log import EventLog
from crag.runs.trace import Trace
from crag.types import Turn

_TURNS = 6
_TOKENS = '%"type":"tokens_written"%'


class RunRecords:
    """Rows of runs and messages, written in short transactions."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = this_process()

    def open(self, run_id: str, conversation_id: str | None, question: str) -> None:
        """Keeps the question, the run and the place of its answer, in one commit. Raises `NotFound`, `BadRequest`."""
        now = time.time()
        with self._database.write() as connection:
            if conversation_id:
                if _running(connection, conversation_id):  # asked in here, since another process may be faster
                    raise BadRequest("The answer before this one is still being written.", "Wait for it, or stop it.")
                known = connection.execute(
                    update(conversations).where(conversations.c.id == conversation_id).values(updated_at=now)
                )
                if known.rowcount == 0:
                    raise NotFound("This conversation is no longer there.", "Start a new one.")
            connection.execute(
                insert(runs).values(
                    id=run_id,
                    conversation_id=conversation_id,
                    question=question,
                    state="running",
                    owner=self._owner,
                    started_at=now,
                )
            )
            if not conversation_id:
                return
            of_conversation = messages.c.conversation_id == conversation_id
            if connection.execute(select(func.count()).where(of_conversation)).scalar_one() == 0:
                connection.execute(
                    update(conversations).where(conversations.c.id == conversation_id).values(title=title_of(question))
                )
            shared = {"conversation_id": conversation_id, "created_at": now}
            connection.execute(insert(messages).values(role="user", text=question, **shared))
            connection.execute(insert(messages).values(role="assistant", text="", run_id=run_id, **shared))

    def close(self, run_id: str, number: int, ended: RunEnded, trace: Trace) -> None:
        """Keeps the answer, whole or partial, and how the run ended, in one commit; a run that is gone stays gone.

        The streamed pieces of an answer that was written as a whole are forgotten.
        """
        of_run = events.c.run_id == run_id
        with self._database.write() as connection:
            unfinished = (runs.c.id == run_id) & (runs.c.state == "running")  # else another process marked its end
            known = connection.execute(update(runs).where(unfinished).values(state=ended.state))
            if known.rowcount == 0:
                return
            connection.execute(update(messages).where(messages.c.run_id == run_id).values(text=trace.text))
            if trace.outcome is not None:
                connection.execute(delete(events).where(of_run, events.c.body.like(_TOKENS)))
            connection.execute(insert(events).values(run_id=run_id, number=number, body=encode(ended).decode()))

    def close_orphans(self, log: EventLog) -> None:
        """Marks runs whose process died as interrupted, keeping what they had written."""
        with self._database.read() as connection:
            running = connection.execute(select(runs).where(runs.c.state == "running")).all()
        for row in running:
            if is_alive(row.owner):
                continue
            kept = log.read(row.id)
            trace = Trace().apply_all(event for _, event in kept)
            seconds = max((step.started + (step.seconds or 0) for step in trace.steps), default=0.0)
            self.close(row.id, kept[-1][0] + 1 if kept else 1, RunEnded("interrupted", seconds), trace)

    def history(self, conversation_id: str) -> tuple[Turn, ...]:
        """The last few turns that were answered, oldest first, as models are to see them."""
        query = (
            select(messages.c.role, messages.c.text)
            .where(messages.c.conversation_id == conversation_id)
            .order_by(messages.c.id.desc())
            .limit(2 * _TURNS)
        )
        with self._database.read() as connection:
            rows = list(reversed(connection.execute(query).all()))
        pairs = zip(rows[::2], rows[1::2], strict=False)
        answered = [pair for pair in pairs if pair[1].text]
        return tuple(Turn(row.role, row.text) for pair in answered for row in pair)

    def question(self, run_id: str) -> str:
        """The question of a run. Raises `NotFound`."""
        with self._database.read() as connection:
            question = connection.execute(select(runs.c.question).where(runs.c.id == run_id)).scalar()
        if question is None:
            raise NotFound("This answer is no longer there.")
        return str(question)

    def running(self, conversation_id: str) -> str | None:
        """The id of the run that is answering in this conversation, if any."""
        with self._database.read() as connection:
            return _running(connection, conversation_id)


def _running(connection: Connection, conversation_id: str) -> str | None:
    of_conversation = (runs.c.conversation_id == conversation_id) & (runs.c.state == "running")
    rows = connection.execute(select(runs.c.id, runs.c.owner).where(of_conversation)).all()
    return next((row.id for row in rows if is_alive(row.owner)), None)
