"""Background jobs whose process is killed: the next one goes on with them, and says truly what became of each."""

import os
import signal

import pytest

from crag.library import jobs as jobs_module
from crag.library.job_queue import JobQueue, new_job
from crag.library.jobs import IngestJobs
from tests.crashing import NOTES, Forked, check_whole
from tests.library.test_jobs import spooled
from tests.waiting import wait_until

KILLED = """
import os, signal, sys, threading, time
from pathlib import Path
from crag.ingest import pipeline
from crag.library.job_queue import JobQueue, UploadSpool
from crag.library.jobs import IngestJobs
from crag.storage import sources
from tests.doubles.library import HashEmbedder, open_library

home, point, data = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).read_bytes()
die = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
embedder = HashEmbedder()
library = open_library(home, embedder=embedder)
jobs = IngestJobs(library._database, library)
acknowledged, claim = threading.Event(), JobQueue.claim
JobQueue.claim = lambda *arguments: acknowledged.wait() and claim(*arguments)
if point == "before the upload is acknowledged":
    JobQueue.add = die
elif point == "before it is taken up":
    claim = die
elif point == "embedding":
    embedder.before_batch = lambda: embedder.embedded > 32 and die()
elif point == "inside the transaction":
    sources.write_passages = die
elif point == "after the commit":
    pipeline.AddResult = die
elif point == "before the word":
    JobQueue.finish = die
elif point == "after the word":
    UploadSpool.remove = die
elif point == "in the middle of a folder":
    embedder.before_batch = lambda: embedder.embedded and die()
folder = [Path(name) for name in sys.argv[4:]]
print(jobs.submit_path(*folder) if folder else jobs.submit_bytes("notes.txt", data), flush=True)
acknowledged.set()
time.sleep(30)
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")


def kill(*arguments):
    """What the process acknowledged before it was killed."""
    with Forked(KILLED, *arguments) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    return output.strip()


def go_on(library):
    jobs = IngestJobs(library._database, library)
    jobs.resume()
    wait_until(lambda: not jobs.active)
    ended = jobs.jobs()
    jobs.close()
    return ended


@pytest.mark.parametrize(
    "point",
    ["before it is taken up", "embedding", "inside the transaction", "after the commit", "before the word"],
)
def test_an_acknowledged_upload_is_added_once_and_said_to_be_added(tmp_path, data, reopen, point):
    job_id = kill(tmp_path / "home", point, data)
    library = reopen()
    check_whole(library)
    (job,) = go_on(library)
    assert (job.id, job.state, job.result.status, job.result.title) == (job_id, "done", "added", "notes.txt")
    (source,) = library.sources()
    assert (source.id, source.passages) == (job.result.id, 100)
    check_whole(library)
    assert spooled(library) == []


def test_a_job_whose_end_was_written_down_is_not_done_again(tmp_path, data, reopen, reader):
    kill(tmp_path / "home", "after the word", data)
    library = reopen()
    (job,) = go_on(library)
    assert (job.state, job.result.status) == ("done", "added")
    assert not reader.reading.is_set()
    check_whole(library)


def test_an_upload_that_was_not_acknowledged_leaves_nothing_for_long(tmp_path, data, reopen):
    assert kill(tmp_path / "home", "before the upload is acknowledged", data) == ""
    library = reopen()
    (left,) = spooled(library)
    os.utime(left, (0, 0))
    assert go_on(library) == []
    assert (library.sources(), spooled(library)) == ([], [])


def test_a_folder_goes_on_where_it_was_and_says_of_each_file_what_it_did(tmp_path, data, reopen):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_bytes(name.encode() * 5 + NOTES[:600])
    library = reopen()
    library.add_bytes("twin.txt", (folder / "a.txt").read_bytes())
    kill(tmp_path / "home", "in the middle of a folder", data, folder)
    (job,) = go_on(library)
    assert [result.status for result in job.results] == ["unchanged", "added", "added"]
    assert len(library.sources()) == 3
    check_whole(library)


def test_what_a_dead_process_worked_on_is_taken_up_while_another_lives(library, monkeypatch):
    monkeypatch.setattr(jobs_module, "_POLL_SECONDS", 0.01)
    rows = JobQueue(library._database)
    jobs = IngestJobs(library._database, library)
    jobs.submit_bytes("first.txt", b"First.")
    wait_until(lambda: not jobs.active)
    rows.add(new_job("orphan", "upload", "", "second.txt", "Documents"))
    jobs._spool.put("orphan", b"Second.")
    rows.claim("999999999-1")
    wait_until(lambda: not jobs.active)
    assert [job.result.status for job in jobs.jobs()] == ["added", "added"]
    jobs.close()
