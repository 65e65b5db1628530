"""Shared by tests of killed and racing processes: a process to kill, and a check that nothing is half written."""

import os
import signal
import sys
from hashlib import sha256

from sqlalchemy import select, text

from crag.storage.shared_files import open_shared_files
from crag.storage.tables import passages, vectors
from tests.doubles.library import index_of
from tests.forks import FORKS, start

NOTES = "\n".join(f"Line {n} speaks of topic {n % 7}." for n in range(100)).encode()


class Forked:
    """A process of its own that runs `code`; forked from one that has imported the library already."""

    def __init__(self, code, *arguments):
        input_, self._input = FORKS.Pipe(duplex=False)
        self._output, output = FORKS.Pipe(duplex=False)
        self._process = start(_run, code, list(map(str, arguments)), input_, output)
        input_.close()
        output.close()
        self.stdin = os.fdopen(self._input.fileno(), "w", closefd=False)
        self.stdout = os.fdopen(self._output.fileno(), closefd=False)

    @property
    def returncode(self):
        return self._process.exitcode

    def kill(self):
        """As a power cut ends it."""
        self._process.kill()

    def interrupt(self):
        """As Ctrl-C does."""
        os.kill(self._process.pid, signal.SIGINT)

    def communicate(self, timeout):
        """What it has written when it has ended; its input ends at once."""
        self.stdin.close()
        self._input.close()
        written = self.stdout.read()
        self._process.join(timeout)
        return written, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.join()


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
        if connection.dialect.name == "postgresql":
            counted = (
                "SELECT term, count(DISTINCT rowid) FROM passage_terms, unnest(words) term WHERE term <> '' GROUP BY 1"
            )
            kept = connection.execute(text("SELECT term, doc FROM passage_vocabulary")).all()
            assert dict(connection.execute(text(counted)).all()) == dict(kept)
        else:
            assert connection.scalar(text("PRAGMA integrity_check")) == "ok"
    assert index_of(library).ids() == ids
    if files := open_shared_files(library._database, "original"):  # those of removed documents are swept once old
        assert {sha256(files.get(source.sha256)).hexdigest() for source in library.sources()} == {
            source.sha256 for source in library.sources()
        }
        return
    kept = {path.name for path in (library.home / "originals").rglob("*") if path.is_file()}
    kept = {name for name in kept if not name.endswith(".unfinished")}  # swept once they are old
    assert kept == {source.sha256 for source in library.sources()}
