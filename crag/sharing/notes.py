"""Notes: texts that a user keeps, among them answers and passages with their sources."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row, delete, insert, or_, select, update

from crag.conversations.conversation_list import contains_text, visible_to
from crag.conversations.conversations import Conversations, title_of
from crag.errors import BadRequest, NotFound
from crag.runs.service import RunService
from crag.runs.trace import retitle
from crag.sharing.markdown import write_result_table
from crag.storage.engine import Database
from crag.storage.sources import read_source_titles
from crag.storage.tables import conversations, notes
from crag.storage.user_scope import UserScoped
from crag.text.sanitization import normalize_user_text
from crag.types import Citation, Passage

MAX_NOTE_LENGTH = 100_000  # characters
_SOURCES = TypeAdapter(tuple[Citation, ...])


@dataclass(frozen=True, slots=True)
class Note:
    """One note. `text` is Markdown; `[n]` in it is the source with this number.

    `conversation_id` is empty for a note that belongs to no conversation, or to one that was deleted. Times are in
    seconds since the epoch.
    """

    id: str
    conversation_id: str
    title: str
    text: str
    sources: tuple[Citation, ...]
    created_at: float
    updated_at: float


class Notes(UserScoped):
    """The notes of one home or of one user, newest first."""

    def __init__(self, database: Database, conversations: Conversations, runs: RunService) -> None:
        self._database = database
        self._conversations = conversations
        self._runs = runs

    def list(self, search: str = "", conversation_id: str = "") -> Sequence[Note]:
        """Return all notes, those that contain the search text, or those of one conversation."""
        query = select(notes).where(self._visible(notes)).order_by(notes.c.created_at.desc(), notes.c.id)
        if search.strip():
            found = (contains_text(one, search.strip()) for one in (notes.c.title, notes.c.text))
            query = query.where(or_(*found))
        if conversation_id:
            query = query.where(notes.c.conversation_id == conversation_id)
        with self._database.read() as connection:
            listed = [_note_from_row(row) for row in connection.execute(query)]
            cited = {source.source_id for note in listed for source in note.sources}
            titles = read_source_titles(connection, cited, self._user)
        return [replace(note, sources=tuple(retitle(one, titles) for one in note.sources)) for note in listed]

    def add(self, text: str, conversation_id: str = "") -> Note:
        """Keep a text of the user's own; its first line becomes the title. Raises `BadRequest`, `NotFound`."""
        if conversation_id:
            self._conversations.get(conversation_id)
        first, _, rest = normalize_user_text(text).partition("\n")
        return self._insert(conversation_id, first, rest if title_of(first) == first else text, ())

    def keep_answer(self, run_id: str) -> Note:
        """Keep an answer and its sources, titled by its question. Raises `NotFound`."""
        conversation = self._conversations.find_by_run(run_id)
        trace = self._runs.trace(run_id)
        text = trace.text
        if trace.table and not trace.table.is_figure:
            text += f"\n\n{write_result_table(trace.table)}"
        return self._insert(conversation.id if conversation else "", trace.question, text, trace.citations)

    def keep_passage(self, run_id: str, passage: Passage) -> Note:
        """Keep a passage of a run, titled by its document. Raises `NotFound`."""
        conversation = self._conversations.find_by_run(run_id)
        source = Citation(
            n=1,
            passage_id=passage.id,
            source_id=passage.source_id,
            title=passage.title,
            location=passage.location,
            page=passage.page,
            quote="",
            origin=passage.origin,
            sheet=passage.sheet,
        )
        quoted = "\n".join(f"> {line}".rstrip() for line in passage.text.strip().split("\n"))
        return self._insert(conversation.id if conversation else "", passage.title, f"{quoted} [1]", (source,))

    def get(self, note_id: str) -> Note:
        """Return one note. Raises `NotFound`."""
        with self._database.read() as connection:
            row = connection.execute(select(notes).where(notes.c.id == note_id, self._visible(notes))).first()
        if row is None:
            raise NotFound("This note no longer exists.")
        return _note_from_row(row)

    def edit(self, note: Note, title: str, text: str) -> None:
        """Change title and text; without a title the first line becomes it.

        Raises `BadRequest`, also if the note is no longer as it was read, and `NotFound`.
        """
        changes = {**_check_content(title, text), "updated_at": time.time()}
        as_read = notes.c.id == note.id, notes.c.updated_at == note.updated_at, self._visible(notes)
        with self._database.write() as connection:
            changed = connection.execute(update(notes).where(*as_read).values(changes))
        if changed.rowcount == 0:
            try:
                self.get(note.id)
            except NotFound as gone:
                raise NotFound(gone.message, "What you wrote can become a new one.") from gone
            raise BadRequest("This note has been changed elsewhere.", "Copy your text, then open the note again.")

    def remove(self, note_id: str) -> Note | None:
        """Remove a note for good, and return it as it was last. Ignores an unknown id."""
        gone = delete(notes).where(notes.c.id == note_id, self._visible(notes)).returning(*notes.c)
        with self._database.write() as connection:
            row = connection.execute(gone).first()
        return _note_from_row(row) if row else None

    def restore(self, note: Note) -> None:
        """Keep a removed note again, as its owner's. Ignores one that still exists."""
        with self._database.write() as connection:
            if connection.scalar(select(notes.c.id).where(notes.c.id == note.id)) is None:
                in_it = (conversations.c.id == note.conversation_id) & visible_to(self._user)
                conversation = connection.scalar(select(conversations.c.id).where(in_it))
                connection.execute(insert(notes).values(self._values(note) | {"conversation_id": conversation}))

    def _insert(self, conversation_id: str, title: str, text: str, sources: tuple[Citation, ...]) -> Note:
        now = time.time()
        content = _check_content(title, text)
        made = Note(uuid.uuid4().hex, conversation_id, **content, sources=sources, created_at=now, updated_at=now)
        with self._database.write() as connection:
            connection.execute(insert(notes).values(self._values(made)))
        return made

    def _values(self, note: Note) -> dict[str, Any]:
        return {
            "id": note.id,
            "person": self._user or "",
            "conversation_id": note.conversation_id or None,
            "title": note.title,
            "text": note.text,
            "sources": _SOURCES.dump_json(note.sources).decode(),
            "created_at": note.created_at,
            "updated_at": note.updated_at,
        }


def _check_content(title: str, text: str) -> dict[str, str]:
    title, text = normalize_user_text(title), normalize_user_text(text)
    if not (title or text):
        raise BadRequest("A note needs text.", "Write some and try again.")
    if len(text) > MAX_NOTE_LENGTH:
        raise BadRequest(f"A note may have {MAX_NOTE_LENGTH:,} characters.", "Shorten it, or split it in two.")
    return {"title": title_of(title or text.partition("\n")[0]), "text": text}


def _note_from_row(row: Row[Any]) -> Note:
    sources = _SOURCES.validate_json(row.sources)
    return Note(row.id, row.conversation_id or "", row.title, row.text, sources, row.created_at, row.updated_at)
