"""Switch off each guard once, and run the tests that should notice.

`python -m benchmarks.mutants` tries 120 guards, chosen at random, and with `--sample 0` all of them. Each mutant is a
copy of one module in which one condition never fires, one check is not called, one part of a condition or one entry of
a table is missing, one text is not cleaned, or one limit to the rows of a person is gone.

All tests but those in a browser run once with marks at the guards; then each mutant gets the tests that reach its
guard, the quickest first, in a process forked from one that has imported the libraries. Two copies of the project are
tested at a time, with the lowest priority. A mutant that no test notices is marked: its guard could break unnoticed, or
it guards nothing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate, count
from multiprocessing import get_context
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OWNERSHIP = "ownership"
GUARDED = {
    "addresses": ["crag/ingest/addresses.py", "crag/ingest/fetch.py", "crag/ingest/http_response.py"],
    "hostile content": [
        *("crag/text/sanitization.py", "pages/parts/markdown.py", "crag/sharing/html_page.py"),
        *("crag/graph/citations.py", "crag/graph/policy.py", "crag/sharing/restricted_pickle.py"),
        *("crag/ingest/parse/confinement.py", "crag/ingest/parse/zip_container.py", "crag/tables/query.py"),
        *("crag/sharing/conversation_import.py", "crag/sharing/note_export.py"),
    ],
    "durability": [
        *("crag/storage/files.py", "crag/storage/engine.py", "crag/storage/migrations.py", "crag/storage/ownership.py"),
        *("crag/retrieval/vector_index.py", "crag/sharing/restore.py", "crag/sharing/backup.py"),
        *("crag/sharing/move.py", "crag/storage/removed_sources.py", "crag/library/watched_folders.py"),
        "crag/ingest/folder_watch.py",
    ],
    "server": [
        *("crag/server/limits.py", "crag/server/connections.py", "crag/server/request_guard.py"),
        *("crag/server/security_headers.py", "crag/server/page_requests.py", "crag/models/destinations.py"),
        *("crag/server/browser_identity.py", "crag/server/public_access.py", "crag/concurrency/rate_limits.py"),
        "crag/server/download_guard.py",
    ],
    "programs": [
        *("crag/api/access.py", "crag/api/routes.py", "crag/api/openai_routes.py", "crag/storage/api_tokens.py"),
        *("crag/mcp/server.py", "crag/mcp/http.py"),
    ],
    "many at once": [
        *("crag/conversations/conversations.py", "crag/runs/question_queue.py"),
        *("crag/library/job_queue.py", "crag/concurrency/request_queue.py"),
    ],
    OWNERSHIP: [
        *("crag/storage/row_security.py", "crag/storage/user_scope.py", "crag/storage/outbound_log.py"),
        "crag/conversations/conversation_list.py",
        *("crag/runs/service.py", "crag/inspection/run_archive.py", "crag/inspection/coverage_gaps.py"),
        *("crag/evaluation/records.py", "crag/evaluation/datasets.py", "crag/evaluation/dataset_records.py"),
        *("crag/evaluation/regression.py", "crag/library/library.py", "crag/sharing/service.py"),
        *("crag/sharing/passage_lines.py", "crag/sharing/passage_exchange.py", "pages/parts/services.py"),
        *("pages/parts/session.py", "pages/evaluate/results.py", "pages/settings/privacy.py"),
        *("crag/sharing/notes.py", "crag/storage/collections.py", "crag/storage/sources.py"),
    ],
}
"""The modules that guard something. Of those named last, only what keeps people apart is switched off."""

EXEMPT = {
    ("crag/ingest/fetch.py", "without _default_ssl_context(): ssl_context or _default_ssl_context()"): (
        "saves reading the certificates for each page; the library uses the same ones"
    ),
    (
        "crag/library/job_queue.py",
        "without jobs.c.id.in_(job_ids): select(jobs.c.id).where(jobs.c.id.in_(job_ids), jobs.c.cancelled == 0)",
    ): ("saves reading other rows; the result is the same"),
    ("crag/library/job_queue.py", "never: if not self.count('waiting')"): "saves a write transaction",
    ("crag/storage/ownership.py", "never: if f'{name}-'.startswith(f'{current_process_name()}-')"): (
        "saves looking up the process that asks, which redraws do often"
    ),
    ("crag/library/watched_folders.py", "without not owner: not owner or not is_owner_alive(connection, owner)"): (
        "on SQLite, no process has an empty name; on PostgreSQL, names without a lease may have to wait for a while"
    ),
    ("crag/library/watched_folders.py", "without row.applying: row.applying and state.changes"): (
        "saves looks at a folder whose changes wait for a click"
    ),
    ("crag/library/watched_folders.py", "without row.applying: row.applying and (not changes)"): (
        "saves a write transaction for each look at a folder that is applied by itself"
    ),
    ("crag/graph/citations.py", "without quotation: quotation and (not is_table_row(sentence))"): (
        "tells the type checker: what is quoted as a row is one"
    ),
    ("crag/storage/removed_sources.py", "without own: select(kept.id).where(own)"): (
        "the ids that an index reads again would be more"
    ),
    (
        "crag/conversations/conversations.py",
        "without conversations.c.id.in_(shown): select(conversations).where(conversations.c.id.in_(shown))",
    ): ("saves reading other rows; the result is the same"),
    ("crag/library/watched_folders.py", "without result.id: result.id or ''"): "tells the type checker",
    ("crag/text/sanitization.py", "never: if _PLAIN_ASCII.fullmatch(text)"): "saves a look at each character",
    (
        "crag/retrieval/vector_index.py",
        "without self._epoch is None: self._layers.base or self._epoch is None or self._epoch == self._saved_epoch",
    ): "tells the type checker: without an epoch nothing was saved either",
    ("crag/storage/files.py", "never: if os.name == 'nt'"): "only Windows has it",
    ("crag/sharing/note_export.py", "without []: token.children or []"): "tells the type checker",
    ("crag/models/destinations.py", "without self.outbound_log: self.host and self.outbound_log"): (
        "tells the type checker what `__post_init__` has checked"
    ),
}
"""What no test can notice, and why: changes by module, as they are printed."""

_CHECKS = re.compile(r"_?(check|require|verify|limit|ensure|sync|fsync|flush|cancel|kill|chmod)(_|$)")
_LIMITS = {"visible_rows", "visible_questions", "visible_to"}
_TESTS = ["tests", "--ignore=tests/test_structure.py", "--ignore=tests/benchmarks", "-m", "not live and not browser"]
_OPTIONS = ["-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "benchmarks.guard_marks"]
_LIBRARIES = ("streamlit.testing.v1", "sqlalchemy", "faiss", "langgraph.graph", "pandas", "lxml.html", "PIL.Image")
_TIMEOUT_SECONDS = 600.0
_MARKING_SECONDS = 7200.0
_MOST_SECONDS = 180.0  # of tests for one mutant, as measured while the guards were marked
_WORKERS = 2
_MARKS, _CHOSEN = "marks.txt", "chosen.txt"
_COPIED = ("crag", "pages", "tests", "benchmarks", ".streamlit", "app.py", "launcher.py", "pyproject.toml")

_change_times = count(1_000_000_000)


@dataclass(frozen=True, slots=True)
class Guard:
    """One place in a module; `switch_off` changes the tree that `node` is in, which only matters when it is reached."""

    node: ast.AST
    change: str
    switch_off: Callable[[], None]

    @property
    def line(self) -> int:
        """Line in the module."""
        return int(getattr(self.node, "lineno", 0))


@dataclass(frozen=True, slots=True)
class Mutant:
    """One module with the guard of this number switched off."""

    group: str
    module: str
    number: int

    @property
    def name(self) -> str:
        """Name of the guard in the marks."""
        return f"{self.module}:{self.number}"


@dataclass(frozen=True, slots=True)
class Marks:
    """Tests that reach each guard, and the seconds of each test that passes as the project is."""

    tests: Mapping[str, set[str]]
    seconds: Mapping[str, float]

    def tests_for(self, mutant: Mutant) -> list[str]:
        """Return the tests that may notice, those named after the module first, then the quickest files.

        Where no test is known to reach it, as in a table or a confined process, those of the module and its folder.
        """
        folder, _, name = f"tests/{mutant.module.removeprefix('crag/')}".rpartition("/")
        own = {test for test in self.seconds if test.startswith(f"{folder}/test_{name}::")}
        reaching = self.tests.get(mutant.name, set())
        if not reaching:
            of_module = (tests for guard, tests in self.tests.items() if guard.startswith(f"{mutant.module}:"))
            of_folder = {test for test in self.seconds if test.startswith(f"{folder}/")}
            reaching = of_folder.union(*of_module)
        quickest: dict[str, float] = {}
        known = sorted((own | reaching) & self.seconds.keys(), key=self.seconds.__getitem__)
        for test in known:
            quickest.setdefault(test.partition("::")[0], self.seconds[test])
        ordered = sorted(known, key=lambda test: (test not in own & reaching, quickest[test.partition("::")[0]]))
        total = accumulate(self.seconds[test] for test in ordered)
        return [test for test, seconds in zip(ordered, total, strict=True) if seconds < _MOST_SECONDS] or ordered[:1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the tests said to a mutant: `noticed_by` is the test that failed, empty where none did."""

    mutant: Mutant
    guard: str
    noticed_by: str

    def __str__(self) -> str:
        told = f"by {self.noticed_by}" if self.noticed_by else "SURVIVED"
        return f"{self.mutant.group}: {self.guard} {told}"


