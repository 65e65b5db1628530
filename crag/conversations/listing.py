"""Which conversations a list shows: those of a person, with what is sought in their title or text, and where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, func, or_, select, true

from crag.database.tables import conversations, messages
from crag.types import Conversation

_BEFORE, _AFTER = 30, 60  # characters around a match
_MARKUP = re.compile(r"\*\*|`+|#+ |\s?\[\d{1,3}\]")  # of answers: it only disturbs


@dataclass(frozen=True, slots=True)
class Snippet:
    """Where something was found: a piece of a message, on one line."""

    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class Found:
    """The first of the conversations that were found, how many there are in all, and by id where in their text."""

    conversations: list[Conversation]
    total: int
    snippets: dict[str, Snippet]


def visible(person: str | None) -> ColumnElement[bool]:
    """What a person may see (None: whoever has this home may see all); what was deleted nobody does.

    Of runs, outer-joined to their conversations, those of no conversation are seen by None alone.
    """
    return conversations.c.deleted_at.is_(None) & (true() if person is None else conversations.c.person == person)


def ordered(query: Select[Any], search: str, person: str | None) -> Select[Any]:
    """Of all conversations that are listed: pinned ones first, then the latest."""
    return query.where(_listed(search, person)).order_by(
        conversations.c.pinned.desc(), conversations.c.updated_at.desc()
    )


def _listed(search: str, person: str | None) -> ColumnElement[bool]:
    """Those that a person may see and that were used, with what is sought; all of them where nothing is."""
    of_it = messages.c.conversation_id == conversations.c.id
    shown = select(messages.c.id).where(of_it).exists() & visible(person)
    if not search:
        return shown
    in_text = select(messages.c.id).where(of_it, holds(messages.c.text, search)).exists()
    return shown & or_(holds(conversations.c.title, search), in_text)


def snippets(connection: Connection, conversation_ids: Sequence[str], search: str) -> dict[str, Snippet]:
    """By conversation where its latest message that holds what is sought does; only those that have one."""
    if not search:
        return {}
    among = messages.c.conversation_id.in_(conversation_ids)
    latest = select(func.max(messages.c.id)).where(among, holds(messages.c.text, search))
    chosen = latest.group_by(messages.c.conversation_id)
    rows = connection.execute(select(messages.c.conversation_id, messages.c.text).where(messages.c.id.in_(chosen)))
    found = {row.conversation_id: _snippet(row.text, search) for row in rows}
    return {conversation_id: snippet for conversation_id, snippet in found.items() if snippet}


def holds(column: Column[str], search: str) -> ColumnElement[bool]:
    """Whether a text has this in it, whatever the case and however long it is: `LIKE` refuses 50,000 characters.

    Both cases of letters beyond ASCII only a regular expression knows.
    """
    if search.isascii():
        return func.instr(func.lower(column), search.lower()) > 0
    return column.regexp_match(f"(?i){re.escape(search)}")


def _snippet(text: str, search: str) -> Snippet | None:
    found = re.search(re.escape(search), text, re.IGNORECASE)
    if found is None:
        return None
    start, end = _whole_words(text, max(0, found.start() - _BEFORE), found.start()), found.end() + _AFTER
    before = ("…" if start else "") + text[start : found.start()]
    after = text[found.end() : end] + ("…" if end < len(text) else "")
    return Snippet(_line(before), _line(found.group()), _line(after))


def _whole_words(text: str, start: int, at: int) -> int:
    """Where the first whole word from `start` on begins; `start` where there is none before `at`."""
    cut = start and re.compile(r"(?<=\s)\S").search(text, start, at)
    return cut.start() if cut else start


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", _MARKUP.sub("", text))
