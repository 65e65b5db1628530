"""The option records: one for each option, and the only table of options.

`python -m tests.test_options` writes the table in docs/settings.md.
"""

import ast
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from crag.cli import arguments
from crag.cli.main import main
from crag.events import NODES
from crag.options import (
    OPTIONS,
    ROLES,
    GraderKind,
    Option,
    PolicyName,
    RewriteStyle,
    RunOptions,
    WebMode,
    get_option,
    list_option_names,
)
from crag.settings import Settings
from tests.test_structure import CRAG, PAGES, parse_file

DOCUMENT = Path(__file__).parents[1] / "docs" / "settings.md"
INTRODUCTION = """\
# Settings

Every option of a question, made from the records in `crag/options.py` by `python -m tests.test_options`. Saved ones are
changed on the settings page or by `settings set NAME VALUE`; a conversation, a preset, or an argument of `ask` and
`evaluate` overrides them. A default of – is empty; what it means stands in brackets. The parameters of
`answering` exist for `grading` and `rewriting`, too.

| Name | Setting | Default | Values | Read by | Saved | Argument | Environment |
|---|---|---|---|---|---|---|---|
"""


def settings_table() -> str:
    listed = (option for option in OPTIONS.values() if option.role in ("", "answering"))
    return INTRODUCTION + "".join(f"| {' | '.join(row(option))} |\n" for option in listed)


def row(option: Option) -> Iterator[str]:
    default = get_option(RunOptions(), option.name)
    empty = f" ({option.empty_means})" if option.empty_means and default in ("", "auto", None, (), 0) else ""
    yield f"`{option.name}`"
    yield f"{option.title}. {option.help.partition('. ')[0].rstrip('.')}."
    yield f"{option.write(default) if default not in ('', None, (), 0) or not option.empty_means else '–'}{empty}"
    yield allowed(option)
    yield ", ".join(NODES[node].title for node in NODES if node in option.nodes)
    yield "yes" if option.scope == "home" else f"{option.scope} only"
    negated = f", `--no-{option.flag.removeprefix('--')}`" if option.kind == "switch" and option.flag else ""
    yield f"`{option.flag}`{negated}" if option.flag else ""
    yield f"`{option.variable}`" if option.variable else ""


def allowed(option: Option) -> str:
    match option.kind:
        case "choice":
            return ", ".join(f"`{value}` {label}" for value, (label, _) in option.values.items())
        case "number":
            return f"{option.lowest:,} to {option.highest:,} {option.unit}".rstrip()
        case "switch":
            return "on, off"
    return option.kind


def test_each_option_has_one_record():
    assert sorted(OPTIONS) == sorted(list_option_names())
    for name, option in OPTIONS.items():
        assert option.is_valid(get_option(RunOptions(), name)) or option.empty_means
        assert option.title
        assert option.help.endswith(".")
        assert set(option.nodes) <= set(NODES)
        assert not option.settings_field or hasattr(Settings(), option.settings_field)
    assert {OPTIONS[model].kind for model in ROLES.values()} == {"model"}


def test_titles_tell_options_apart():
    assert len({option.title for option in OPTIONS.values()}) == len(OPTIONS)


@pytest.mark.parametrize(
    ("name", "values"), [("policy", PolicyName), ("web", WebMode), ("rewrite", RewriteStyle), ("grader", GraderKind)]
)
def test_each_value_of_a_choice_has_a_label(name, values):
    assert set(OPTIONS[name].values) == set(get_args(values))


def test_every_saved_option_is_an_argument(capsys):
    main(["ask", "--help"])
    shown = capsys.readouterr().out
    assert [option.flag for option in OPTIONS.values() if option.flag and option.flag not in shown] == []


@pytest.mark.parametrize("given", [option for option in OPTIONS.values() if option.flag and option.kind == "number"])
@pytest.mark.parametrize("run_highest", [0, 100])
def test_an_argument_takes_every_number_that_a_question_can_be_asked_with(given, run_highest, monkeypatch):
    option = replace(given, run_highest=run_highest)
    monkeypatch.setattr(arguments, "_RUN_OPTIONS", (option,))
    parser = ArgumentParser()
    arguments.add_run_arguments(parser)
    for number in (option.lowest, option.highest, run_highest or option.highest):
        assert option.is_valid(number, for_run=True)
        assert vars(parser.parse_args([option.flag, str(number)]))[option.name] == number
    assert not option.is_valid((run_highest or option.highest) + 1, for_run=True)
    with pytest.raises(SystemExit):
        parser.parse_args([option.flag, str((run_highest or option.highest) + 1)])


def test_no_other_module_holds_a_table_of_options():
    """Whatever is listed by the names of options belongs to their records."""
    tables = {module: list(option_tables(file)) for module, file in (CRAG | PAGES).items() if module != "crag.options"}
    assert {module: found for module, found in tables.items() if found} == {}


def option_tables(file: Path) -> Iterator[list[str]]:
    """Yield the names in each dictionary keyed by options alone, and in each sequence of more than three options."""
    for node in ast.walk(parse_file(file)):
        match node:
            case ast.Dict(keys=[_, _, *_] as keys):
                least = len(keys)
            case ast.Tuple(elts=keys) | ast.List(elts=keys) | ast.Set(elts=keys):
                least = 4
            case _:
                continue
        names = [key.value for key in keys if isinstance(key, ast.Constant) and key.value in OPTIONS]
        if len(names) >= least:
            yield names


def test_the_documented_table_is_current():
    assert DOCUMENT.read_text(encoding="utf-8") == settings_table(), "run python -m tests.test_options"


if __name__ == "__main__":
    DOCUMENT.write_text(settings_table(), encoding="utf-8")
