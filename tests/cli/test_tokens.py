"""The commands for the tokens of programs."""

import pytest


def test_a_token_is_made_listed_and_revoked(crag):
    code, made = crag("tokens", "make", "editor", "--scope", "read")
    assert (code, made["token"]["scopes"]) == (0, ["read"])
    _, listed = crag("tokens")
    assert [one["name"] for one in listed["tokens"]] == ["editor"]
    assert made["token"]["secret"] not in str(listed)
    assert crag("tokens", "revoke", made["token"]["id"])[0] == 0
    assert crag("tokens", "list")[1] == {"tokens": []}


@pytest.mark.parametrize("command", [("tokens", "make", "editor"), ("mcp", "--http", "9")])
def test_where_people_log_in_the_owner_of_a_token_is_named(crag, monkeypatch, command):
    monkeypatch.setenv("CRAG_PEOPLE", "accounts")
    code, refused = crag(*command)
    assert code == 1
    assert "--as EMAIL" in refused["error"]["message"]
    assert crag("tokens", "list")[1] == {"tokens": []}
