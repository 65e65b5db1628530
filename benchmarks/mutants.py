"""Switch off each guard once, and run the tests that should notice.

`python -m benchmarks.mutants --sample 15` tries fifteen guards at random; without a number, all of them, which takes
hours. Each mutant is a copy of one module in which one condition never fires, one check is not called, one part of a
condition is missing, or one text is not cleaned. It works on a copy of the project, with the lowest priority. A mutant
that no test notices is marked: its guard could break unnoticed, or it guards nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
GUARDED: dict[str, dict[str, Sequence[str]]] = {
    "addresses": {
        "crag/ingest/addresses.py": ["tests/ingest/test_addresses.py", "tests/ingest/test_fetch.py"],
        "crag/ingest/fetch.py": ["tests/ingest/test_fetch.py"],
        "crag/ingest/http_response.py": ["tests/ingest/test_fetch.py", "tests/ingest/test_page_reader.py"],
    },
    "hostile content": {
        "crag/text/sanitization.py": [
            *("tests/pages/parts/test_markdown.py", "tests/ingest/parse/test_formats.py"),
            *("tests/sharing/test_html_page.py", "tests/abuse/test_instructions.py", "tests/cli/test_reports.py"),
        ],
        "crag/graph/citations.py": ["tests/graph"],
        "crag/graph/policy.py": ["tests/graph"],
        "crag/ingest/parse/confinement.py": ["tests/ingest/parse/test_confinement.py"],
        "crag/ingest/parse/zip_container.py": ["tests/ingest/parse/test_confinement.py", "tests/ingest/test_intake.py"],
    },
    "durability": {
        "crag/storage/files.py": ["tests/storage", "tests/library/test_kills.py", "tests/sharing"],
        "crag/storage/engine.py": ["tests/storage"],
        "crag/storage/migrations.py": ["tests/storage"],
        "crag/storage/ownership.py": ["tests/storage"],
        "crag/retrieval/vector_index.py": ["tests/retrieval/test_vector_index.py", "tests/library/test_kills.py"],
        "crag/sharing/restore.py": ["tests/sharing"],
    },
    "many at once": {
        "crag/conversations/conversations.py": ["tests/conversations", "tests/runs"],
        "crag/runs/question_queue.py": ["tests/runs"],
        "crag/library/job_queue.py": ["tests/library/test_jobs.py"],
        "crag/models/admission.py": ["tests/models/test_admission.py"],
        "crag/server/limits.py": ["tests/server"],
        "crag/server/connections.py": ["tests/server"],
        "crag/server/request_guard.py": ["tests/server"],
    },
}
"""The modules that guard something, and the tests that should notice when they do not."""

_CHECKS = re.compile(r"_?(check|require|verify|limit|ensure|sync|fsync|flush|cancel|kill|chmod)(_|$)")
_TIMEOUT_SECONDS = 600.0
_COPIED = ("crag", "pages", "tests", "benchmarks", ".streamlit", "app.py", "launcher.py", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Guard:
    """One place in a module; `switch_off` changes the tree that it was found in."""

    line: int
    change: str
    switch_off: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One module with the guard of this number switched off."""

    group: str
    module: str
    number: int
    tests: Sequence[str]


def find_guards(tree: ast.Module) -> list[Guard]:
    """Return every guard of a module, in an order that depends on its text alone."""
    return sorted((guard for node in ast.walk(tree) for guard in _guards_at(node)), key=lambda guard: guard.line)


def list_mutants() -> list[Mutant]:
    """Return every mutant of the modules above."""
    return [
        Mutant(group, module, number, tests)
        for group, modules in GUARDED.items()
        for module, tests in modules.items()
        for number in range(len(find_guards(ast.parse((ROOT / module).read_text(encoding="utf-8")))))
    ]


