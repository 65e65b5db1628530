"""Tokens of programs, and the replies to their repeated requests."""

from crag.storage.api_tokens import ApiTokens
from crag.storage.engine import Database


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