def find_guards(tree: ast.Module, group: str = "") -> list[Guard]:
    """Return every guard of a module, in an order that depends on its text alone."""
    finders = [_limits_at] if group == OWNERSHIP else [_guards_at, _entries_at, _limits_at]
    found = [guard for node in ast.walk(tree) for finder in finders for guard in finder(node)]
    return sorted(found, key=lambda guard: guard.line)


def list_mutants() -> list[Mutant]:
    """Return every mutant of the modules above."""
    return [
        Mutant(group, module, number)
        for group, modules in GUARDED.items()
        for module in modules
        for number, guard in enumerate(find_guards(ast.parse((ROOT / module).read_text(encoding="utf-8")), group))
        if (module, guard.change) not in EXEMPT
    ]


def mutate(source: str, number: int, group: str = "") -> tuple[str, Guard]:
    """Return the source with one guard switched off, and that guard."""
    tree = ast.parse(source)
    guard = find_guards(tree, group)[number]
    guard.switch_off()
    return ast.unparse(ast.fix_missing_locations(tree)), guard


def add_marks(source: str, module: str, group: str = "") -> str:
    """Return the source with a call before each statement that a guard decides on."""
    tree = ast.parse(source)
    guards = find_guards(tree, group)
    blocks = {
        statement: block
        for node in ast.walk(tree)
        for _, block in ast.iter_fields(node)
        if isinstance(block, list)
        for statement in block
        if isinstance(statement, ast.stmt)
    }
    inside = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for number, guard in enumerate(guards):
        node = guard.node
        while node not in blocks:
            node = inside[node]
        if blocks[node] is tree.body:  # of a table: reached once, by whichever test imports the module first
            continue
        call = f"__import__('benchmarks.guard_marks').guard_marks.mark({f'{module}:{number}'!r})"
        blocks[node].insert(blocks[node].index(node), ast.parse(call).body[0])
    return ast.unparse(tree)


