"""List and search of conversations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Column, ColumnElement, Connection, Select, func, or_, select

from crag.storage.row_security import visible_rows
from crag.storage.tables import conversations, messages, queued_questions
from crag.types import Conversation

_CHARACTERS_BEFORE, _CHARACTERS_AFTER = 30, 60  # characters around a match
_ANSWER_MARKUP = re.compile(r"\*\*|`+|(?<!#)#+ |\s?(?<!\\)\[\d{1,3}\]|\\(?=\[)")  # noise in a snippet of an answer


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a message around a match, on one line."""

    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class FoundConversations:
    """The first matching conversations, the total number, and snippets by conversation id."""

    conversations: list[Conversation]
    total: int
    snippets: dict[str, Snippet]


def visible_to(user: str | BindParameter[str] | None) -> ColumnElement[bool]:
    """Match conversations that the user may see (None: all of them). Deleted ones are visible to nobody.

    For runs outer-joined to their conversations, only None matches those without a conversation.
    """
    return conversations.c.deleted_at.is_(None) & visible_rows(conversations, user)


def select_listed(query: Select[Any], search: str, user: str | None) -> Select[Any]:
    """Limit a query to listed conversations, pinned ones first, then the latest."""
    return query.where(_is_listed(search, user)).order_by(
        conversations.c.pinned.desc(), conversations.c.updated_at.desc()
    )


def _is_listed(search: str, user: str | None) -> ColumnElement[bool]:
    """Match conversations that the user may see and that contain the search text, if any; empty ones do not match."""
    of_it = messages.c.conversation_id == conversations.c.id
    queued = queued_questions.c.conversation_id == conversations.c.id
    has_content = or_(select(messages.c.id).where(of_it).exists(), select(queued_questions.c.id).where(queued).exists())
    shown = has_content & visible_to(user)
    if not search:
        return shown
    in_text = select(messages.c.id).where(of_it, contains_text(messages.c.text, search)).exists()
    return shown & or_(contains_text(conversations.c.title, search), in_text)


def find_snippets(connection: Connection, conversation_ids: Sequence[str], search: str) -> dict[str, Snippet]:
    """Return the latest match in the messages of each conversation, by id. Conversations without one are omitted."""
    if not search:
        return {}
    among = messages.c.conversation_id.in_(conversation_ids)
    latest = select(func.max(messages.c.id)).where(among, contains_text(messages.c.text, search))
    chosen = latest.group_by(messages.c.conversation_id)
    rows = connection.execute(select(messages.c.conversation_id, messages.c.text).where(messages.c.id.in_(chosen)))
    found = {row.conversation_id: _make_snippet(row.text, search) for row in rows}
    return {conversation_id: snippet for conversation_id, snippet in found.items() if snippet}


def contains_text(column: Column[str], search: str) -> ColumnElement[bool]:
    """Match texts that contain `search`, ignoring case. `LIKE` cannot be used: it refuses 50,000 characters."""
    return func.instr(func.lower(column), search.lower()) > 0


def _make_snippet(text: str, search: str) -> Snippet | None:
    found = re.search(re.escape(search), text, re.IGNORECASE)
    if found is None:
        return None
    start, end = (
        _find_word_start(text, max(0, found.start() - _CHARACTERS_BEFORE), found.start()),
        found.end() + _CHARACTERS_AFTER,
    )
    before = ("…" if start else "") + text[start : found.start()]
    after = text[found.end() : end] + ("…" if end < len(text) else "")
    return Snippet(remove_answer_markup(before), remove_answer_markup(found.group()), remove_answer_markup(after))


def _find_word_start(text: str, start: int, at: int) -> int:
    """Return the start of the first whole word at or after `start`, or `start` if there is none before `at`."""
    cut = start and re.compile(r"(?<=\s)\S").search(text, start, at)
    return cut.start() if cut else start


def remove_answer_markup(text: str) -> str:
    """Return the text of an answer as one line without citations and marks of Markdown."""
    return re.sub(r"\s+", " ", _ANSWER_MARKUP.sub("", text))
