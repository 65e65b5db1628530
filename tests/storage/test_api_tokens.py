"""Tokens of programs, and the replies to their repeated requests."""

import pytest

from crag.errors import BadRequest
from crag.storage.api_tokens import ApiReplies, ApiTokens
from crag.storage.engine import Database


@pytest.mark.parametrize(("name", "scopes"), [(" ", ["read"]), ("a", []), ("a", ["read", "everything"])])
def test_a_token_needs_a_name_and_known_scopes(tmp_path, name, scopes):
    database = Database(tmp_path)
    with pytest.raises(BadRequest):
        ApiTokens(database).make(name, scopes)
    database.close()


def test_each_key_of_a_token_has_its_own_reply(tmp_path):
    database = Database(tmp_path)
    token, _ = ApiTokens(database).make("a program", ["write"])
    replies = ApiReplies(database)
    for key in "ab":
        assert replies.claim(token.id, key, f"request {key}") is None
    replies.put(token.id, "a", "reply a")
    assert replies.claim(token.id, "a", "") == ("request a", "reply a")
    assert replies.claim(token.id, "b", "") == ("request b", "")
    database.close()


def test_a_token_opens_the_home_while_its_use_cannot_be_noted(tmp_path):
    database = Database(tmp_path)
    tokens = ApiTokens(database)
    made, secret = tokens.make("a program", ["read"])
    for is_full in (1, 0):
        with database.read() as connection:
            connection.exec_driver_sql(f"PRAGMA query_only = {is_full}")  # the pool hands this connection out again
        assert tokens.find(secret).id == made.id
        assert (tokens.list()[0].used_at is None) == is_full
    database.close()


def test_only_the_token_that_is_used_is_noted_as_used(tmp_path):
    database = Database(tmp_path)
    tokens = ApiTokens(database)
    _, secret = tokens.make("used", ["read"])
    tokens.make("unused", ["read"])
    tokens.find(secret)
    assert [one.name for one in tokens.list() if one.used_at] == ["used"]
    database.close()
