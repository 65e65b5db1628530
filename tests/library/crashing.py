"""What tests of killed and racing processes share: a process to kill, and a check that nothing is half there."""

import multiprocessing
import os
import sys
from contextlib import contextmanager
from types import ModuleType

from sqlalchemy import select, text

from crag.database.tables import passages, vectors
from tests.doubles.library import index_of

FORK = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
if os.name == "posix":
    FORK.set_forkserver_preload(["crag.library.library", "crag.library.index.vector_index", "tests.doubles.library"])
NOTES = "\n".join(f"Line {n} speaks of topic {n % 7}." for n in range(100)).encode()


class Forked:
    """A process of its own that runs `code`; forked from one that has imported the library already, so that it is soon
    there. Nothing of the process that tests is in it.
    """

    def __init__(self, code, *arguments):
        input_, self._input = FORK.Pipe(duplex=False)
        self._output, output = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=_run, args=(code, list(map(str, arguments)), input_, output))
        with _no_main_module():
            self._process.start()
        input_.close()
        output.close()
        self.stdin = os.fdopen(self._input.fileno(), "w", closefd=False)
        self.stdout = os.fdopen(self._output.fileno(), closefd=False)

    @property
    def returncode(self):
        return self._process.exitcode

    def communicate(self, timeout):
        """What it has written when it has ended."""
        written = self.stdout.read()
        self._process.join(timeout)
        return written, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.join()


@contextmanager
def _no_main_module():
    """The child runs the main module's file first; tests of pages leave app.py there."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _run(code, arguments, input_, output):
    for connection, number in ((input_, 0), (output, 1)):
        os.dup2(connection.fileno(), number)
        connection.close()
    sys.argv = ["-c", *arguments]
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    exec(code, {"__name__": "__main__"})  # noqa: S102 — the test's own code
    sys.stdout.flush()


def check_whole(library):
    """Everything visible is complete, and nothing is kept that is not visible."""
    with library._database.read() as connection:
        ids = set(connection.scalars(select(passages.c.id)))
        assert set(connection.scalars(select(vectors.c.passage_id))) == ids
        assert set(connection.scalars(text("SELECT rowid FROM passage_terms"))) == ids
        assert connection.scalar(text("PRAGMA integrity_check")) == "ok"
    assert index_of(library).ids() == ids
    kept = {path.name for path in (library.home / "originals").rglob("*") if path.is_file()}
    kept = {name for name in kept if not name.endswith(".unfinished")}  # swept once they are old
    assert kept == {source.sha256 for source in library.sources()}
