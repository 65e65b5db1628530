"""Accounts: people as their identity provider knows them."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from itertools import count
from typing import Any

from sqlalchemy import Connection, Row, case, insert, select, update

from crag.errors import NotFound
from crag.storage.engine import Database
from crag.storage.sources import OWNER_SEPARATOR, advance_epoch, ensure_collection
from crag.storage.tables import collections, users
from crag.types import DEFAULT_COLLECTION, Account, Identity, fold_email, new_account_id, strip_unstorable

_NOT_IN_HANDLES = re.compile(r"[^a-z0-9._-]+")
_MAX_HANDLE_LENGTH = 30


class Accounts:
    """The accounts of one home. Those whose e-mail is among `admins` are administrators."""

    def __init__(self, database: Database, admins: Collection[str] = ()) -> None:
        self._database = database
        self._admins = frozenset(fold_email(admin) for admin in admins)

    def apply_roles(self) -> None:
        """Give every account the role that the settings say now."""
        role = case((users.c.email.in_(self._admins), "admin"), else_="member")
        with self._database.write() as connection:
            connection.execute(update(users).values(role=role))

    def log_in(self, identity: Identity) -> Account:
        """Return the account of somebody who has just logged in; at the first time, create it with a collection."""
        known = (users.c.issuer == identity.issuer) & (users.c.subject == identity.subject)
        email = fold_email(identity.email)
        values = {"email": email, "name": strip_unstorable(identity.name), "last_seen": time.time()}
        values["role"] = "admin" if email in self._admins else "member"
        with self._database.write() as connection:
            row = connection.execute(select(users).where(known)).first()
            if row is None:
                user = new_account_id()
                identified = {"issuer": identity.issuer, "subject": identity.subject, "first_seen": values["last_seen"]}
                new = {"id": user, "handle": _choose_handle(connection, email), **identified, **values}
                connection.execute(insert(users), new)
                ensure_collection(connection, f"{new['handle']}{OWNER_SEPARATOR}{DEFAULT_COLLECTION}", user)
            else:
                connection.execute(update(users).where(known).values(values))
            if row is None or row.email != email:
                advance_epoch(connection)  # caches remember what a user may search
            return _account_from_row(connection.execute(select(users).where(known)).one())

    def get(self, user: str) -> Account:
        """Return the account with this id. Raises `NotFound`."""
        with self._database.read() as connection:
            row = connection.execute(select(users).where(users.c.id == user)).first()
        if row is None:
            raise NotFound("This account no longer exists.", "Log in again.")
        return _account_from_row(row)

    def find(self, email: str) -> Account:
        """Return the account that was last seen with this e-mail address. Raises `NotFound`."""
        wanted = select(users).where(users.c.email == fold_email(email)).order_by(users.c.last_seen.desc())
        with self._database.read() as connection:
            row = connection.execute(wanted).first()
        if row is None:
            raise NotFound(f"Nobody with the e-mail address {email} has logged in yet.", "Check the address.")
        return _account_from_row(row)


def _choose_handle(connection: Connection, email: str) -> str:
    """Return the first part of an e-mail address, with a number if it is taken or begins the name of a collection."""
    base = _NOT_IN_HANDLES.sub("-", email.partition("@")[0])[:_MAX_HANDLE_LENGTH].strip("-.") or "user"
    for number in count(1):
        handle = base if number == 1 else f"{base}-{number}"
        named = collections.c.name.startswith(f"{handle}{OWNER_SEPARATOR}", autoescape=True)
        taken = select(users.c.id).where(users.c.handle == handle), select(collections.c.name).where(named)
        if not any(connection.execute(query).first() for query in taken):
            return handle
    raise AssertionError  # count never ends


def _account_from_row(row: Row[Any]) -> Account:
    return Account(row.id, row.email, row.name, row.handle, row.role)
