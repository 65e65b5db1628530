"""Guards are found, and switched off one at a time."""

import ast

import pytest

from benchmarks.mutants import GUARDED, ROOT, find_guards, list_mutants, mutate

SOURCE = """
def read(path, size) -> bool:
    if size > LIMIT:
        raise TooLarge
    check_name(path)
    print(path)
    text = CONTROLS.sub("", path)
    rows = select(table).where(table.owner == user, table.id == path)
    return is_whole(rows) and text in rows
"""


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ("never: if size > LIMIT", "if False:"),
        ("not called: check_name(path)", "    None"),
        ("not cleaned: CONTROLS.sub('', path)", "text = str(path)"),
        ("without table.owner == user", "where(table.id == path)"),
        ("without is_whole(rows)", "return text in rows"),
    ],
)
def test_a_guard_is_switched_off(change, left):
    changes = [guard.change for guard in find_guards(ast.parse(SOURCE))]
    number = next(number for number, found in enumerate(changes) if found.startswith(change))
    mutated, guard = mutate(SOURCE, number)
    assert guard.change.startswith(change)
    assert left in mutated
    assert len(changes) == 7


def test_every_mutant_is_a_module_of_its_own_that_compiles():
    mutants = list_mutants()
    assert len(mutants) >= 120
    for module in {mutant.module for mutant in mutants}:
        source = (ROOT / module).read_text(encoding="utf-8")
        numbers = [mutant.number for mutant in mutants if mutant.module == module]
        texts = {mutate(source, number)[0] for number in numbers}
        assert len(texts) == len(numbers)
        for text in texts:
            compile(text, module, "exec")


def test_the_tests_that_should_notice_exist():
    named = {tests for modules in GUARDED.values() for listed in modules.values() for tests in listed}
    assert [name for name in named if not (ROOT / name).exists()] == []
