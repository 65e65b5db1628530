"""Settings from Streamlit's secrets, `.env` and the environment, the later before the earlier; keys are never shown."""

from pathlib import Path

import pytest

from crag.errors import BadRequest
from crag.models.providers import export_keys, list_providers
from crag.settings import Settings, load_settings

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


def test_they_are_provided_for_packages_and_the_environment_comes_first(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
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
