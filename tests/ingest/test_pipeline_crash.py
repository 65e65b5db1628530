"""Processes that are killed, and processes that race: what was acknowledged is there, whole, and nothing else is."""

import hashlib
import os
import signal
import threading
import time

import pytest

from tests.crashing import NOTES, Forked, check_whole

KILLED = """
import os, signal, sys
from pathlib import Path
from crag.ingest import pipeline
from crag.storage import sources
from crag.storage.files import Originals
from tests.doubles.library import HashEmbedder, open_library

home, point, data = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).read_bytes()
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
embedder = HashEmbedder()
library = open_library(home, embedder=embedder)
print(library.add_bytes("kept.txt", b"This one was acknowledged.").status, flush=True)
if point == "embedding":
    embedder.before_batch = lambda: embedder.embedded > 32 and die()
elif point == "after the original":
    sources.SourceStore.put = die
elif point == "inside the transaction":
    sources.write_passages = die
elif point == "before the commit":
    original = Originals.keep
    calls = []
    Originals.keep = lambda *a: (original(*a), calls.append(1), len(calls) == 2 and die())
elif point == "after the commit":
    pipeline.AddResult = die
elif point == "removing":
    library.add_bytes("lost.txt", data)
    Originals.remove = die
    library.remove([s.id for s in library.sources() if s.title == "lost.txt"])
library.add_bytes("lost.txt", data)
"""

RACING = """
import sys
from pathlib import Path
from tests.doubles.library import open_library

library = open_library(Path(sys.argv[1]))
data = Path(sys.argv[2]).read_bytes()
print("ready", flush=True)
sys.stdin.readline()
print(library.add_bytes("same.txt", data).status, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("point", "there"),
    [
        ("embedding", False),
        ("after the original", False),
        ("inside the transaction", False),
        ("before the commit", False),
        ("after the commit", True),
        ("removing", False),
    ],
)
def test_a_kill_leaves_the_whole_or_nothing(tmp_path, data, reopen, point, there):
    with Forked(KILLED, tmp_path / "home", point, data) as process:
        output, _ = process.communicate(timeout=60)
    assert (output, process.returncode) == ("added\n", -signal.SIGKILL)
    library = reopen()
    check_whole(library)
    assert {source.title for source in library.sources()} == {"kept.txt"} | ({"lost.txt"} if there else set())
    again = library.add_bytes("lost.txt", NOTES)
    assert again.status == ("unchanged" if there else "added")
    check_whole(library)


def test_two_processes_that_add_the_same_file_end_in_one_copy(tmp_path, data, reopen):
    processes = [Forked(RACING, tmp_path / "home", data) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    statuses = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert statuses == ["added", "unchanged"]
    library = reopen()
    assert len(library.sources()) == 1
    check_whole(library)


def test_adding_what_is_being_removed_keeps_its_original(library):
    """The original goes only within a transaction that sees it unused, and comes back within the one that uses it."""
    failures = []

    def churn():
        try:
            for _ in range(10):
                library.remove([library.add_bytes("same.txt", NOTES).id])
        except Exception as error:  # noqa: BLE001 — a thread's failure is shown by the test
            failures.append(error)

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    library.add_bytes("same.txt", NOTES)
    check_whole(library)


def test_what_a_dead_writer_left_is_removed_and_what_is_young_is_not(library, reopen):
    digest = hashlib.sha256(b"orphan").hexdigest()
    folder = library.home / "originals" / digest[:2]
    folder.mkdir(parents=True)
    orphan, young, old = folder / digest, folder / "a.unfinished", folder / "b.unfinished"
    for path in (orphan, young, old):
        path.write_bytes(b"x")
    os.utime(old, (time.time() - 7200,) * 2)
    reopen()
    assert [path.exists() for path in (orphan, young, old)] == [False, True, False]
