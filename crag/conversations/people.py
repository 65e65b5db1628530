"""Whose the conversations of a home are: taken over after an update, handed from one browser to another."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Update, func, select, update

from crag.database import Database
from crag.database.tables import conversations, departures
from crag.errors import BadRequest
from crag.person_keys import is_key

_SOMEBODYS = conversations.c.person != ""
_WITH_QUESTIONS = ("web search", "model", "embedding")  # the departures that tell what somebody asked


class People:
    """Those who have conversations in one home, each known by the key of a browser."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self) -> int:
        """How many people have conversations here."""
        query = select(func.count(conversations.c.person.distinct())).where(_SOMEBODYS)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def adopt(self, person: str) -> None:
        """Gives this person what was asked before anybody had a key; nothing once one conversation has a person."""
        anybodys = select(conversations.c.id).where(~_SOMEBODYS).limit(1)
        somebodys = select(conversations.c.id).where(_SOMEBODYS).limit(1)
        with self._database.read() as connection:  # each visit asks; hardly any has to wait in line to write
            if connection.execute(anybodys).first() is None or connection.execute(somebodys).first():
                return
        with self._database.write() as connection:
            if connection.execute(somebodys).first() is None:
                connection.execute(update(conversations).values(person=person))
                asked = departures.c.kind.in_(_WITH_QUESTIONS) & (departures.c.person == "")
                connection.execute(update(departures).where(asked).values(person=person))

    def give(self, to: str, conversation_ids: Sequence[str]) -> int:
        """Hands conversations over to the person with this key; how many. Raises `BadRequest` without a key."""
        with self._database.write() as connection:
            return connection.execute(_giving(to).where(conversations.c.id.in_(conversation_ids))).rowcount

    def give_all(self, to: str) -> int:
        """Hands over every conversation, and what was sent for them; how many conversations. Raises `BadRequest`."""
        sent = update(departures).where(departures.c.person != "").values(person=to)
        with self._database.write() as connection:
            connection.execute(sent)
            return connection.execute(_giving(to)).rowcount


def _giving(to: str) -> Update:
    if not is_key(to):
        raise BadRequest("This is not the key of a browser.", "Copy the one that its Settings show, under Privacy.")
    return update(conversations).values(person=to)
