"""Settings from Streamlit's secrets, `.env` and the environment, in rising precedence; keys are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.errors import BadRequest
from crag.models.providers import export_keys, list_providers
from crag.settings import DEFAULT_LANGSMITH_URL, LangSmithAccount, Settings, load_settings, read_langsmith_account

KEYS = ("OPENAI_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "TAVILY_API_KEY", "LANGSMITH_TRACING")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, "")  # so that what a test puts there is taken away again
        monkeypatch.delenv(name)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    env, secrets = tmp_path / ".env", tmp_path / "secrets.toml"
    env.write_text("OPENAI_API_KEY=of-env\nTAVILY_API_KEY=tvly-x\nLANGSMITH_TRACING=true\nCRAG_EMBEDDER=builtin\n")
    secrets.write_text('OPENAI_API_KEY = "of-secrets"\nMISTRAL_API_KEY = "sk-mistral"\nport = 3\n[server]\nkey = "x"\n')
    return env, secrets


def test_keys_of_providers_come_from_both_files(files: tuple[Path, Path]) -> None:
    settings = load_settings(None, *files)
    assert dict(settings.keys) == {"OPENAI_API_KEY": "of-env", "MISTRAL_API_KEY": "sk-mistral"}
    assert settings.tavily_api_key == "tvly-x"
    assert "sk-mistral" not in repr(settings)
    assert "tvly" not in repr(settings)


def test_keys_are_exported_but_the_environment_wins(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("OPENAI_API_KEY", "of-environment")
    export_keys(load_settings(None, *files))
    assert (os.environ["OPENAI_API_KEY"], os.environ["MISTRAL_API_KEY"]) == ("of-environment", "sk-mistral")
    assert "LANGSMITH_TRACING" not in os.environ  # every prompt would be sent to another service


def test_providers_say_what_they_lack_without_their_keys(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk-secret")
    known = {provider.name: provider for provider in list_providers(load_settings(None, *files))}
    assert (known["mistralai"].key_present, known["groq"].key_present, known["cohere"].key_present) == (
        True,
        True,
        False,
    )
    assert (known["mistralai"].package, known["mistralai"].installed) == ("langchain-mistralai", False)
    assert known["openai"].key_variable == "OPENAI_API_KEY"
    assert "secret" not in repr(known)
    assert "sk-" not in repr(known)


def test_secrets_that_cannot_be_read_are_told_and_none_are_fine(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert load_settings(None, files[0], tmp_path / "none.toml").keys == {"OPENAI_API_KEY": "of-env"}
    files[1].write_text("OPENAI_API_KEY = sk-without-quotes")
    with pytest.raises(BadRequest) as error:
        load_settings(None, *files)
    assert "sk-without" not in str(error.value)


@pytest.mark.parametrize(
    ("host", "here"), [("http://127.0.0.1:1", True), ("http://[::1]:1", True), ("http://a:1", False)]
)
def test_where_ollama_is(host: str, here: bool) -> None:
    assert Settings(ollama_host=host).ollama_is_local == here


@pytest.mark.parametrize(
    ("value", "hosts", "external"),
    [
        ("0.0.0.0", ("http://127.0.0.1:11434",), ""),  # noqa: S104
        (
            "localhost:1, https://me:secret@gpu:443/,gpu2 , gpu2",
            ("http://localhost:1", "https://me:secret@gpu:443", "http://gpu2:11434"),
            "gpu:443, gpu2:11434",
        ),
    ],
)
def test_ollama_may_be_several_hosts(
    value: str, hosts: tuple[str, ...], external: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", value)
    settings = load_settings()
    assert (settings.ollama_hosts, settings.external_ollama_hosts) == (hosts, external)
    assert not external or settings.names_ollama_host(external)
    assert not settings.names_ollama_host("ollama.com")


@pytest.mark.parametrize("value", [",", "gpu:port", "gpu1,http://"])
def test_hosts_that_cannot_be_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", value)
    with pytest.raises(BadRequest, match="OLLAMA_HOST"):
        load_settings()


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
def test_a_bad_endpoint_is_refused_where_it_would_be_used(address):
    assert read(LANGSMITH_ENDPOINT=address).url == DEFAULT_LANGSMITH_URL
    with pytest.raises(BadRequest, match="LANGSMITH_ENDPOINT"):
        read(LANGSMITH_ENDPOINT=address, LANGSMITH_API_KEY="k")


@pytest.mark.parametrize("values", [{"LANGSMITH_API_KEY": "two words"}, {"CRAG_LANGSMITH": "yes"}])
def test_what_cannot_be_is_refused(values):
    with pytest.raises(BadRequest):
        read(**values)


def test_how_people_reach_the_server_and_log_in(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    files[1].write_text('[auth]\nclient_id = "crag"\nclient_secret = "hidden"\n')
    for name, value in {
        "CRAG_PEOPLE": "accounts",
        "CRAG_ADMINS": "root@example.org, ann@example.org",
        "CRAG_HOST": "0.0.0.0",  # noqa: S104
        "CRAG_PUBLIC_URL": "https://Crag.example.org:443/, http://10.0.0.5:8501",
        "CRAG_TRUSTED_PROXIES": "127.0.0.1, ::1",
        "CRAG_OPEN": "yes",
    }.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(None, *files)
    assert (settings.people, settings.host, settings.open) == ("accounts", "0.0.0.0", True)  # noqa: S104
    assert settings.admins == ("root@example.org", "ann@example.org")
    assert settings.public_urls == ("https://crag.example.org", "http://10.0.0.5:8501")
    assert settings.trusted_proxies == ("127.0.0.1", "::1")
    assert settings.login == {"client_id": "crag", "client_secret": "hidden"}
    assert "hidden" not in repr(settings)
    assert "client_secret" not in settings.keys


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRAG_PEOPLE", "everyone"),
        ("CRAG_HOST", "crag.example.org"),
        ("CRAG_PUBLIC_URL", "crag.example.org"),
        ("CRAG_PUBLIC_URL", "https://crag.example.org/chat"),
        ("CRAG_PUBLIC_URL", "https://user@crag.example.org"),
        ("CRAG_PUBLIC_URL", "https://crag.example.org:port"),
        ("CRAG_TRUSTED_PROXIES", "proxy"),
        ("CRAG_OPEN", "true"),
    ],
)
def test_what_would_open_the_server_by_mistake_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(BadRequest, match=name):
        load_settings()


def test_what_searches_the_web_is_the_first_that_is_set_up_or_the_one_named(files, monkeypatch):
    monkeypatch.setenv("CRAG_SEARXNG_URL", "https://user:secret@search.example/searx/")
    monkeypatch.setenv("BRAVE_API_KEY", "brave-secret")
    settings = load_settings(None, *files)
    assert (settings.web_search_provider, settings.searxng_url[-6:]) == ("tavily", "/searx")
    assert "secret" not in repr(settings)
    monkeypatch.setenv("CRAG_WEB_SEARCH", "searxng")
    assert load_settings(None, *files).web_search_provider == "searxng"
    monkeypatch.setenv("CRAG_WEB_SEARCH", "mcp")
    assert load_settings(None, *files).web_search_provider == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRAG_WEB_SEARCH", "google"),
        ("CRAG_SEARXNG_URL", "search.example:8080"),
        ("CRAG_SEARXNG_URL", "http:// search.example"),
        ("CRAG_BRAVE_URL", "ftp://brave.example"),
        ("CRAG_TAVILY_URL", "https://"),
        ("CRAG_TAVILY_URL", "https://tavily.example:99999"),
    ],
)
def test_a_search_that_cannot_be_is_refused_by_name(files, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(BadRequest, match=name):
        load_settings(None, *files)
