"""Follow-up questions about passages near those that an answer cites, on what it did not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from sqlalchemy import Row, Select, false, or_, select

from crag.database import Database
from crag.database.tables import passages
from crag.language import terms
from crag.library.questions import as_question, bare_heading
from crag.library.topics import topics_of
from crag.prompts.language import detect_written
from crag.types import Passage

_BEFORE, _BEHIND = 3, 8  # passages around a used one
_MOST_CHECKED = 8

Search = Callable[[str], Sequence[Passage]]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question, its subject (`about`), and the passages any of which answers it."""

    question: str
    about: str
    answered_by: frozenset[int]


def follow_ups(
    database: Database, search: Search, used: Sequence[int], said: str, asked: Sequence[str], n: int
) -> list[str]:
    """Suggest at most `n` questions about what the answer `said`, which cites the passages `used`, does not say.

    Each question finds its own passage by `search`, repeats none of those `asked`, and has a subject of its own.
    """
    found: list[str] = []
    heard = set(terms(" ".join([said, *asked])))
    for one in list(_unsaid(candidates(database, used), heard))[:_MOST_CHECKED]:
        if len(found) < n and not one.answered_by.isdisjoint(passage.id for passage in search(one.question)):
            found.append(one.question)
    return found


def candidates(database: Database, used: Sequence[int]) -> list[FollowUp]:
    """Return all questions that the neighbours of these passages offer, nearest first, headings and topics in turn."""
    rows = sorted(_surroundings(database, used), key=lambda row: _distance(row, used))
    return [one for one in chain.from_iterable(zip_longest(_of_headings(rows, used), _of_topics(rows))) if one]


def _unsaid(offered: Sequence[FollowUp], heard: set[str]) -> Iterator[FollowUp]:
    """Yield the questions whose subject neither the answer nor an earlier question covers."""
    heard = set(heard)
    for one in offered:
        about = set(terms(one.about))
        if about and not about <= heard:
            heard |= about
            yield one


def _surroundings(database: Database, used: Sequence[int]) -> Sequence[Row[Any]]:
    """Read the neighbours of the used passages: ids of one source are consecutive, so nearby ids are nearby text."""
    ranges = [passages.c.id.between(one - _BEFORE, one + _BEHIND) for one in used]
    own = select(passages.c.source_id).where(passages.c.id.in_(used))
    query: Select[Any] = select(passages).where(passages.c.source_id.in_(own), or_(false(), *ranges))
    with database.read() as connection:
        return connection.execute(query).all()


def _distance(row: Row[Any], used: Sequence[int]) -> tuple[int, int]:
    """Return the distance to the nearest used passage; following passages come before preceding ones."""
    return min((abs(row.id - one), int(row.id < one)) for one in used)


def _of_headings(rows: Sequence[Row[Any]], used: Sequence[int]) -> Iterator[FollowUp]:
    """Yield a question for each heading that covers no used passage; any passage under it answers the question."""
    known = {row.heading for row in rows if row.id in used}
    for heading in dict.fromkeys(row.heading for row in rows if row.heading not in known):
        if bare := bare_heading(heading):
            under = [row for row in rows if row.heading == heading]
            question = as_question(bare, detect_written(under[0].text))
            yield FollowUp(question, bare, frozenset(row.id for row in under))


def _of_topics(rows: Sequence[Row[Any]]) -> Iterator[FollowUp]:
    around = "\n".join(row.text for row in rows)
    for row in rows:
        for topic in topics_of(row.text, around):
            question = topic.question or as_question(topic.name, detect_written(row.text))
            yield FollowUp(question, topic.name, frozenset({row.id}))