def mutate(source: str, number: int) -> tuple[str, Guard]:
    """Return the source with one guard switched off, and that guard."""
    tree = ast.parse(source)
    guard = find_guards(tree)[number]
    guard.switch_off()
    return ast.unparse(ast.fix_missing_locations(tree)), guard


def _guards_at(node: ast.AST) -> Iterator[Guard]:
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break):
        yield _replaced(node, "test", ast.Constant(value=False), f"never: if {ast.unparse(node.test)}")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _CHECKS.match(_name(node.value.func)):
        yield _replaced(node, "value", ast.Constant(value=None), f"not called: {ast.unparse(node.value)}")
    elif isinstance(node, ast.BoolOp):
        yield from (_without(node, node.values, operand) for operand in node.values)
    elif isinstance(node, ast.Call) and _name(node.func) == "where":
        yield from (_without(node, node.args, condition) for condition in node.args)
    elif isinstance(node, ast.Call) and _name(node.func) == "sub" and len(node.args) == 2:
        yield Guard(node.lineno, f"not cleaned: {ast.unparse(node)}", lambda: _keep_text(node))
    elif isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "bool":
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Compare | ast.Call | ast.UnaryOp):
                for value in (True, False):
                    change = f"always {value}: return {ast.unparse(inner.value)}"
                    yield _replaced(inner, "value", ast.Constant(value=value), change)


def _replaced(node: ast.stmt, field: str, value: ast.expr, change: str) -> Guard:
    return Guard(node.lineno, change, lambda: setattr(node, field, value))


def _without(node: ast.expr, parts: list[ast.expr], part: ast.expr) -> Guard:
    """Return a guard that loses one of the parts; alone, it lets everything through."""

    def remove() -> None:
        parts.remove(part)
        if not parts:
            parts.append(ast.Constant(value=True))

    return Guard(node.lineno, f"without {ast.unparse(part)}: {ast.unparse(node)}", remove)


def _keep_text(call: ast.Call) -> None:
    call.func, call.args = ast.Name(id="str"), call.args[1:]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_noticed(project: Path, mutant: Mutant) -> tuple[bool, Guard]:
    """Return whether a test fails, or never ends, with this guard switched off."""
    place = project / mutant.module
    source = place.read_text(encoding="utf-8")
    mutated, guard = mutate(source, mutant.number)
    place.write_text(mutated, encoding="utf-8")
    try:
        return not _pass(project, mutant.tests), guard
    finally:
        place.write_text(source, encoding="utf-8")


def _pass(project: Path, tests: Sequence[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return not subprocess.run(
            command, cwd=project, env=environment, timeout=_TIMEOUT_SECONDS, capture_output=True, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        return False


def _copy_project(folder: Path) -> None:
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, folder / name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print whether a test notices each mutant, and the number that survived in each group."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="the number of guards to try, chosen at random (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the random choice (default: 0)")
    given = parser.parse_args(arguments)
    mutants = list_mutants()
    chosen = random.Random(given.seed).sample(mutants, given.sample) if given.sample else mutants
    if hasattr(os, "nice"):
        os.nice(19)
    survivors: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        _copy_project(project)
        for tests in {tuple(mutant.tests) for mutant in chosen}:
            if not _pass(project, tests):
                sys.exit(f"These tests fail as they are: {' '.join(tests)}")
        for number, mutant in enumerate(chosen, start=1):
            noticed, guard = _is_noticed(project, mutant)
            line = f"{mutant.group}: {mutant.module}:{guard.line}: {guard.change}"
            print(f"{number}/{len(chosen)} {'noticed ' if noticed else 'SURVIVED'} {line[:200]}", flush=True)
            survivors += [] if noticed else [mutant.group]
    for group in GUARDED:
        tried = sum(mutant.group == group for mutant in chosen)
        print(f"{group}: {survivors.count(group)} of {tried} survived")
    print(f"{len(survivors)} of {len(chosen)} survived; there are {len(mutants)} guards")


if __name__ == "__main__":
    main()
