"""Selection of the questions that show a gap, from the run summaries alone: no trace is read."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.orm import aliased

from crag.conversations.listing import visible
from crag.database.tables import conversations, feedback, messages, run_summaries, runs

_UNCOVERED_OUTCOMES = ("not_answered", "web", "documents_and_web")
_UNCOVERED_ACTIONS = ("incorrect", "ambiguous")
_NO_LETTER = re.compile(r"[\W_]+")

_COLUMNS = (
    *(runs.c[name] for name in ("id", "question", "started_at", "gap_closed")),
    func.coalesce(runs.c.version_of, runs.c.id).label("answer"),  # the original answer that it is a version of
    run_summaries.c.action,
    run_summaries.c.outcome,
    feedback.c.helpful,
)


@lru_cache(maxsize=20_000)
def normalised(question: str) -> str:
    """Normalise a question: equal for questions that differ only in case, width, white space and punctuation."""
    return _NO_LETTER.sub(" ", unicodedata.normalize("NFKC", question).casefold()).strip()


def read_uncovered(connection: Connection, person: str | None) -> list[Row[Any]]:
    """Return the runs that show a gap, latest first: the last finished version of each answer that is still uncovered.

    Of one person, or of everyone (None). A later answer from the documents, judged *correct*, covers the same question
    or an older wording of it. Gaps that a person closed are left out, and so are doubtful answers from the documents
    that were rated helpful.
    """
    answers = {row.answer: row for row in _read_ended(connection, person)}  # the last version wins
    covered_at: dict[str, float] = {}
    for row in answers.values():
        if _is_covered(row):
            covered_at[normalised(row.question)] = row.started_at
    reworded = _reworded(_read_wordings(connection), answers)
    return [
        row
        for row in sorted(answers.values(), key=lambda row: -row.started_at)
        if _is_uncovered(row)
        and row.answer not in reworded
        and covered_at.get(normalised(row.question), 0.0) < row.started_at
    ]


def read_own(connection: Connection, questions: Collection[str], person: str) -> set[str]:
    """Return those of these questions that this person has asked."""
    own = select(runs.c.question).join(conversations, conversations.c.id == runs.c.conversation_id)
    return set(connection.scalars(own.where(conversations.c.person == person, runs.c.question.in_(questions))))


def _read_ended(connection: Connection, person: str | None) -> Sequence[Row[Any]]:
    """Read every completed run, oldest first, without those of evaluations, which nobody asked."""
    joined = (
        runs.join(run_summaries, run_summaries.c.run_id == runs.c.id)
        .outerjoin(feedback, feedback.c.run_id == runs.c.id)
        .outerjoin(conversations, conversations.c.id == runs.c.conversation_id)
    )
    asked = (runs.c.state == "done") & runs.c.evaluation_id.is_(None)
    query = select(*_COLUMNS).select_from(joined).where(asked, visible(person))
    return connection.execute(query.order_by(runs.c.started_at, runs.c.id)).all()


def _is_covered(row: Row[Any]) -> bool:
    return bool(row.action == "correct" and row.outcome == "documents")


def _is_uncovered(row: Row[Any]) -> bool:
    if row.gap_closed or (row.helpful and row.outcome == "documents"):
        return False
    return row.outcome in _UNCOVERED_OUTCOMES or row.action in _UNCOVERED_ACTIONS


def _read_wordings(connection: Connection) -> Iterable[Sequence[str]]:
    """Return the answers to the wordings of each edited question, in order."""
    answer = aliased(messages)
    version = func.coalesce(runs.c.version_of, runs.c.id)
    place = messages.c.conversation_id, func.coalesce(messages.c.parent_id, 0)
    count = func.count().over(partition_by=place).label("wordings")
    asked = select(messages.c.id, *place, count).where(messages.c.role == "user").subquery()
    query = (
        select(*asked.c, version.label("answer"))
        .join(answer, answer.c.parent_id == asked.c.id)
        .join(runs, runs.c.id == answer.c.run_id)
        .where(asked.c.wordings > 1)
        .order_by(asked.c.id)
    )
    found: defaultdict[tuple[Any, ...], list[str]] = defaultdict(list)
    for row in connection.execute(query):
        found[tuple(row[1:3])].append(row.answer)
    return found.values()


def _reworded(wordings: Iterable[Sequence[str]], answers: dict[str, Row[Any]]) -> Collection[str]:
    """Return the answers whose question was later reworded and then covered."""
    gone: set[str] = set()
    for place in wordings:
        covered = [number for number, answer in enumerate(place) if answer in answers and _is_covered(answers[answer])]
        gone |= set(place[: max(covered, default=0)])
    return gone
