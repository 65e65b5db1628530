"""The language of the command line: who chooses it, and that no text has been forgotten.

The pseudo-language puts each text that was looked up between ⟦ and ⟧, as in `tests/pages/test_language.py`.
"""

from __future__ import annotations

import json
import re
from contextlib import closing

import pytest

from crag import translation
from crag.cli.main import COMMANDS, main
from crag.options import OPTIONS
from crag.settings import Settings
from crag.storage.api_tokens import SCOPES
from crag.storage.engine import Database
from crag.storage.preferences import Preferences
from crag.translation import find_terminal_language
from tests.cli.conftest import NOTES, QUESTION
from tests.doubles.ollama import closed_address
from tests.pages.test_language import PseudoLanguage

LOCALE = ("CRAG_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
ALL_COMMANDS = [command for commands in COMMANDS.values() for command in commands]
ACTIONS = re.compile(r"^    ([a-z]+)(?:  |$)", re.MULTILINE)
ARGUMENTS = {"id", "jsonl", "name", "title", "value", "query", "question", "dataset", "python", "crag"}
CHOICES = {*SCOPES, *(value for option in OPTIONS.values() for value in option.values)}


@pytest.fixture
def pseudo(monkeypatch):
    """The user's language is one whose texts all have marks."""
    monkeypatch.setattr(translation, "load_catalogue", lambda _language: PseudoLanguage())
    monkeypatch.setenv("CRAG_LANGUAGE", "ko")
    translation._translate_composed.cache_clear()
    yield
    translation._translate_composed.cache_clear()
    translation._patterns.cache_clear()


def unmarked_words(text, allowed):
    """The words of a text that are outside of all marks."""
    text = re.sub(r"\{[a-z,\s]+\}", " ", text)  # the choices of an argument
    while "⟦" in text:
        text = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
    return {word for word in re.findall(r"(?<![\w-])[A-Za-z]?[a-z]{2,}(?![\w-])", text) if word.lower() not in allowed}


def help_of(command, capsys):
    assert main([*command, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_the_help_of_every_command_can_be_translated(command, pseudo, capsys):
    shown = {(command,): help_of([command], capsys)}
    actions = [name for name in ACTIONS.findall(shown[command,]) if "ACTION" in shown[command,]]
    shown |= {(command, action): help_of([command, action], capsys) for action in actions}
    own = ARGUMENTS | CHOICES | {*actions, command}
    assert {name: words for name, text in shown.items() if (words := unmarked_words(text, own))} == {}


def test_what_commands_print_can_be_translated(crag, notes, tmp_path, pseudo):
    own = set(re.findall(r"[a-z]{2,}", f"{NOTES} {QUESTION} notes builtin markdown documents".lower()))
    (tmp_path / "papers").mkdir()
    (tmp_path / "questions.jsonl").write_text(json.dumps({"question": QUESTION, "answer": "after two"}))
    commands = [
        ["list"],
        ["notes"],
        ["conversations"],
        ["tokens"],
        ["folders"],
        ["gaps"],
        ["ledger"],
        ["spaces"],
        ["evaluations"],
        ["add", notes],
        ["add", notes],
        ["add", "nowhere.md"],
        ["list"],
        ["collections"],
        ["search", "zanzibar"],
        ["ask", QUESTION],
        ["folders", "add", "papers"],
        ["folders", "apply", "unknown"],
        ["collections", "rename", "Documents", "Notes"],
        ["send", "papers", "--to", closed_address(), "--token", "crag_wrong"],
        ["datasets", "add", "questions.jsonl"],
        ["tokens", "revoke", "unknown"],
        ["settings", "set", "k", "many"],
        ["fly"],
        ["ask"],
    ]

    def every_command():
        yield from commands
        [document] = crag("list")[1]["sources"]
        yield ["rename", document["id"], "Zanzibar"]

    left = {}
    for command in every_command():
        _, printed = crag(*command, json_output=False)
        printed = printed.replace(str(tmp_path), "")
        if words := unmarked_words(
            printed, own | ARGUMENTS | {part.lower() for one in command for part in one.split(".")}
        ):
            left[" ".join(command)] = words
    assert left == {}


@pytest.mark.parametrize(
    ("given", "language"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "en_GB.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh_Hant"),
        ({"LC_ALL": "ko_KR.UTF-8", "CRAG_LANGUAGE": "zh-CN"}, "zh_Hans"),
        ({"LANG": "cs_CZ.UTF-8"}, "en"),
        ({"LANG": "ko_KR.UTF-8", "CRAG_LANGUAGE": "en"}, "en"),
    ],
)
def test_the_language_is_that_of_the_locale_or_of_the_variable(monkeypatch, given, language):
    for name in LOCALE:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert find_terminal_language() == language


@pytest.mark.parametrize(
    ("chosen", "variable", "shown"),
    [
        ({"": "ko"}, "", "노트가 없습니다."),
        ({"a" * 64: "ko", "b" * 64: "ko", "c" * 64: ""}, "", "노트가 없습니다."),
        ({"a" * 64: "ko", "b" * 64: "zh_Hant"}, "", "There are no notes."),
        ({"": "ko"}, "zh_TW", "沒有筆記。"),
    ],
)
def test_the_language_is_the_one_chosen_in_the_settings(crag, tmp_path, monkeypatch, chosen, variable, shown):
    with closing(Database(tmp_path / "home")) as database:
        for browser, language in chosen.items():
            Preferences(database, Settings()).for_user(browser or None).save_language(language)
    monkeypatch.setenv("CRAG_LANGUAGE", variable)
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    assert crag("notes", json_output=False) == (0, f"{shown}\n")


def test_commands_speak_korean_and_json_stays_english(crag, monkeypatch, capsys):
    monkeypatch.setenv("CRAG_LANGUAGE", "ko")
    assert crag("notes", json_output=False) == (0, "노트가 없습니다.\n")
    assert "폴더는 더 이상" in crag("folders", "apply", "unknown", json_output=False)[1]
    assert crag("folders", "apply", "unknown")[1]["error"]["message"] == "This folder is no longer watched."
    assert main(["ask"]) == 2
    assert "다음 인자가 필요합니다: question" in capsys.readouterr().err


def test_tables_are_aligned_where_characters_are_wide():
    from crag.cli.terminal import cell_width, pad_cell

    assert [cell_width(pad_cell(text, 12)) for text in ("metric", "지표", "正確答案")] == [12, 12, 12]
    assert pad_cell("지표", 6, right=True) == "  지표"
