"""What tests of killed and racing processes share: a process to kill, and a check that nothing is half there."""

import subprocess
import sys
from pathlib import Path

from sqlalchemy import select, text

from crag.database.tables import passages, vectors
from tests.doubles.library import index_of

ROOT = Path(__file__).parent.parent.parent
NOTES = "\n".join(f"Line {n} speaks of topic {n % 7}." for n in range(100)).encode()


def python(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


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
