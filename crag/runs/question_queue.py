"""Question queue: questions that wait for the answer before them or for their files, kept in the database."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, delete, func, insert, select, update

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.conversations.conversation_list import visible_to
from crag.conversations.conversations import check_not_deleted
from crag.errors import NotFound, StillAnswering
from crag.options import RunOptions
from crag.runs.records import name_conversation
from crag.runs.run import Run
from crag.runs.service import RunService
from crag.storage.engine import Database
from crag.storage.row_security import visible_rows
from crag.storage.tables import conversations, queued_questions
from crag.storage.user_scope import UserScoped, check_visible
from crag.text.sanitization import normalize_question


@dataclass(frozen=True, slots=True)
class QueuedQuestion:
    """A question that waits. `files` maps the ingest jobs of its files to their names; `on_hold` while it is edited."""

    id: int
    text: str
    files: Mapping[str, str]
    on_hold: bool


class QuestionQueue(UserScoped):
    """The queues of all conversations, each in order. Safe to use from several threads and processes.

    A question is asked with the options that its conversation has then. Every method raises `HomeFault`.
    """

    def __init__(
        self,
        database: Database,
        runs: RunService,
        options: Callable[[str], RunOptions],
        unread: Callable[[Collection[str]], Collection[str]],
    ) -> None:
        """Create the queue. `options` are those of a conversation; `unread` filters unfinished ingest jobs."""
        self._database = database
        self._runs = runs
        self._options = options
        self._unread = unread
        self._worker = BackgroundWorker("question-queue", self._ask_all)

    def begin(self) -> None:
        """Ask what waits from now on, in a background thread: at once, then whenever `wake` is called."""
        self._worker.start()
        self._worker.wake()

    def wake(self) -> None:
        """Ask what can be asked now; does nothing before `begin`."""
        self._worker.wake()

    def close(self) -> None:
        """Ask nothing more; the questions stay in the queue."""
        self._worker.close()

    def submit(self, conversation_id: str, question: str, files: Mapping[str, str] | None = None) -> Run | None:
        """Ask a question, or queue it behind others, a running answer or its `files`; return the run if it was asked.

        `files` maps ids of ingest jobs to file names. Raises `BadRequest` for a question that is empty, too long or one
        too many, and `NotFound` when the conversation was deleted.
        """
        question = normalize_question(question)
        self._runs.check_limit(self._user)
        if not self.questions(conversation_id) and not self._unread([*(files or {})]):
            with suppress(StillAnswering):
                return self._runs.start(conversation_id, question, self._options(conversation_id))
        self._add(conversation_id, question, files or {})
        return self.ask_next(conversation_id)

    def ask_next(self, conversation_id: str) -> Run | None:
        """Ask the first question of a conversation if nothing holds it up; return its run."""
        first = next(iter(self.questions(conversation_id)), None)
        if first is None or self._unread([*first.files]):
            return None
        with suppress(StillAnswering, NotFound):  # not found: on hold, or asked meanwhile
            return self._runs.start(conversation_id, first.text, self._options(conversation_id), queued=first.id)
        return None

    def questions(self, conversation_id: str) -> list[QueuedQuestion]:
        """Return the questions of a conversation in the order in which they are asked."""
        values = {"conversation": conversation_id, "user": self._user}
        with self._database.read() as connection:
            rows = connection.execute(_select_queue(limited=self._user is not None), values).all()
        return [QueuedQuestion(row.id, row.text, json.loads(row.files), bool(row.on_hold)) for row in rows]

    def unread_files(self, question: QueuedQuestion) -> list[str]:
        """Return the names of the files that the question still waits for."""
        waiting = self._unread([*question.files])
        return [name for job_id, name in question.files.items() if job_id in waiting]

    def hold(self, question_id: int) -> None:
        """Hold a question, and those after it, while it is edited. Raises `NotFound`."""
        self._update(question_id, on_hold=1)

    def release(self, question_id: int, text: str | None = None) -> None:
        """End the hold of a question, which may get another text. Raises `BadRequest`, `NotFound`."""
        changed = {} if text is None else {"text": normalize_question(text)}
        self._update(question_id, on_hold=0, **changed)
        self.wake()

    def move(self, question_id: int, *, up: bool) -> None:
        """Swap a question with the one before or after it; ignore one that is first or last, or gone."""
        table = queued_questions
        with self._database.write() as connection:
            row = connection.execute(select(table).where(self._named(question_id))).first()
            if row is None:
                return
            beyond = table.c.position < row.position if up else table.c.position > row.position
            order = table.c.position.desc() if up else table.c.position
            same = select(table).where(table.c.conversation_id == row.conversation_id, beyond)
            other = connection.execute(same.order_by(order).limit(1)).first()
            for one, position in [(row, other.position), (other, row.position)] if other else []:
                connection.execute(update(table).where(table.c.id == one.id).values(position=position))
        self.wake()

    def remove(self, question_id: int) -> None:
        """Delete a question; ignore one that is gone."""
        with self._database.write() as connection:
            connection.execute(delete(queued_questions).where(self._named(question_id)))
        self.wake()

    def _named(self, question_id: int) -> ColumnElement[bool]:
        return (queued_questions.c.id == question_id) & self._visible(queued_questions)

    def _add(self, conversation_id: str, question: str, files: Mapping[str, str]) -> None:
        check_visible(self._database, conversations, conversation_id, self._user)
        with self._database.write() as connection:
            check_not_deleted(connection, conversation_id)
            position = _next_position(connection, conversation_id)
            name_conversation(connection, conversation_id, question)
            values = {"conversation_id": conversation_id, "position": position, "files": json.dumps(dict(files))}
            connection.execute(insert(queued_questions).values(text=question, **values))

    def _update(self, question_id: int, **values: Any) -> None:
        chosen = update(queued_questions).where(self._named(question_id))
        with self._database.write() as connection:
            if connection.execute(chosen.values(**values)).rowcount == 0:
                raise NotFound("This question is no longer waiting.", "It was asked or removed meanwhile.")

    def _ask_all(self, stop: Cancellation) -> None:
        """Ask the first question of every conversation that has one."""
        waiting = select(queued_questions.c.conversation_id).distinct().join(conversations).where(visible_to(None))
        with self._database.read() as connection:
            conversation_ids = connection.scalars(waiting).all()
        for conversation_id in conversation_ids:
            stop.check()
            self.ask_next(conversation_id)


@cache  # every redraw runs it
def _select_queue(*, limited: bool) -> Select[Any]:
    seen = visible_rows(queued_questions, bindparam("user") if limited else None)
    in_it = queued_questions.c.conversation_id == bindparam("conversation")
    return select(queued_questions).where(in_it, seen).order_by(queued_questions.c.position)


def _next_position(connection: Connection, conversation_id: str) -> int:
    last = select(func.max(queued_questions.c.position)).where(queued_questions.c.conversation_id == conversation_id)
    return int(connection.execute(last).scalar() or 0) + 1
