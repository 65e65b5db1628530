"""LangSmith's variables: from the environment and `.env`, under their new names and their old; what cannot be."""

from __future__ import annotations

import pytest

from crag.errors import BadRequest
from crag.settings import DEFAULT_LANGSMITH_URL, LangSmithAccount, load_settings, read_langsmith_account


def read(**values: str) -> LangSmithAccount:
    return read_langsmith_account(lambda name: values.get(name, ""))


def test_nothing_is_set():
    assert read() == LangSmithAccount()
    assert (read().url, read().host) == (DEFAULT_LANGSMITH_URL, "api.smith.langchain.com")


def test_the_new_names_win_over_the_old():
    given = read(
        LANGSMITH_API_KEY="new", LANGCHAIN_API_KEY="old", LANGCHAIN_PROJECT="mine", LANGCHAIN_TRACING_V2="true"
    )
    assert (given.key, given.project, given.tracing) == ("new", "mine", True)
    assert not read(LANGSMITH_TRACING="false").tracing


def test_env_is_read_and_the_key_is_never_told(tmp_path, monkeypatch):
    env = tmp_path / ".env"
    env.write_text("LANGSMITH_API_KEY=lsv2_secret\nLANGSMITH_ENDPOINT=https://me:word@example.org/api/v1/\n")
    settings = load_settings(tmp_path, env, tmp_path / "none.toml")
    assert settings.langsmith.key == "lsv2_secret"
    assert settings.langsmith.host == "example.org"
    assert settings.langsmith.web_url == "https://example.org"
    assert not {"lsv2_secret", "word"} & set(repr(settings).replace(":", "'").split("'"))
    assert "lsv2_secret" not in repr(settings)
    assert "LANGSMITH_API_KEY" not in settings.keys


@pytest.mark.parametrize("address", ["example.org", "file:///etc", "http://", "http://example.org:99999"])
def test_an_endpoint_that_is_none_is_refused_where_it_would_be_used(address):
    assert read(LANGSMITH_ENDPOINT=address).url == DEFAULT_LANGSMITH_URL
    with pytest.raises(BadRequest, match="LANGSMITH_ENDPOINT"):
        read(LANGSMITH_ENDPOINT=address, LANGSMITH_API_KEY="k")


@pytest.mark.parametrize("values", [{"LANGSMITH_API_KEY": "two words"}, {"CRAG_LANGSMITH": "yes"}])
def test_what_cannot_be_is_refused(values):
    with pytest.raises(BadRequest):
        read(**values)
