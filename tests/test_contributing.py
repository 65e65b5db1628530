"""The examples of CONTRIBUTING.md fit the code: what they change exists, and what they add is valid."""

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def changes():
    """Each change of a file in the guide: its path and its lines with their sign."""
    for diff in re.findall(r"```diff\n(.*?)```", GUIDE, re.DOTALL):
        for change in re.split(r"^\+\+\+ ", diff, flags=re.MULTILINE)[1:]:
            path, *lines = change.splitlines()
            yield path, lines


def added(path):
    return ["\n".join(line[1:] for line in lines if line[:1] == "+") for file, lines in changes() if file == path]


def test_what_the_examples_change_exists():
    for path, lines in changes():
        kept = [line[1:] for line in lines if line[:1] in (" ", "-")]
        text = (ROOT / path).read_text(encoding="utf-8") if kept else ""
        assert [line for line in kept if line not in text.splitlines()] == [], path


@pytest.mark.parametrize("path", ["crag/ingest/parse/formats.py", "crag/models/providers.py"])
def test_records_of_the_examples_are_valid(path):
    module = import_module(path.removesuffix(".py").replace("/", "."))
    (entry,) = added(path)
    assert eval(entry.strip().rstrip(","), vars(module))  # noqa: S307 — our own guide


def test_the_option_of_the_example_is_valid():
    (entry,) = (text for text in added("crag/options.py") if "Option(" in text)
    field, _, record = entry.partition("\n")
    options = vars(import_module("crag.options"))
    assert eval(record.strip().rstrip(","), options).name == field.split(":")[0].strip()  # noqa: S307 — as above


def test_the_parser_of_the_example_reads_subtitles():
    (source,) = added("crag/ingest/parse/subtitles.py")
    namespace = {}
    exec(source, namespace)  # noqa: S102 — our own guide
    cue = b"1\n00:00:01,000 --> 00:00:02,000\nHello,\nworld.\n"
    document = namespace["read_srt"](SimpleNamespace(data=cue, charset=None))
    assert [block.text for block in document.blocks] == ["Hello, world."]
