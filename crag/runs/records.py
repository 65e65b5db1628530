"""Database rows of runs, their messages and their summaries."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from crag.conversations import message_tree
from crag.conversations.conversation_list import visible_to
from crag.conversations.conversations import check_not_answering, check_not_deleted, find_active_run, set_first_title
from crag.errors import NotFound
from crag.events import AnswerWritten, Event, QuestionCondensed, RunEnded, decode_event, encode_event
from crag.runs.event_log import EventLog
from crag.runs.trace import Trace
from crag.storage.engine import Database, is_owner_alive, owner_name, replace_row
from crag.storage.outbound_log import SERVER_KEY
from crag.storage.tables import (
    conversations,
    evaluations,
    events,
    messages,
    model_calls,
    queued_questions,
    run_summaries,
    runs,
)
from crag.storage.user_scope import UserScoped
from crag.text.small_talk import detect_small_talk
from crag.types import Turn

_COURTESIES = frozenset(
    {"wellbeing", "thanks", "farewell", "greeting", "acknowledgement"}
)  # say nothing of the subject


def name_conversation(connection: Connection, conversation_id: str, question: str) -> None:
    """Name a conversation that has no title yet after a question, unless it is only a greeting or the like."""
    if detect_small_talk(question) not in _COURTESIES:
        set_first_title(connection, conversation_id, question)


def save_summary(connection: Connection, run_id: str, trace: Trace, seconds: float) -> None:
    """Write the summary row of a run that took `seconds`, replacing an earlier one."""
    row = summarize_trace(trace) | {"run_id": run_id, "seconds": seconds}
    row["tokens"] = max(row["tokens"], _count_call_tokens(connection, run_id))
    connection.execute(replace_row(connection, run_summaries, row))


def summarize_trace(trace: Trace) -> dict[str, Any]:
    """Summarize what the events contain: verdicts of all passages, but the best score of library passages only."""
    verdicts = trace.verdicts.values()
    words = Counter(verdict.word for verdict in verdicts)
    scores = [one.score for one in verdicts if one.score is not None and one.passage_id > 0]
    return {
        "action": trace.action or "",
        "outcome": trace.outcome or "",
        "model": trace.model,
        "grader": trace.grader,
        "policy": trace.options.policy,
        "collection": trace.options.collection,
        "query_sent": trace.query_sent,
        "tokens": (trace.usage.prompt_tokens or 0) + (trace.usage.answer_tokens or 0),
        "best": max(scores, default=None),
        "relevant": words["relevant"],
        "ambiguous": words["ambiguous"],
        "irrelevant": words["irrelevant"],
        "unknown": words["unknown"],
        "sufficiency": trace.sufficiency or "",
    }


def _count_call_tokens(connection: Connection, run_id: str) -> int:
    """Return the tokens that its models read and wrote, as counted by their servers."""
    both = func.coalesce(model_calls.c.prompt_tokens, 0) + func.coalesce(model_calls.c.answer_tokens, 0)
    return connection.execute(select(func.sum(both)).where(model_calls.c.run_id == run_id)).scalar() or 0


_RUNNING = select(runs.c.id, runs.c.owner).where(runs.c.state == "running")
_HISTORY_TURNS = 6
_TURNS_READ = 24  # small talk among them is left out
_WRITTEN_EVENT_PATTERN = '%"type":"tokens_written"%'


class RunRecords(UserScoped):
    """Rows of runs and messages, written in short transactions."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = database.owner_name()

    def open(
        self,
        run_id: str,
        conversation_id: str | None,
        question: str,
        edited: int | None = None,
        evaluation_id: str | None = None,
        queued: int | None = None,
    ) -> None:
        """Store the question, the run and a placeholder for its answer, in one commit.

        The question follows the branch that is shown; with `edited` it begins a branch next to the question with this
        id. With `queued`, that question leaves the queue in the same commit, so that only one caller asks it. Raises
        `NotFound`, `StillAnswering`.
        """
        now = time.time()
        with self._database.write() as connection:
            if conversation_id:
                check_not_answering(connection, conversation_id)  # in here: another process may be faster
                check_not_deleted(connection, conversation_id)
                if queued is not None:
                    _take_from_queue(connection, queued, question)
                here = conversations.c.id == conversation_id
                connection.execute(update(conversations).where(here).values(updated_at=now))
            if evaluation_id:
                _require_evaluation(connection, evaluation_id)
            place = {"conversation_id": conversation_id, "evaluation_id": evaluation_id}
            insert_run(connection, id=run_id, question=question, **place)
            if not conversation_id:
                return
            name_conversation(connection, conversation_id, question)
            after = (
                message_tree.read_head(connection, conversation_id)
                if edited is None
                else _parent_message(connection, edited)
            )
            _append_question(connection, conversation_id, after, now, question, run_id)

    def wait(self, run_id: str) -> None:
        """Mark a run as waiting for the user; it then belongs to no process."""
        with self._database.write() as connection:
            connection.execute(update(runs).where(runs.c.id == run_id).values(state="waiting", owner=""))

    def claim(self, run_id: str) -> bool:
        """Claim a waiting run for this process; False when it no longer waits. Only one caller succeeds."""
        waits = (runs.c.id == run_id) & (runs.c.state == "waiting")
        with self._database.write() as connection:
            taken = connection.execute(update(runs).where(waits).values(state="running", owner=self._owner, draft=""))
        return taken.rowcount == 1

    def request_stop(self, run_id: str) -> None:
        """Ask the process that answers to stop."""
        running = (runs.c.id == run_id) & (runs.c.state == "running")
        with self._database.write() as connection:
            connection.execute(update(runs).where(running).values(stopping=1))

    def stop_requests(self) -> list[str]:
        """Return the runs of this process that another one asked to stop."""
        mine = (runs.c.owner == self._owner) & (runs.c.state == "running") & (runs.c.stopping == 1)
        with self._database.read() as connection:
            return list(connection.execute(select(runs.c.id).where(mine)).scalars())

    def save_draft(self, run_id: str, draft: str) -> None:
        """Save the query as edited so far."""
        with self._database.write() as connection:
            connection.execute(update(runs).where(runs.c.id == run_id).values(draft=draft))

    def draft(self, run_id: str) -> str:
        """Return the query as edited so far; empty if it was not edited."""
        with self._database.read() as connection:
            return connection.execute(select(runs.c.draft).where(runs.c.id == run_id)).scalar() or ""

    def close(self, run_id: str, number: int, ended: RunEnded, trace: Trace) -> None:
        """Store the answer, even a partial one, the run's end and its summary, in one commit; ignore a deleted run.

        The end gets a higher `number` if its owner, taken for dead, stored another event meanwhile. The streamed pieces
        of an answer that was written in full are deleted.
        """
        of_run = events.c.run_id == run_id
        with self._database.write() as connection:
            unfinished = (runs.c.id == run_id) & (runs.c.state == "running")  # else another process recorded its end
            known = connection.execute(update(runs).where(unfinished).values(state=ended.state))
            if known.rowcount == 0:
                return
            connection.execute(update(messages).where(messages.c.run_id == run_id).values(text=trace.text))
            if trace.outcome is not None:
                connection.execute(delete(events).where(of_run, events.c.body.like(_WRITTEN_EVENT_PATTERN)))
            last = connection.scalar(select(func.max(events.c.number)).where(of_run)) or 0
            body = encode_event(ended).decode()
            connection.execute(insert(events).values(run_id=run_id, number=max(number, last + 1), body=body))
            save_summary(connection, run_id, trace, ended.at)

    def close_orphans(self, log: EventLog, unsaved: Container[str] = ()) -> list[str]:
        """Mark runs whose process died, or that are in `unsaved`, as interrupted; keep their text so far.

        Returns their ids.
        """
        with self._database.read() as connection:
            running = connection.execute(_RUNNING).all()
            orphans = [row for row in running if row.id in unsaved or not is_owner_alive(connection, row.owner)]
        for row in orphans:
            kept = log.read(row.id)
            trace = Trace().apply_all(event for _, event in kept)
            seconds = max((step.started + (step.seconds or 0) for step in trace.steps), default=0.0)
            self.close(row.id, kept[-1][0] + 1 if kept else 1, RunEnded("interrupted", seconds), trace)
        return [row.id for row in orphans]

    def history(self, conversation_id: str) -> tuple[Turn, ...]:
        """Return the last few answered turns of the shown branch, oldest first, as models should see them."""
        with self._database.read() as connection:
            return _read_history(connection, message_tree.read_head(connection, conversation_id))

    def history_before(self, message_id: int) -> tuple[Turn, ...]:
        """Return the last few turns that led to this question, oldest first. Raises `NotFound`."""
        with self._database.read() as connection:
            return _read_history(connection, _parent_message(connection, message_id))

    def conversation_of_question(self, message_id: int) -> str:
        """Return the conversation of a question. Raises `NotFound`."""
        query = select(messages.c.conversation_id).where(messages.c.id == message_id, messages.c.role == "user")
        with self._database.read() as connection:
            found = connection.execute(query).scalar()
        if found is None:
            raise NotFound("This question no longer exists.")
        return str(found)

    def question(self, run_id: str) -> str:
        """Return the question of a run. Raises `NotFound`."""
        with self._database.read() as connection:
            question = connection.execute(select(runs.c.question).where(runs.c.id == run_id)).scalar()
        if question is None:
            raise NotFound("This answer no longer exists.")
        return str(question)

    def owner_id(self, run_id: str) -> str:
        """Return the owner of a run: of its conversation or evaluation, else the owner of commands."""
        owner = func.coalesce(conversations.c.person, func.nullif(evaluations.c.person, ""), SERVER_KEY)
        joined = runs.outerjoin(conversations, runs.c.conversation_id == conversations.c.id)
        joined = joined.outerjoin(evaluations, runs.c.evaluation_id == evaluations.c.id)
        with self._database.read() as connection:
            found = connection.execute(select(owner).select_from(joined).where(runs.c.id == run_id)).scalar()
        return SERVER_KEY if found is None else str(found)

    def user_id(self, run_id: str) -> str | None:
        """Return the user who asked the question of a run; None for a command. Raises `NotFound`."""
        self.question(run_id)  # otherwise a run that was deleted would look like one of a command
        owner = self.owner_id(run_id)
        return None if owner in ("", SERVER_KEY) else owner

    def evaluation(self, run_id: str) -> str | None:
        """Return the id of the evaluation that a run belongs to, if any."""
        with self._database.read() as connection:
            found = connection.execute(select(runs.c.evaluation_id).where(runs.c.id == run_id)).scalar()
        return None if found is None else str(found)

    def missing_runs(self, run_ids: set[str]) -> set[str]:
        """Return those of these runs that no longer exist."""
        with self._database.whole.read() as connection:
            return run_ids - set(connection.execute(select(runs.c.id)).scalars())

    def recent(self, limit: int, user: str | None) -> list[str]:
        """Return the ids of at most `limit` completed runs of a user, or of all users (None), latest first.

        Runs of evaluations are left out.
        """
        asked = (runs.c.state == "done") & runs.c.evaluation_id.is_(None) & visible_to(user)
        query = select(runs.c.id).outerjoin(conversations).where(asked)
        query = query.order_by(runs.c.started_at.desc()).limit(limit)
        with self._database.read() as connection:
            return list(connection.execute(query).scalars())

    def running(self, conversation_id: str) -> str | None:
        """Return the id of the run that is answering in this conversation or waits for the user, if any."""
        with self._database.read() as connection:
            found = find_active_run(connection, conversation_id)
        return str(found.id) if found else None


