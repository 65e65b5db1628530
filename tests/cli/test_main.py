"""The commands of the contract, on a real home with the built-in engine and scripted servers."""

import argparse
import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

from crag import __main__
from crag.app import application
from crag.cli import main as main_module
from crag.cli.main import main


@pytest.mark.parametrize(
    "arguments", [[], ["fly"], ["ask"], ["search", "q", "-k", "0"], ["ask", "q", "--policy", "some"]]
)
def test_usage_is_exit_2(arguments, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["fly"], ["ask"], ["search", "q", "-k", "1000"], ["list", "--home", ""]])
def test_a_misunderstood_command_is_one_document_too(arguments, capsys):
    assert main([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


def test_no_name_at_all_is_not_the_present_folder(crag, notes):
    code, document = crag("add", "")
    assert (code, document["sources"][0]["error"]["code"]) == (1, "unreachable")
    assert crag("list")[1] == {"sources": []}


@pytest.mark.parametrize("address", ["http://[::1", "127.0.0.1:99999", "ftp://here", "http://"])
def test_an_address_of_ollama_that_is_none_is_refused(crag, monkeypatch, address):
    monkeypatch.setenv("OLLAMA_HOST", address)
    code, document = crag("doctor")
    assert (code, document["error"]["code"]) == (1, "bad_request")
    assert "OLLAMA_HOST" in document["error"]["message"]


@pytest.mark.parametrize("json_output", [True, False])
def test_interrupting_is_said_and_no_traceback(monkeypatch, capsys, json_output):
    def interrupt(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "open_application", interrupt)
    assert __main__.run(["list", *(["--json"] if json_output else [])]) == 1
    printed = capsys.readouterr()
    if json_output:
        assert json.loads(printed.out)["error"]["code"] == "stopped"
    else:
        assert (printed.out, printed.err) == ("", "Stopped.\n")


def test_what_nobody_foresaw_is_named_without_its_words(crag, monkeypatch, capsys):
    def fail(_settings):
        raise RuntimeError("sk-secret in /home/somebody")

    monkeypatch.setattr(application, "Application", fail)
    code = main(["list", "--json"])
    printed = capsys.readouterr()
    assert (code, json.loads(printed.out)["error"]["code"]) == (1, "bug")
    assert "Traceback" not in printed.err
    assert "secret" not in printed.err


@pytest.mark.parametrize("json_output", [True, False])
def test_any_terminal_can_show_any_text(crag, tmp_path, json_output):
    (tmp_path / "한국어.md").write_text("서울은 대한민국의 수도이다. 😀", encoding="utf-8")
    crag("add", str(tmp_path / "한국어.md"))
    command = [sys.executable, "-m", "crag", "search", "서울", "--home", str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*command, *(["--json"] if json_output else [])], capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    if json_output:
        assert "서울" in json.loads(done.stdout)["hits"][0]["text"]
    else:
        assert b"\\uc11c\\uc6b8" in done.stdout


def test_a_reader_that_leaves_early_is_no_fault(crag, notes, tmp_path):
    crag("add", notes)
    command = [sys.executable, "-m", "crag", "list", "--home", str(tmp_path / "home")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as listing:
        listing.stdout.close()
        assert listing.stderr.read() == b""
    assert listing.returncode == 1


@pytest.mark.parametrize("spec", ["~nobodyofthisname/notes.md", "a" * 5000])
def test_a_path_that_cannot_be_is_refused(crag, spec):
    code, document = crag("add", spec)
    assert (code, document["sources"][0]["error"]["code"]) == (1, "unreachable")


def test_a_folder_of_nobody_is_refused_as_a_home(capsys):
    assert main(["list", "--json", "--home", "~nobodyofthisname/home"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "bad_request"


def test_settings_that_are_no_text_are_refused(crag, tmp_path):
    (tmp_path / ".env").write_bytes(b"\xff\xfe\x00")
    code, document = crag("list")
    assert (code, document["error"]["code"]) == (1, "bad_request")
    assert ".env" in document["error"]["message"]


@pytest.mark.parametrize(
    ("option", "fault"),
    [("--model", "unknown_model"), ("--conversation", "not_found"), ("--collection", "bad_request")],
)
def test_arguments_that_are_no_text_are_read_as_far_as_they_go(crag, option, fault):
    code, document = crag("ask", "What\udcff?", option, "gone\udcff")
    assert (code, document["error"]["code"]) == (1, fault)


@pytest.mark.parametrize("module", main_module.COMMANDS)
def test_each_command_is_found_by_its_first_word(module):
    named = []

    def add_command(name, *_, **__):
        named.append(name.split()[0])
        return argparse.ArgumentParser()

    import_module(f"crag.cli.{module}").register(add_command)
    assert tuple(dict.fromkeys(named)) == main_module.COMMANDS[module]