def _guards_at(node: ast.AST) -> Iterator[Guard]:
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break):
        change = f"never: if {ast.unparse(node.test)}"
        yield Guard(node.body[0], change, lambda: setattr(node, "test", ast.Constant(value=False)))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _CHECKS.match(_name(node.value.func)):
        if not _is_limit(node):
            yield _replaced(node, "value", ast.Constant(value=None), f"not called: {ast.unparse(node.value)}")
    elif isinstance(node, ast.BoolOp):
        conditions = (operand for operand in node.values if not isinstance(operand, ast.Constant))
        yield from (_without(node, node.values, operand) for operand in conditions)
    elif isinstance(node, ast.Call) and _name(node.func) == "where":
        yield from (_without(node, node.args, condition) for condition in node.args if not _is_limit(condition))
    elif isinstance(node, ast.Call) and _name(node.func) == "sub" and len(node.args) == 2:
        yield Guard(node, f"not cleaned: {ast.unparse(node)}", lambda: _keep_text(node))
    elif isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or node.args) == "bool":
        yield from _answers_of(node)


def _answers_of(predicate: ast.FunctionDef) -> Iterator[Guard]:
    for node in ast.walk(predicate):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.Call | ast.UnaryOp):
            for value in (True, False):
                change = f"always {value}: return {ast.unparse(node.value)}"
                yield _replaced(node, "value", ast.Constant(value=value), change)