def insert_run(connection: Connection, **values: Any) -> None:
    """Insert a new run of this process."""
    own = {"state": "running", "owner": owner_name(connection), "started_at": time.time()}
    connection.execute(insert(runs).values(**own, **values))


def _take_from_queue(connection: Connection, queued: int, question: str) -> None:
    """Delete a queued question. Raises `NotFound` if it was asked, removed, edited or held meanwhile."""
    chosen = (queued_questions.c.id == queued) & (queued_questions.c.text == question)
    if connection.execute(delete(queued_questions).where(chosen, queued_questions.c.on_hold == 0)).rowcount == 0:
        raise NotFound("This question is no longer waiting.")


def _require_evaluation(connection: Connection, evaluation_id: str) -> None:
    there = connection.execute(select(evaluations.c.id).where(evaluations.c.id == evaluation_id)).first()
    if there is None:
        raise NotFound("This evaluation no longer exists.", "Choose another one.")


def _append_question(
    connection: Connection, conversation_id: str, after: int | None, now: float, question: str, run_id: str
) -> None:
    """Insert a question and a placeholder for its answer, at the end of the branch that is shown from now on."""
    shared = {"conversation_id": conversation_id, "created_at": now}
    asked = insert(messages).values(role="user", text=question, parent_id=after, **shared)
    asked_id = connection.execute(asked.returning(messages.c.id)).scalar_one()
    answer = insert(messages).values(role="assistant", text="", run_id=run_id, parent_id=asked_id, **shared)
    message_tree.set_head(connection, conversation_id, connection.execute(answer.returning(messages.c.id)).scalar_one())


