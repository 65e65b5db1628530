"""Suggested questions: starter questions on the newest documents, follow-up questions from near the cited passages.

Each finds its own passage, which holds an answer by the rule that the question comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from sqlalchemy import Row, Select, false, or_, select

from crag.library.questions.rules import find_questions
from crag.library.questions.surroundings import Surroundings
from crag.storage.engine import Database
from crag.storage.row_security import visible_rows
from crag.storage.tables import passages, sources
from crag.text.language import extract_terms

_NEWEST_SOURCES = 12
_PASSAGES_READ = 80  # of each document, from its beginning
_PASSAGES_BEFORE, _PASSAGES_AFTER = 6, 24  # passages around a cited one
_MAX_CHECKED = 24

FindPassages = Callable[[str], Sequence[int]]
"""Searches with a question; returns the ids of the nearest passages."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question, its subject (`about`), and the passage that answers it."""

    question: str
    about: str
    passage_id: int


def suggest_questions(database: Database, find: FindPassages, n: int, user: str | None) -> list[str]:
    """Return at most `n` different questions, from as many of the newest sources of a user as possible."""
    newest = _read_newest_sources(database, user)
    by_source = [_offer_on_source(database, source.id, source.title) for source in newest]
    in_turns = (one for one in chain.from_iterable(zip_longest(*by_source)) if one)
    return _choose(in_turns, find, set(), n)


def suggest_follow_ups(
    database: Database,
    find: FindPassages,
    cited_ids: Sequence[int],
    answer: str,
    asked: Sequence[str],
    n: int,
    user: str | None,
) -> list[str]:
    """Suggest at most `n` questions about what `answer`, which cites the passages `cited_ids`, leaves out.

    They are about passages that the `user` may read. Each has a subject of its own that neither the answer nor the
    questions `asked` cover.
    """
    rows = sorted(_read_neighbours(database, cited_ids, user), key=lambda row: _distance_to_cited(row, cited_ids))
    return _choose(_offer(rows), find, set(extract_terms(" ".join([answer, *asked]))), n)


def _choose(offered: Iterable[Suggestion], find: FindPassages, covered: set[str], n: int) -> list[str]:
    """Return the first `n` questions with a subject that is not `covered` yet and that find their own passage."""
    found: list[str] = []
    checked = 0
    for one in offered:
        about = set(extract_terms(one.about))
        if about <= covered:
            continue
        checked += 1
        if one.passage_id in find(one.question):
            covered |= about
            found.append(one.question)
        if len(found) == n or checked == _MAX_CHECKED:
            break
    return found


def _offer_on_source(database: Database, source_id: str, title: str) -> Iterator[Suggestion]:
    query = select(passages).where(passages.c.source_id == source_id).order_by(passages.c.ordinal)
    with database.read() as connection:
        rows = connection.execute(query.limit(_PASSAGES_READ)).all()
    yield from _offer(rows, title)


def _offer(rows: Sequence[Row[Any]], title: str = "") -> Iterator[Suggestion]:
    """Yield the questions that these passages answer, in their order."""
    around = Surroundings("\n".join(row.text for row in rows), title)
    for row in rows:
        for one in find_questions(row.text, row.heading, around):
            yield Suggestion(one.question, one.about, row.id)


def _read_newest_sources(database: Database, user: str | None) -> Sequence[Row[Any]]:
    newest: Select[Any] = select(sources.c.id, sources.c.title).order_by(sources.c.added_at.desc(), sources.c.id)
    with database.read() as connection:
        return connection.execute(newest.where(visible_rows(sources, user)).limit(_NEWEST_SOURCES)).all()


def _read_neighbours(database: Database, cited_ids: Sequence[int], user: str | None) -> Sequence[Row[Any]]:
    """Read the neighbours of the cited passages: ids of one source are consecutive, so nearby ids are nearby text."""
    ranges = [passages.c.id.between(one - _PASSAGES_BEFORE, one + _PASSAGES_AFTER) for one in cited_ids]
    own = select(passages.c.source_id).where(passages.c.id.in_(cited_ids), visible_rows(passages, user))
    query: Select[Any] = select(passages).where(passages.c.source_id.in_(own), or_(false(), *ranges))
    with database.read() as connection:
        return connection.execute(query).all()


def _distance_to_cited(row: Row[Any], cited_ids: Sequence[int]) -> tuple[int, int]:
    """Return the distance to the nearest cited passage; following passages come before preceding ones."""
    return min((abs(row.id - one), int(row.id < one)) for one in cited_ids)
