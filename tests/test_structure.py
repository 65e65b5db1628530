"""The rules of the code base that a reader of one file cannot see: what may import what, and what never appears."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from pages.parts.routes import Page

ROOT = Path(__file__).parent.parent

VALUES = (
    "particles",
    "translation",
    "types",
    "errors",
    "options",
    "reference_systems",
    "settings",
    "cancellation",
    "events",
    "protocols",
)
"""The modules of `crag/` itself; each may import those to its left."""

MAY_IMPORT = {
    **{name: VALUES[:position] for position, name in enumerate(VALUES)},
    "text": ("particles", "translation", "types", "errors", "protocols"),
    "prompts": ("types", "errors"),
    "concurrency": VALUES,
    "storage": VALUES,
    "conversations": (*VALUES, "concurrency", "storage"),
    "grading": (*VALUES, "concurrency", "prompts", "text"),
    "graph": (*VALUES, "prompts", "text"),
    "models": (*VALUES, "concurrency", "prompts", "storage", "text"),
    "retrieval": (*VALUES, "concurrency", "storage", "text"),
    "websearch": (*VALUES, "storage", "text"),
    "tables": (*VALUES, "concurrency", "text"),
    "ingest": (*VALUES, "concurrency", "storage", "text", "retrieval", "ingest.parse"),
    "ingest.parse": (*VALUES, "text"),
    "runs": (*VALUES, "concurrency", "storage", "text", "conversations", "graph"),
    "inspection": (*VALUES, "concurrency", "storage", "text", "conversations", "models", "runs"),
    "library": (*VALUES, "concurrency", "storage", "text", "retrieval", "ingest"),
    "server": VALUES,
    "sharing": (
        *(*VALUES, "storage", "text", "conversations", "models", "runs"),
        *("ingest", "ingest.parse", "inspection", "library"),
    ),
    "evaluation": (
        *(*VALUES, "concurrency", "prompts", "storage", "text", "grading", "graph", "models", "retrieval"),
        *("ingest", "ingest.parse", "runs", "inspection", "library"),
    ),
}
"""What each package of `crag/` may import besides itself; a new file falls under the row of its folder."""
EVERYTHING_BELOW = {
    "app": tuple(MAY_IMPORT),
    "cli": (*MAY_IMPORT, "app", "mcp"),
    "mcp": (*MAY_IMPORT, "app", "api"),
    "api": (*MAY_IMPORT, "app"),
    "__main__": (*MAY_IMPORT, "app", "cli"),
}

CHILDREN = (
    "ingest.parse.child",
    "ingest.parse.archive_child",
    "ingest.parse.outlinks_child",
    "ingest.parse.fork_server",
    "sharing.langchain_child",
    "sharing.restricted_pickle",
    "models.nomic_trial",
)
"""Scripts of child processes: they read what strangers wrote, so they must be light and know no settings or storage."""
CHILDREN_MAY_IMPORT = ("ingest.parse", "text.sanitization", "text.language", "types", "errors")

BEHIND_THE_SCREEN = {"langgraph", "langchain", "langchain_core", "langchain_ollama", "faiss", "ollama", "sqlalchemy"}
FORBIDDEN_TEXT = (
    "unsafe_allow_html=True",
    "allow_dangerous_deserialization",
    "verify=False",
    'inference_mode="remote"',
    'type="primary"',  # Streamlit's white on the primary colour is unreadable in one of the themes
)


def name_module(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


CRAG = {name_module(file): file for file in sorted((ROOT / "crag").rglob("*.py"))}
PAGES = {name_module(file): file for file in [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]}
BENCHMARKS = {name_module(file): file for file in sorted((ROOT / "benchmarks").rglob("*.py"))}


@cache
def parse_file(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def imports(file: Path) -> frozenset[str]:
    """Every module that the file imports, anywhere in it, and every name as `module.name`; dots for a relative one."""
    found = set()
    for node in ast.walk(parse_file(file)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def packages(names: Iterable[str]) -> set[str]:
    """The rows of the table that these modules, names or packages of `crag` belong to."""
    rows = [*MAY_IMPORT, *EVERYTHING_BELOW]
    found = set()
    for name in names:
        parts = name.split(".")
        if parts[0] == "crag" and len(parts) > 1:
            found.add(next((row for row in (".".join(parts[1:3]), parts[1]) if row in rows), parts[1]))
    return found


def test_every_file_is_in_the_table():
    assert packages(CRAG) == {*MAY_IMPORT, *EVERYTHING_BELOW}


def test_imports_run_one_way():
    table = MAY_IMPORT | EVERYTHING_BELOW
    wrong = {}
    for module, file in CRAG.items():
        (row,) = packages([module]) or {""}
        reached = packages(imports(file)) - {row, *table.get(row, ())}
        if reached:
            wrong[module] = reached
    assert wrong == {}


def test_the_table_allows_no_package_in_vain():
    """A row that allows more than its package needs would not notice a new dependency."""
    used = {row: set[str]() for row in MAY_IMPORT}
    for module, file in CRAG.items():
        for row in packages([module]) & used.keys():
            used[row] |= packages(imports(file))
    unused = {row: set(allowed) - used[row] - set(VALUES) for row, allowed in MAY_IMPORT.items()}
    assert {row: names for row, names in unused.items() if names} == {}


def test_no_import_is_relative():
    """The rules above read absolute names only."""
    assert [module for module, file in CRAG.items() if any(name.startswith(".") for name in imports(file))] == []


def test_the_table_has_at_most_eight_floors():
    """Values, whose order is given above, count as one floor; entry scripts and pages are none."""
    table = {row: {"values" if name in VALUES else name for name in allowed} for row, allowed in MAY_IMPORT.items()}
    table = {row: allowed for row, allowed in table.items() if row not in VALUES} | {"values": set()}
    floors: dict[str, int] = {}
    for row in TopologicalSorter(table).static_order():
        floors[row] = 1 + max((floors[name] for name in table[row]), default=0)
    assert max(floors.values()) + len(("app", "cli")) <= 8


def test_no_module_imports_itself_in_a_circle():
    """Imports inside functions count, too."""
    modules = CRAG | PAGES
    graph = {module: {name for name in imports(file) if name in modules} - {module} for module, file in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


def test_pages_get_only_the_application_of_their_user():
    """Another one would show everybody what belongs to one user."""
    others = [file for module, file in PAGES.items() if module != "pages.parts.services"]
    escapes = re.compile("shared_application|for_user")
    assert [file for file in others if escapes.search(file.read_text(encoding="utf-8"))] == []


def test_children_import_little():
    wrong = {}
    for child in CHILDREN:
        reached = {name.removeprefix("crag.") for name in imports(CRAG[f"crag.{child}"]) if name.startswith("crag.")}
        allowed = (*CHILDREN_MAY_IMPORT, *CHILDREN)
        wrong[child] = {one for one in reached if not any(f"{one}.".startswith(f"{name}.") for name in allowed)}
    assert {child: names for child, names in wrong.items() if names} == {}


def test_only_pages_import_streamlit():
    assert [module for module, file in CRAG.items() if any_package(file, {"streamlit"})] == []


def test_pages_draw_and_nothing_else():
    assert [module for module, file in PAGES.items() if any_package(file, BEHIND_THE_SCREEN)] == []


def test_every_text_field_bounds_what_is_typed():
    """Text without a limit could exceed the largest message of a WebSocket, which closes the connection."""
    fields = {"text_input", "text_area", "chat_input"}
    unbounded = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "pages").rglob("*.py")
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in fields
        and all(given.arg != "max_chars" for given in node.keywords)
    ]
    assert not unbounded


def test_every_page_is_in_the_table_of_pages():
    assert {page.path for page in Page} == {str(file.relative_to(ROOT)) for file in ROOT.glob("pages/*/page.py")}


def any_package(file: Path, names: set[str]) -> bool:
    return bool(names & {module.partition(".")[0] for module in imports(file)})


def test_what_benchmarks_import_exists():
    """They run seldom, so that nobody notices when something was moved."""
    assert list(missing_imports()) == []


def missing_imports() -> Iterator[str]:
    for file in BENCHMARKS.values():
        for name in imports(file):
            module, _, inside = name.rpartition(".")
            if name.startswith("crag.") and not (hasattr(import_module(module), inside) or find_spec(name)):
                yield f"{file.name}: {name}"


def test_what_never_appears():
    files = (CRAG | PAGES).items()
    assert [
        (module, text) for module, file in files for text in FORBIDDEN_TEXT if text in file.read_text("utf-8")
    ] == []


def test_only_storage_asks_which_database_it_is():
    asking = {module for module, file in (CRAG | PAGES).items() if re.search(r"\.dialect\b", file.read_text("utf-8"))}
    assert [module for module in asking if not module.startswith("crag.storage.")] == []


def test_pickle_is_read_by_the_restricted_unpickler_alone():
    assert [module for module, file in (CRAG | PAGES).items() if "pickle" in imports(file)] == [
        "crag.sharing.restricted_pickle"
    ]
