"""Tokens with which programs use the API, and their answers to repeated requests."""

from __future__ import annotations

import hashlib
import secrets
import time
import uuid
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import Row, delete, insert, select, update

from crag.errors import BadRequest, HomeFault, NotFound
from crag.storage.engine import Database, see_everything
from crag.storage.tables import api_replies, api_tokens
from crag.storage.user_scope import UserScoped
from crag.types import strip_unstorable

Scope = Literal["ask", "read", "write", "web"]
SCOPES: dict[Scope, str] = {
    "ask": "ask questions",
    "read": "read documents, answers and evaluations",
    "write": "add and remove documents",
    "web": "allow a waiting web search",
}
_PREFIX = "crag_"
_MAX_NAME_LENGTH = 80
_SECONDS_BETWEEN_USES = 60.0  # of what is stored as the last use
_REPLY_SECONDS, _CLAIM_SECONDS = 24 * 3600.0, 60.0


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token without its secret. `user` is whose it is; None for the owner of the home. Times are in epoch seconds."""

    id: str
    user: str | None
    name: str
    scopes: frozenset[Scope]
    created_at: float
    used_at: float | None


class ApiTokens(UserScoped):
    """The tokens of one home or of one user. A secret is returned once; the database holds its SHA-256."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def make(self, name: str, scopes: Collection[str]) -> tuple[ApiToken, str]:
        """Make a token; return it with its secret. Raises `BadRequest` without a name or a known scope."""
        name = strip_unstorable(name).strip()[:_MAX_NAME_LENGTH]
        if not name:
            raise BadRequest("A token needs a name.", "Name the program that will use it.")
        if not scopes or not set(scopes) <= set(get_args(Scope)):
            raise BadRequest("A token needs at least one permission.", f"Choose from: {', '.join(SCOPES)}.")
        secret, now = f"{_PREFIX}{secrets.token_urlsafe(32)}", time.time()
        row = {"id": uuid.uuid4().hex, "person": self._user or "", "name": name, "created_at": now}
        values = row | {"digest": _digest(secret), "scopes": " ".join(one for one in SCOPES if one in scopes)}
        with self._database.write() as connection:
            connection.execute(insert(api_tokens).values(**values))
            made = connection.execute(select(api_tokens).where(api_tokens.c.id == row["id"])).one()
        return _token_from_row(made), secret

    def list(self) -> list[ApiToken]:
        """Return the tokens, newest first."""
        query = select(api_tokens).where(self._visible(api_tokens)).order_by(api_tokens.c.created_at.desc())
        with self._database.read() as connection:
            return [_token_from_row(row) for row in connection.execute(query)]

    def revoke(self, token_id: str) -> None:
        """Delete a token, which opens nothing from now on. Raises `NotFound`."""
        gone = delete(api_tokens).where(api_tokens.c.id == token_id, self._visible(api_tokens))
        with self._database.write() as connection:
            if connection.execute(gone).rowcount == 0:
                raise NotFound("This token no longer exists.")

    def find(self, secret: str) -> ApiToken | None:
        """Return the token with this secret, of any user, and note that it was used."""
        now = time.time()
        with self._database.read() as connection:
            row = connection.execute(select(api_tokens).where(api_tokens.c.digest == _digest(secret))).first()
        if row is None:
            return None
        if row.used_at is None or now - row.used_at > _SECONDS_BETWEEN_USES:
            with suppress(HomeFault), self._database.write() as connection:  # on a full disk, it may still read
                connection.execute(update(api_tokens).where(api_tokens.c.id == row.id).values(used_at=now))
        return _token_from_row(row)


class ApiReplies:
    """Replies to requests that named an idempotency key, kept for a day for each token."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, token_id: str, key: str, request: str) -> tuple[str, str] | None:
        """Return the digest of the request that came first with this key, and its reply, empty while it is running.

        None if this is the first one: the caller then acts and calls `put`, or `release` if that fails. A claim
        without a reply expires after a minute: its process may have died.
        """
        its, now = api_replies.c, time.time()
        same = (its.token_id == token_id) & (its.key == key)
        with self._database.write() as connection:
            abandoned = (its.reply == "") & (its.at <= now - _CLAIM_SECONDS)
            with see_everything(connection):
                connection.execute(delete(api_replies).where(abandoned | (its.at <= now - _REPLY_SECONDS)))
            if row := connection.execute(select(its.request, its.reply).where(same)).first():
                return row.request, row.reply
            values = {"token_id": token_id, "key": key, "request": request, "reply": "", "at": now}
            connection.execute(insert(api_replies).values(**values))
        return None

    def put(self, token_id: str, key: str, reply: str) -> None:
        """Keep the reply to a claimed request."""
        its = api_replies.c
        mine = update(api_replies).where(its.token_id == token_id, its.key == key)
        with self._database.write() as connection:
            connection.execute(mine.values(reply=reply))

    def release(self, token_id: str, key: str) -> None:
        """Let another request have a claimed key."""
        its = api_replies.c
        with self._database.write() as connection:
            connection.execute(delete(api_replies).where(its.token_id == token_id, its.key == key, its.reply == ""))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()  # of 32 random bytes, which nobody can guess


def _token_from_row(row: Row[Any]) -> ApiToken:
    scopes = frozenset(row.scopes.split())
    return ApiToken(row.id, row.person or None, row.name, scopes, row.created_at, row.used_at)
