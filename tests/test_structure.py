"""The house rules that a reader of one file cannot see: which room may import which, and what never appears."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOP = {
    "assembly",
    "checks",
    "cli",
    "commands",
    "embedder_choices",
    "engines",
    "equipping",
    "environments",
    "reports",
    "terminal",
    "warming",
    "web_access",
    "__main__",
    "__init__",
}
BOTTOM = {"prompts", "database", "langsmith"} | {file.stem for file in (ROOT / "crag").glob("*.py")} - TOP
SIDE_BY_SIDE = {"grading", "library", "models", "websearch"}
MAY_IMPORT = {
    **{room: BOTTOM | {room} for room in SIDE_BY_SIDE},
    **dict.fromkeys(BOTTOM, BOTTOM),
    "graph": BOTTOM | {"graph"},
    "conversations": BOTTOM | {"conversations"},
    "preferences": BOTTOM | {"graph", "preferences"},
    "runs": BOTTOM | {"graph", "conversations", "runs"},
    "gaps": BOTTOM | {"conversations", "graph", "runs", "gaps"},
    "inspection": BOTTOM | {"conversations", "inspection", "models", "runs"},
    "calibration": BOTTOM | {"graph", "runs", "calibration"},
    "sharing": BOTTOM | {"conversations", "inspection", "models", "preferences", "runs", "sharing"},
}
BEHIND_THE_SCREEN = {"langgraph", "langchain", "langchain_core", "langchain_ollama", "faiss", "ollama", "sqlalchemy"}
CRAG = sorted((ROOT / "crag").rglob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def room(module: str) -> str:
    return module.split(".")[1]


def test_there_is_something_to_check():
    assert len(CRAG) > 40
    assert len(PAGES) > 4


@pytest.mark.parametrize("file", CRAG, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_run_one_way(file):
    here = file.relative_to(ROOT / "crag").with_suffix("").parts[0]
    allowed = MAY_IMPORT.get(here)
    rooms = {path.stem for path in (ROOT / "crag").iterdir()}
    reached = {room(module) for module in imports(file) if module.startswith("crag.")} & rooms
    assert "streamlit" not in {module.split(".")[0] for module in imports(file)}
    if allowed is not None:
        assert reached <= allowed


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_pages_draw_and_nothing_else(file):
    assert not BEHIND_THE_SCREEN & {module.split(".")[0] for module in imports(file)}


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_benchmarks_import_is_there(file):
    """They run seldom, so that nobody notices when something was moved."""
    assert [name for name in imports(file) if name.startswith("crag.") and not exists(name)] == []


def exists(name: str) -> bool:
    """Whether this is a module, or something in one."""
    module, _, inside = name.rpartition(".")
    if find_spec(module) is None:
        return False
    return hasattr(import_module(module), inside) or find_spec(name) is not None


@pytest.mark.parametrize(
    "phrase",
    [
        "unsafe_allow_html=True",
        "allow_dangerous_deserialization",
        "verify=False",
        'inference_mode="remote"',
    ],
)
def test_what_never_appears(phrase):
    sources = [file for file in [*CRAG, *PAGES] if phrase in file.read_text(encoding="utf-8")]
    assert sources == []


def test_pickle_is_read_in_one_place_alone():
    """Where a restricted unpickler reads what LangChain saved."""
    readers = [str(file.relative_to(ROOT)) for file in [*CRAG, *PAGES] if "pickle" in imports(file)]
    assert readers == ["crag/library/exchange/restricted_pickle.py"]