def _entries_at(node: ast.AST) -> Iterator[Guard]:
    """Find the entries of the tables of a module."""
    for table in node.body if isinstance(node, ast.Module) else []:
        value = table.value if isinstance(table, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Dict):
            for key, told in zip(value.keys, value.values, strict=True):
                yield _without_entry(value, key, told)
        elif isinstance(value, ast.Tuple | ast.List | ast.Set) and len(value.elts) > 1:
            yield from (_without(value, value.elts, entry) for entry in value.elts)


def _limits_at(node: ast.AST) -> Iterator[Guard]:
    """Find what limits a statement to the rows of one person."""
    if isinstance(node, ast.Attribute) and node.attr == "_user" and isinstance(node.ctx, ast.Load):
        yield _for_everyone(node, lambda: setattr(node, "value", ast.Name(id="UserScoped")))  # nobody's: None
    elif isinstance(node, ast.Call) and _name(node.func) == "current_owner":
        yield _for_everyone(node, lambda: _call_instead(node, "(lambda: None)"))
    elif isinstance(node, ast.Call) and _name(node.func) == "_visible":
        yield _for_everyone(node, lambda: _call_instead(node, "__import__('sqlalchemy').true"))
    elif isinstance(node, ast.Call) and _name(node.func) in _LIMITS and not _is_limit(node.args[-1], "None"):
        yield _for_everyone(node, lambda: node.args.__setitem__(-1, ast.Constant(value=None)))


def _for_everyone(node: ast.expr, switch_off: Callable[[], None]) -> Guard:
    return Guard(node, f"for everyone: {ast.unparse(node)}", switch_off)


def _is_limit(node: ast.AST, *others: str) -> bool:
    """Return whether the node is found as a limit already, or is one of the others."""
    text = ast.unparse(node)
    return text in others or bool(re.search(r"\b(_user|_visible|current_owner)\b", text))


def _call_instead(call: ast.Call, function: str) -> None:
    call.func, call.args = ast.parse(function, mode="eval").body, []


def _replaced(node: ast.AST, field: str, value: ast.expr, change: str) -> Guard:
    return Guard(node, change, lambda: setattr(node, field, value))


def _without(node: ast.expr, parts: list[ast.expr], part: ast.expr) -> Guard:
    """Return a guard that loses one of the parts; alone, it lets everything through."""

    def remove() -> None:
        parts.remove(part)
        if not parts:
            parts.append(ast.Constant(value=True))

    return Guard(part, f"without {ast.unparse(part)}: {ast.unparse(node)}", remove)


def _without_entry(table: ast.Dict, key: ast.expr | None, value: ast.expr) -> Guard:
    def remove() -> None:
        table.keys.remove(key)
        table.values.remove(value)

    return Guard(value, f"without {ast.unparse(key) if key else '**'}: {ast.unparse(value)}", remove)


