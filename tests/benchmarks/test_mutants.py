"""Guards are found, marked, and switched off one at a time."""

import ast

import pytest

from benchmarks.mutants import (
    EXEMPT,
    GUARDED,
    OWNERSHIP,
    ROOT,
    Marks,
    Mutant,
    add_marks,
    find_guards,
    list_mutants,
    mutate,
)

SOURCE = """
FOLDERS = ("static", "media")
HEADERS = {"X-Frame-Options": "DENY"}

def read(path, size) -> bool:
    if size > LIMIT:
        raise TooLarge
    check_name(path)
    print(path)
    text = CONTROLS.sub("", path)
    rows = select(table).where(table.kind == "page", self._visible(table))
    seen = visible_rows(table, key)
    count(rows, self._user, current_owner())
    return is_whole(rows) and text in rows
"""


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("never: if size > LIMIT", "if False:"),
        ("not called: check_name(path)", "    None"),
        ("not cleaned: CONTROLS.sub('', path)", "text = str(path)"),
        ("without table.kind == 'page'", "where(self._visible(table))"),
        ("without 'media'", "FOLDERS = ('static',)"),
        ("without 'X-Frame-Options'", "HEADERS = {}"),
        ("for everyone: self._visible(table)", "__import__('sqlalchemy').true())"),
        ("for everyone: visible_rows(table, key)", "visible_rows(table, None)"),
        ("for everyone: self._user", "count(rows, UserScoped._user, current_owner())"),
        ("for everyone: current_owner()", "count(rows, self._user, (lambda: None)())"),
        ("without is_whole(rows)", "return text in rows"),
    ],
)
def test_a_guard_is_switched_off(change, left):
    changes = [guard.change for guard in find_guards(ast.parse(SOURCE))]
    number = next(number for number, found in enumerate(changes) if found.startswith(change))
    mutated, guard = mutate(SOURCE, number)
    assert guard.change.startswith(change)
    assert left in mutated
    assert len(changes) == 13


def test_every_exempt_guard_exists():
    changes = {
        (module, guard.change)
        for module in {module for module, _ in EXEMPT}
        for guard in find_guards(ast.parse((ROOT / module).read_text(encoding="utf-8")))
    }
    assert EXEMPT.keys() <= changes


def test_each_person_s_rows_are_the_only_guards_of_ownership():
    changes = [guard.change.partition(":")[0] for guard in find_guards(ast.parse(SOURCE), OWNERSHIP)]
    assert changes == ["for everyone"] * 4


def test_a_mark_stands_before_what_a_guard_decides_on():
    marked = add_marks("def read(size):\n    if size > LIMIT:\n        raise TooLarge\n", "read.py")
    assert marked.splitlines()[2:] == [
        "        __import__('benchmarks.guard_marks').guard_marks.mark('read.py:0')",
        "        raise TooLarge",
    ]


def test_the_tests_that_reach_a_guard_run_those_of_its_module_first():
    module = ["tests/runs/test_queue.py::slow", "tests/runs/test_queue.py::quick"]
    others = ["tests/cli/test_ask.py::quick", "tests/runs/test_run.py::other"]
    seconds = dict(zip([*module, *others], [0.3, 0.2, 0.01, 0.1], strict=True))
    marks = Marks({"crag/runs/queue.py:0": {module[1], others[0], "tests/that_fails.py::a"}}, seconds)
    assert marks.tests_for(Mutant("", "crag/runs/queue.py", 0)) == [module[1], others[0], module[0]]
    assert {*marks.tests_for(Mutant("", "crag/runs/queue.py", 1))} == {*seconds}


@pytest.mark.parametrize(("group", "module"), [(group, module) for group in GUARDED for module in GUARDED[group][:2]])
def test_modules_with_marks_and_mutants_compile(group, module):
    source = (ROOT / module).read_text(encoding="utf-8")
    compile(add_marks(source, module, group), module, "exec")
    mutated, _ = mutate(source, 0, group)
    assert ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(source))
    compile(mutated, module, "exec")


def test_every_named_module_has_guards():
    mutants = list_mutants()
    assert {mutant.module for mutant in mutants} == {module for modules in GUARDED.values() for module in modules}
    assert len(mutants) >= 120