def _parent_message(connection: Connection, message_id: int) -> int | None:
    found = connection.execute(select(messages.c.parent_id).where(messages.c.id == message_id)).first()
    if found is None:
        raise NotFound("This question no longer exists.")
    parent: int | None = found.parent_id
    return parent


def _read_history(connection: Connection, last_answer: int | None) -> tuple[Turn, ...]:
    rows = message_tree.read_branch(connection, last_answer, 2 * _TURNS_READ)
    pairs = zip(rows[::2], rows[1::2], strict=False)
    answered = [(asked, answer) for asked, answer in pairs if answer.text and not detect_small_talk(asked.text)]
    answered = answered[-_HISTORY_TURNS:]
    meant, cited = dict[str, str](), dict[str, tuple[str, ...]]()
    for run_id, event in _read_events(connection, [answer.run_id for _, answer in answered if answer.run_id]):
        match event:
            case QuestionCondensed():
                meant[run_id] = event.question
            case AnswerWritten():
                found = (one.source_id for one in event.citations if one.origin == "library")
                cited[run_id] = tuple(dict.fromkeys(found))
    return tuple(
        turn
        for asked, answer in answered
        for turn in (
            Turn(asked.role, asked.text, meant=meant.get(answer.run_id, "")),
            Turn(answer.role, answer.text, cited=cited.get(answer.run_id, ())),
        )
    )


def _read_events(connection: Connection, run_ids: Sequence[str]) -> Iterator[tuple[str, Event]]:
    """Yield how these runs understood their questions, and the answers that they wrote, with the id of the run."""
    kinds = (events.c.body.like(f'%"type":"{kind}"%') for kind in ("question_condensed", "answer_written"))
    wanted = select(events.c.run_id, events.c.body).where(events.c.run_id.in_(run_ids), or_(*kinds))
    for row in connection.execute(wanted):
        yield row.run_id, decode_event(row.body)