def _keep_text(call: ast.Call) -> None:
    call.func, call.args = ast.Name(id="str"), call.args[1:]


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _mark_guards(project: Path) -> Marks:
    """Run all tests once, with marks at the guards."""
    for group, modules in GUARDED.items():
        for module in modules:
            place = project / module
            place.write_text(add_marks(place.read_text(encoding="utf-8"), module, group), encoding="utf-8")
    _run_tests(
        project,
        [*_TESTS, "-n", str(_WORKERS), "--dist", "worksteal"],
        _MARKING_SECONDS,
        GUARD_MARKS=str(project / _MARKS),
    )
    tests: dict[str, set[str]] = defaultdict(set)
    seconds: dict[str, float] = {}
    for first, _, test in (
        line.partition("\t") for line in (project / _MARKS).read_text(encoding="utf-8").splitlines()
    ):
        if first.partition(".")[0].isdigit():
            seconds[test] = float(first)
        elif test:
            tests[first].add(test)
    return Marks(tests, seconds)


def _try_mutant(folder: Path, mutant: Mutant, tests: Sequence[str]) -> Outcome:
    """Run these tests on the copy of this process, with one guard switched off."""
    project = folder / str(os.getpid())
    if not project.exists():
        _copy_project(project)
    place = project / mutant.module
    source = place.read_text(encoding="utf-8")
    mutated, guard = mutate(source, mutant.number, mutant.group)
    try:
        _write(place, mutated)
        noticed_by = _run_chosen(project, tests)
    finally:
        _write(place, source)
    return Outcome(mutant, f"{mutant.module}:{guard.line}: {guard.change}"[:200], noticed_by)


def _run_chosen(project: Path, tests: Sequence[str]) -> str:
    (project / _CHOSEN).write_text("\n".join(tests), encoding="utf-8")
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    return _run_tests(project, ["-x", "--timeout=60", *files], GUARD_TESTS=str(project / _CHOSEN)) if tests else ""


def _write(place: Path, source: str) -> None:
    """Write a module with a time of its own: Python compares whole seconds to know whether it has compiled it."""
    place.write_text(source, encoding="utf-8")
    seconds = next(_change_times)
    os.utime(place, (seconds, seconds))


def _run_tests(project: Path, arguments: Sequence[str], seconds: float = _TIMEOUT_SECONDS, **environment: str) -> str:
    """Run tests in a forked process; return the first that failed, or empty text."""
    output = project / "output.txt"
    process = get_context("fork").Process(target=_call_pytest, args=(project, output, arguments, environment))
    process.start()
    process.join(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    failed = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", output.read_text(errors="replace"), re.MULTILINE)
    if process.exitcode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return ""
    return failed[1] if failed else f"exit code {process.exitcode}"


def _call_pytest(project: Path, output: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    os.setsid()
    os.chdir(project)
    os.environ |= {"PYTHONPATH": str(project), **environment}
    sys.path[0] = str(project)
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os._exit(pytest.main([*_OPTIONS, *arguments]))


def _copy_project(folder: Path) -> Path:
    folder.mkdir()
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder


def main(arguments: Sequence[str] = ()) -> None:
    """Print which test notices each mutant, and the number that survived in each group."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=120, help="number of guards to try; 0: all (default: 120)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the random choice (default: 0)")
    given = parser.parse_args(arguments)
    mutants = list_mutants()
    chosen = random.Random(given.seed).sample(mutants, given.sample or len(mutants))
    os.nice(19)
    for name in _LIBRARIES:
        import_module(name)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        marks = _mark_guards(_copy_project(Path(folder) / "marked"))
        print(f"{len(marks.seconds)} tests pass", flush=True)
        with ProcessPoolExecutor(_WORKERS, get_context("fork")) as pool:
            tests = map(marks.tests_for, chosen)
            for outcome in pool.map(partial(_try_mutant, Path(folder)), chosen, tests):
                outcomes.append(outcome)
                print(f"{len(outcomes)}/{len(chosen)} {outcome}", flush=True)
    survivors = Counter(outcome.mutant.group for outcome in outcomes if not outcome.noticed_by)
    for group, tried in Counter(mutant.group for mutant in chosen).items():
        print(f"{group}: {survivors[group]} of {tried} survived")
    print(f"{survivors.total()} of {len(chosen)} survived; there are {len(mutants)} guards")


if __name__ == "__main__":
    main(sys.argv[1:])
