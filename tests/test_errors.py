"""The table of faults: each is used, each gets the values that its words name."""

import ast
from collections.abc import Iterator
from functools import cache
from string import Formatter

import pytest

from crag.errors import FAULTS, LangSmithFailed, ModelFault, WebSearchFailed
from tests.test_structure import CRAG, parse_file

METHODS = ("make", "from_status")
STATUSES = {"tavily": WebSearchFailed, "langsmith": LangSmithFailed, "provider": ModelFault, "download": ModelFault}


def is_status(key: str) -> bool:
    """Whether the key stands for a status, so that it is looked up by number."""
    name = key.partition(".")[2]
    return name in ("5xx", "other") or name.isdecimal()


@cache
def read_package() -> tuple[set[object], dict[str, list[tuple[str, set[str]]]]]:
    """All constants, and by method the first argument and the keywords of each call; a conditional argument is two."""
    constants: set[object] = set()
    calls: dict[str, list[tuple[str, set[str]]]] = {method: [] for method in METHODS}
    for file in (file for name, file in CRAG.items() if name != "crag.errors"):
        for node in ast.walk(parse_file(file)):
            if isinstance(node, ast.Constant):
                constants.add(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
                calls[node.func.attr] += named_faults(node)
    return constants, calls


def named_faults(call: ast.Call) -> Iterator[tuple[str, set[str]]]:
    keywords = {keyword.arg or "" for keyword in call.keywords}
    for part in ast.walk(call.args[0]) if call.args else ():
        if isinstance(part, ast.Constant) and part.value in {*FAULTS, *STATUSES}:
            yield part.value, keywords


def placeholders(key: str) -> set[str]:
    text = FAULTS[key]
    return {name for part in (text.what, text.remedy, text.model) for _, name, _, _ in Formatter().parse(part) if name}


def test_each_fault_is_used():
    constants, _ = read_package()
    assert {key for key in FAULTS if not is_status(key)} <= constants


def test_each_fault_gets_its_values():
    _, calls = read_package()
    made = calls["make"]
    assert len(made) > 40
    assert {key: placeholders(key) - given for key, given in made if placeholders(key) - given} == {}
    for service, given in calls["from_status"]:
        for key in FAULTS:
            if is_status(key) and key.startswith(f"{service}."):
                assert placeholders(key) <= given | {"status"}, key


@pytest.mark.parametrize("service", STATUSES)
def test_every_status_has_words(service):
    values = dict.fromkeys(("host", "provider", "variable", "wait"), "x")
    for status in range(300, 600):
        assert STATUSES[service].from_status(service, status, **values).message


@pytest.mark.parametrize(
    ("status", "words"), [(404, "no longer has"), (418, "answered 418"), (500, "(500)"), (599, "reported an error")]
)
def test_the_words_for_this_status_come_before_those_for_others(status, words):
    assert words in ModelFault.from_status("download", status, host="example.com", variable="URL").message
