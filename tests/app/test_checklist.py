"""The set-up checklist over a real library and real HTTP: what it finds, and the action it suggests."""

import shutil
import subprocess
from dataclasses import replace

import pytest

from crag.app import checklist
from tests.applications import opening
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_registry import Mishap
from tests.doubles.ollama_values import LLAMA, NOMIC, Model
from tests.waiting import PATIENCE

FIRST = ["Built-in engine", "Llama 3 on Ollama", "Nomic embeddings", "Web search"]
HUGE = Model("llama3.3:70b", size=43_000_000_000_000, digest="9" * 64)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    with opening(tmp_path / "home", chat_model="auto", embedder="auto") as open_:
        yield open_


def checked(application):
    return {check.name: check for check in application.checks()}


@pytest.fixture
def ollama():
    with ScriptedOllama(models=[]) as server:
        yield server


def test_an_empty_machine_is_told_what_to_install(opened, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    checks = checked(opened())
    assert list(checks)[:4] == FIRST
    llama = checks["Llama 3 on Ollama"]
    assert (llama.status, llama.action.kind) == ("warn", "command")
    assert "not reachable at 127.0.0.1:" in llama.detail
    assert checks["Nomic embeddings"].action.target == "nomic"
    assert checks["Web search"].action.commands.startswith("TAVILY_API_KEY=")
    assert "tesseract" in checks["Scans"].action.commands
    assert "pip install" in checks["Scans"].action.commands
    assert all(check.fix for check in checks.values() if check.status != "ok")


def test_an_ollama_that_is_installed_is_only_to_be_started(opened, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == "ollama" else None)
    assert checked(opened())["Llama 3 on Ollama"].action.commands == "ollama serve"


def test_a_remote_ollama_is_not_taken_as_installed_here(opened):
    llama = checked(opened(ollama_host="http://ollama.invalid:11434"))["Llama 3 on Ollama"]
    assert llama.action.kind == "key"
    assert llama.action.commands.startswith("OLLAMA_HOST=")


@pytest.mark.parametrize(
    ("platform", "command"), [("linux", "install.sh"), ("darwin", "brew install ollama"), ("win32", "winget install")]
)
def test_the_command_is_that_of_the_system(opened, monkeypatch, platform, command):
    application = opened()
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert command in checked(application)["Llama 3 on Ollama"].action.commands


def test_a_missing_model_is_offered_and_the_list_then_passes(opened, ollama):
    application = opened(ollama_host=ollama.url)
    name, size = application.ollama.recommended()
    llama = checked(application)["Llama 3 on Ollama"]
    assert llama.action.target == f"ollama:{name}"
    assert llama.action.label.startswith("Get Llama 3")
    assert f"{size / 1e9:.1f} GB" in llama.action.label
    assert f"ollama pull {name}" in llama.fix
    application.downloads.start(llama.action.target)
    assert application.downloads.wait(llama.action.target, PATIENCE).state == "done"
    assert checked(application)["Llama 3 on Ollama"].status == "ok"
    assert application.model_choice().name == llama.action.target


def test_a_download_that_was_begun_is_the_one_to_go_on_with(opened, ollama):
    application = opened(ollama_host=ollama.url)
    ollama.registry["llama3.2:1b"].mishaps.append(Mishap(0.5, "error", "no space left on device"))
    application.downloads.start("ollama:llama3.2:1b")
    assert application.downloads.wait("ollama:llama3.2:1b", PATIENCE).state == "failed"
    assert checked(application)["Llama 3 on Ollama"].action.target == "ollama:llama3.2:1b"


@pytest.mark.parametrize(
    ("version", "status", "words"),
    [("0.4.7", "warn", "0.5"), ("0.12.10", "warn", "0.12.11"), ("0.12.11", "ok", ""), ("0.30.11-rc1", "ok", "")],
)
def test_an_old_server_comes_with_its_update_command(opened, ollama, version, status, words):
    ollama.version = version
    check = checked(opened(ollama_host=ollama.url))["Ollama's version"]
    assert (check.status, words in check.detail) == (status, True)
    assert (check.action is None) == (status == "ok")


def test_a_version_that_says_nothing_is_not_complained_about(opened, ollama):
    ollama.version = "0.0.0"
    assert "Ollama's version" not in checked(opened(ollama_host=ollama.url))


def test_models_of_every_role_are_checked(opened, ollama):
    ollama.models = [LLAMA]
    application = opened(ollama_host=ollama.url, chat_model="ollama:llama3.1:8b", grader_model="ollama:llama3.2:1b")
    application.preferences.save("rewriter_model", "ollama:qwen3:4b")
    checks = checked(application)
    assert checks["Answering model"].status == "ok"
    assert checks["Grading model"].action.target == "ollama:llama3.2:1b"
    assert (checks["Rewriting model"].status, checks["Rewriting model"].action.target) == ("fail", "ollama:qwen3:4b")


def test_a_hosted_model_needs_its_package_and_its_key(opened, monkeypatch):
    for name in ("OPENAI_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    application = opened(chat_model="openai:gpt-4o-mini", grader_model="cohere:command-r")
    checks = checked(application)
    assert (checks["Answering model"].status, checks["Answering model"].action.kind) == ("fail", "key")
    assert checks["Answering model"].action.commands.startswith("OPENAI_API_KEY=")
    assert checks["Grading model"].action.commands == "python -m pip install langchain-cohere"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert checked(application)["Answering model"].status == "ok"
    assert "sk-secret" not in str(application.checks())


def test_a_model_too_large_for_memory_suggests_a_smaller_one(opened, ollama):
    ollama.models = [HUGE]
    application = opened(ollama_host=ollama.url)
    check = checked(application)["Memory"]
    assert (check.status, check.action.kind) == ("warn", "download")
    ollama.models = [HUGE, LLAMA, replace(LLAMA, name=application.ollama.recommended()[0])]
    application.preferences.save("model", f"ollama:{HUGE.name}")
    assert checked(application)["Memory"].action.kind == "open"


def test_an_embedder_that_ollama_lacks_is_to_be_got(opened, ollama):
    application = opened(ollama_host=ollama.url, embedder="ollama:nomic-embed-text")
    assert checked(application)["Embedding model"].action.target == "ollama:nomic-embed-text"
    ollama.models = [NOMIC]
    assert checked(application)["Embedding model"].status == "ok"


def test_a_full_disk_is_noticed_before_anything_is_fetched(opened, monkeypatch):
    application = opened()
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(checklist.shutil, "disk_usage", lambda _: usage._replace(free=1_500_000_000))
    check = checked(application)["Disk"]
    assert check.status == "warn"
    assert "1.5 GB free for your documents" in check.detail
    assert "4.9 GB" in check.detail or "GB needed" in check.detail


def test_tesseract_without_languages_reads_nothing(opened, monkeypatch):
    application = opened()
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/tesseract")
    told = "List of available languages (2):\nosd\n{}\n"

    def say(language):
        return lambda *_, **__: subprocess.CompletedProcess([], 0, told.format(language), "")

    monkeypatch.setattr(checklist.subprocess, "run", say("equ"))
    assert checked(application)["Scans"].status == "warn"
    monkeypatch.setattr(checklist.subprocess, "run", say("kor"))
    assert checked(application)["Scans"].detail == "Tesseract reads kor"
    monkeypatch.setattr(checklist, "find_rapidocr", lambda: "models")
    assert checked(application)["Scans"].detail == "Tesseract reads kor; RapidOCR reads Chinese"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    check = checked(application)["Scans"]
    assert (check.status, check.detail) == ("ok", "RapidOCR reads English and Chinese, but not Korean")
    assert "Install Tesseract" in check.fix
    assert "pip install" not in check.action.commands


def test_a_server_that_is_something_else_is_called_so(opened, ollama, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    check = checked(opened(ollama_host=f"{ollama.url}/elsewhere"))["Llama 3 on Ollama"]
    assert check.status == "warn"
    assert "is not Ollama" in check.detail
