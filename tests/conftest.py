"""Shared by all tests: no network beyond this machine, and no settings from the environment."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

# Hundreds of processes are started, and each would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

pytest_plugins = ["tests.doubles.fixtures"]

CONFIGURATION = (
    "CRAG_HOME",
    "CRAG_CHAT_MODEL",
    "CRAG_GRADER_MODEL",
    "CRAG_EMBEDDER",
    "CRAG_EVALUATOR",
    "OLLAMA_HOST",
    "TAVILY_API_KEY",
    "CRAG_TAVILY_URL",
    "CRAG_NOMIC_URL",
    "CRAG_EVALUATOR_URL",
    "CRAG_ALLOW_PRIVATE_URLS",
    "CRAG_MAX_UPLOAD_MB",
    "CRAG_PEOPLE",
    "CRAG_DATABASE_URL",
    "CRAG_LANGSMITH",
    "CRAG_METRICS",
    *(f"LANGSMITH_{name}" for name in ("API_KEY", "ENDPOINT", "PROJECT", "WORKSPACE_ID", "TRACING", "TRACING_V2")),
    *(f"LANGCHAIN_{name}" for name in ("API_KEY", "ENDPOINT", "PROJECT", "WORKSPACE_ID", "TRACING", "TRACING_V2")),
)
PROBING = ("crag.models.ollama_api", "crag.models.ollama_pool")
MEMORY_FOR_HOMES = 4 * 2**30  # bytes


@pytest.fixture
def own_event_loop() -> Iterator[None]:
    """Lets a test run an event loop, although Playwright keeps one in this thread as long as its browser is open."""
    of_playwright = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(of_playwright)


@pytest.fixture
def anyio_backend(own_event_loop: None) -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _bare_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests run as on a machine where nothing is configured or downloaded; also what they share."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOME", str(tmp_path_factory.mktemp("user")))
        environment.setenv("CRAG_LANGUAGE", "en")
        for name in CONFIGURATION:
            environment.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _empty_database_made_once(_bare_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new home gets a copy of an empty database, which is faster than making its tables and indexes."""
    from crag.storage import sqlite_file
    from crag.storage.engine import Database

    folder = tmp_path_factory.mktemp("empty")
    Database(folder).close()
    make_file = sqlite_file._make_file

    @functools.wraps(make_file)
    def copy_empty(path: Path) -> None:
        if not path.exists():
            with suppress(OSError):  # which the original reports
                copied = shutil.copy2(folder / path.name, path.with_name(uuid.uuid4().hex))
                try:
                    os.link(copied, path)  # unless another thread was first
                finally:
                    Path(copied).unlink()
                return
        make_file(path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlite_file, "_make_file", copy_empty)
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient_probes() -> Iterator[None]:
    """A server that runs beside other tests may need more than half a second to say which models it has."""
    with pytest.MonkeyPatch.context() as patched:
        for module in PROBING:
            patched.setattr(f"{module}.PROBE_SECONDS", PATIENCE)
        yield


@pytest.fixture
def impatient_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a server that never says a word."""
    for module in PROBING:
        monkeypatch.setattr(f"{module}.PROBE_SECONDS", 0.1)


@pytest.fixture(autouse=True)
def _forgotten_models() -> None:
    """A server of an earlier test may have had the same address, and a model of the same digest."""
    if administration := sys.modules.get("crag.models.ollama_api"):
        administration.model_facts_cache.clear()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of one server for all tests of a worker; root has another user run it."""
    from tests.doubles.postgres import postgres_server

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, postgres_server(Path(folder)) as address:
        yield address


@pytest.fixture(autouse=True)
def _homes_on_postgres(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--postgres`, and in tests marked so, every database is a schema of a PostgreSQL server."""
    if not (request.config.getoption("--postgres") or request.node.get_closest_marker("postgres")):
        return
    from crag.storage import engine
    from tests.doubles.postgres import home_url

    server = request.getfixturevalue("postgres")
    open_store = engine._open_store

    def open_on_postgres(home: Path, url: str) -> engine.Store:
        is_cache = "evaluations" in home.parts  # of documents split in another way: a folder that is moved when made
        return open_store(home, url if is_cache else url or home_url(server, home))

    monkeypatch.setattr(engine, "_open_store", open_on_postgres)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests of storage, retrieval, documents and runs work on PostgreSQL instead of SQLite."""
    parser.addoption("--postgres", action="store_true", help="use PostgreSQL, not SQLite")


def pytest_configure() -> None:
    """Homes lie in memory where there is room: the database waits for the disk at each of its thousands of commits."""
    memory = Path("/dev/shm")  # noqa: S108 — pytest makes a folder in it that only this user can read
    if memory.is_dir() and shutil.disk_usage(memory).free > MEMORY_FOR_HOMES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_collection() -> None:
    """Look for no garbage in what is imported and collected: that took a fifth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported stays: looking through it for garbage again and again took a quarter of a test of a page.

    Looking every 700 new objects, as Python does unless told otherwise, takes another fifteenth.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say once what is missing for a whole folder of tests, and how many are skipped."""
    report = yield
    if isinstance(report.longrepr, tuple) and (item.get_closest_marker("live") or item.get_closest_marker("browser")):
        report.longrepr = (str(item.path.parent), None, report.longrepr[2])  # type: ignore[assignment]
    return report
