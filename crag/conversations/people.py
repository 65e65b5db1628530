"""Owners of conversations: claimed after an update, transferred between browsers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Update, func, select, update

from crag.database import Database
from crag.database.tables import conversations, departures
from crag.errors import BadRequest
from crag.person_keys import is_key

_SOMEBODYS = conversations.c.person != ""
_WITH_QUESTIONS = ("web search", "model", "embedding")  # kinds of outbound records that contain questions


class People:
    """Owners of conversations in one home, each identified by the key of a browser."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self) -> int:
        """Return the number of users who have conversations."""
        query = select(func.count(conversations.c.person.distinct())).where(_SOMEBODYS)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def adopt(self, person: str) -> None:
        """Give this user all conversations without an owner. Does nothing once any conversation has an owner."""
        anybodys = select(conversations.c.id).where(~_SOMEBODYS).limit(1)
        somebodys = select(conversations.c.id).where(_SOMEBODYS).limit(1)
        with self._database.read() as connection:  # called on each visit, which should rarely wait for the write lock
            if connection.execute(anybodys).first() is None or connection.execute(somebodys).first():
                return
        with self._database.write() as connection:
            if connection.execute(somebodys).first() is None:
                connection.execute(update(conversations).values(person=person))
                asked = departures.c.kind.in_(_WITH_QUESTIONS) & (departures.c.person == "")
                connection.execute(update(departures).where(asked).values(person=person))

    def give(self, to: str, conversation_ids: Sequence[str]) -> int:
        """Transfer conversations to the user with this key, and return how many.

        Raises `BadRequest` if it is not a key.
        """
        with self._database.write() as connection:
            return connection.execute(_giving(to).where(conversations.c.id.in_(conversation_ids))).rowcount

    def give_all(self, to: str) -> int:
        """Transfer all conversations and their outbound records; return the number of conversations.

        Raises `BadRequest`.
        """
        sent = update(departures).where(departures.c.person != "").values(person=to)
        with self._database.write() as connection:
            connection.execute(sent)
            return connection.execute(_giving(to)).rowcount


def _giving(to: str) -> Update:
    if not is_key(to):
        raise BadRequest("This is not the key of a browser.", "Copy the one that its Settings show, under Privacy.")
    return update(conversations).values(person=to)
