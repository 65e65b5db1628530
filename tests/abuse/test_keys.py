"""Keys are used and stay where they were written: no output, log, file, export or backup repeats them."""

import logging
import zipfile

import pytest

from crag.cli.main import main
from tests.doubles.openai import Completion, OpenAIServer
from tests.doubles.tavily import TavilyServer

KEYS = {name: f"{name.lower()}-7f3e9c1d" for name in ("TAVILY_API_KEY", "OPENAI_API_KEY", "LANGSMITH_API_KEY")}
PASSWORD = "pw-7f3e9c1d"
SECRET = b"7f3e9c1d"


def everything_below(folder):
    """Yield the content of each file, and of each file in an archive."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    yield from ((f"{path}!{name}", archive.read(name)) for name in archive.namelist())


@pytest.fixture
def servers(monkeypatch):
    """Both services refuse, and repeat the key in their refusal."""
    refusal = f"Incorrect API key provided: {KEYS['OPENAI_API_KEY']}"
    body = f'{{"detail": {{"error": "Unauthorized: {KEYS["TAVILY_API_KEY"]}"}}}}'.encode()
    with (
        OpenAIServer(usual=Completion(status=401, error=refusal, code="invalid_api_key")) as openai,
        TavilyServer(status=401, body=body) as tavily,
    ):
        for name, key in KEYS.items():
            monkeypatch.setenv(name, key)
        monkeypatch.setenv("OPENAI_BASE_URL", openai.url)
        monkeypatch.setenv("CRAG_TAVILY_URL", tavily.url)
        monkeypatch.setenv("LANGSMITH_ENDPOINT", f"http://somebody:{PASSWORD}@127.0.0.1:9")
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        monkeypatch.setenv("CRAG_LANGSMITH", "on")
        monkeypatch.setenv("CRAG_ALLOW_PRIVATE_URLS", "127.0.0.1/32")
        monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
        yield openai, tavily


def test_no_key_is_repeated_anywhere(servers, tmp_path, monkeypatch, capfd, caplog):
    openai, tavily = servers
    caplog.set_level(logging.DEBUG, "crag")
    home, notes = tmp_path / "home", tmp_path / "notes.md"
    monkeypatch.chdir(tmp_path)
    notes.write_text("The espresso machine is descaled every six weeks with citric acid.")
    commands = [
        ["add", str(notes)],
        ["add", f"http://somebody:{PASSWORD}@127.0.0.1:9/page"],
        ["ask", "Who won the 2024 NBA finals?", "--web", "auto"],
        ["ask", "What is the machine descaled with?", "--model", "openai:gpt-4o-mini", "--conversation", "new"],
        ["ask", "What is the machine descaled with?", "--json", "--conversation", "new"],
        *(["doctor"], ["settings"], ["ledger"], ["conversations"], ["models"], ["list"]),
        ["export", str(tmp_path / "passages.jsonl"), "--format", "jsonl"],
        ["backup", str(tmp_path / "saved")],
    ]
    for command in commands:
        main([*command, "--home", str(home)])
    assert tavily.requests, "the key was used"
    assert openai.keys, "the key was used"
    said = "".join(capfd.readouterr()) + caplog.text
    assert "descaled" in said
    assert SECRET.decode() not in said
    assert [name for name, content in everything_below(tmp_path) if SECRET in content] == []
