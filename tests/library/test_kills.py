"""Killed before each step of a snapshot, a refresh and a migration: the old state or the new one, never a mix."""

import os
import shutil
import sqlite3
from contextlib import closing
from itertools import count

import pytest

from crag.storage.engine import Database
from crag.storage.migrations import OLDEST_SCHEMA_VERSION
from tests.crashing import NOTES, Forked, check_whole
from tests.doubles.library import open_library
from tests.storage.test_engine import home_at
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Engine, event
from crag.storage.engine import Database
from tests.doubles.library import open_library

home, deed, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def step(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def count_calls(name):
    usual = getattr(os, name)
    setattr(os, name, lambda *given, **named: (step(), usual(*given, **named))[1])

library = None if deed == "migration" else open_library(home)
if library:
    library.search("lamp")
for name in ("fsync", "rename", "replace", "unlink", "mkdir"):
    count_calls(name)
event.listen(Engine, "before_cursor_execute", lambda *given: given[2].startswith("SELECT") or step())
if deed == "snapshot":
    library.save()
elif deed == "refresh":
    library.pipeline.refresh()
else:
    Database(home)
print("done", flush=True)
"""


def homes_after_kills(first, work, deed):
    """Yield a home for each step of the deed before which its process was killed, then one where it was done."""
    for number in count():
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(first, work)
        with Forked(KILLED, work, deed, number) as process:
            output, _ = process.communicate(timeout=PATIENCE)
        yield work
        if output == "done\n":
            assert number > 3
            return


def found(home):
    """Return the text of the one document, after a check that nothing is half written; it is saved and read again."""
    library = open_library(home)
    check_whole(library)
    (hit,) = library.search("lamp", k=1)
    library.save()
    check_whole(library)
    library._database.close()
    return hit.text


def test_kills_around_a_snapshot(tmp_path):
    library = open_library(tmp_path / "first")
    library.pipeline.add_bytes("lamp.txt", b"The lamp is red.")
    library.save()
    library.pipeline.add_bytes("notes.txt", NOTES)
    library._database.close()
    texts = {found(home) for home in homes_after_kills(tmp_path / "first", tmp_path / "work", "snapshot")}
    assert texts == {"The lamp is red."}


def test_kills_around_a_refresh(tmp_path):
    file = tmp_path / "lamp.txt"
    file.write_text("The lamp is red.")
    library = open_library(tmp_path / "first")
    library.pipeline.add_path(file)
    library.save()
    library._database.close()
    file.write_text("The lamp is blue.")
    texts = [found(home) for home in homes_after_kills(tmp_path / "first", tmp_path / "work", "refresh")]
    assert texts == sorted(texts, reverse=True), "once the new one is there, it stays"
    assert set(texts) == {"The lamp is red.", "The lamp is blue."}


def test_kills_around_a_migration(tmp_path):
    home_at(tmp_path / "first", OLDEST_SCHEMA_VERSION)
    for home in homes_after_kills(tmp_path / "first", tmp_path / "work", "migration"):
        Database(home).close()
        with closing(sqlite3.connect(home / "crag.sqlite")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert connection.execute("SELECT name FROM collections").fetchall() == [("Papers",)]
            assert connection.execute("SELECT count(*) FROM queued_questions").fetchone() == (0,)
