"""What to ask next: what stands beside the passages that an answer used, and what it did not say of them."""

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

_BEFORE, _BEHIND = 3, 8  # passages beside a used one
_MOST_CHECKED = 8

Search = Callable[[str], Sequence[Passage]]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question with the passages of which any answers it; `about` is what it asks about."""

    question: str
    about: str
    answered_by: frozenset[int]


def follow_ups(
    database: Database, search: Search, used: Sequence[int], said: str, asked: Sequence[str], n: int
) -> list[str]:
    """At most `n` questions about what `said`, an answer resting on the passages `used`, does not say.

    Each finds the passage that it is drawn from by `search`, is none of those `asked`, and is about something else than
    the others.
    """
    found: list[str] = []
    heard = set(terms(" ".join([said, *asked])))
    for one in list(_unsaid(candidates(database, used), heard))[:_MOST_CHECKED]:
        if len(found) < n and not one.answered_by.isdisjoint(passage.id for passage in search(one.question)):
            found.append(one.question)
    return found


def candidates(database: Database, used: Sequence[int]) -> list[FollowUp]:
    """Every question that the surroundings of these passages offer: headings and topics in turn, the nearest first."""
    rows = sorted(_surroundings(database, used), key=lambda row: _distance(row, used))
    return [one for one in chain.from_iterable(zip_longest(_of_headings(rows, used), _of_topics(rows))) if one]


def _unsaid(offered: Sequence[FollowUp], heard: set[str]) -> Iterator[FollowUp]:
    """Those about something that was not heard of yet, nor asked about by one before."""
    heard = set(heard)
    for one in offered:
        about = set(terms(one.about))
        if about and not about <= heard:
            heard |= about
            yield one


def _surroundings(database: Database, used: Sequence[int]) -> Sequence[Row[Any]]:
    """The passages beside those that were used: ids of one source follow each other, so they tell what is near."""
    beside = [passages.c.id.between(one - _BEFORE, one + _BEHIND) for one in used]
    own = select(passages.c.source_id).where(passages.c.id.in_(used))
    query: Select[Any] = select(passages).where(passages.c.source_id.in_(own), or_(false(), *beside))
    with database.read() as connection:
        return connection.execute(query).all()


def _distance(row: Row[Any], used: Sequence[int]) -> tuple[int, int]:
    """How far a passage is from the nearest used one; what follows comes before what precedes."""
    return min((abs(row.id - one), int(row.id < one)) for one in used)


def _of_headings(rows: Sequence[Row[Any]], used: Sequence[int]) -> Iterator[FollowUp]:
    """One for each heading that no used passage stands under, answered by any passage under it."""
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
