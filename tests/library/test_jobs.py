"""Adding in the background, with processes that are killed and jobs that the next one resumes."""

import io
import os
import signal
import time
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import text

from crag.errors import BadRequest, HomeFault
from crag.ingest.site import SiteLimits
from crag.library import jobs as jobs_module
from crag.library.job_queue import JobQueue, UploadSpool, new_job
from crag.library.jobs import IngestJobs
from crag.retrieval import embedding_batches
from crag.types import Progress
from tests.crashing import NOTES, Forked, check_whole
from tests.waiting import PATIENCE, wait_until

needs_sigkill = pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
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
files = {file.name: None for path in folder for file in sorted(path.iterdir())}
print(jobs.submit_files(*folder, files) if folder else jobs.submit_bytes("notes.txt", data), flush=True)
acknowledged.set()
time.sleep(30)
"""


@pytest.fixture
def jobs(library):
    jobs = open_jobs(library)
    yield jobs
    jobs.close()


def open_jobs(library):
    return IngestJobs(library._database, library)


def states(jobs):
    return [job.state for job in jobs.jobs()]


def spooled(library):
    return [path for path in (library.home / "incoming").rglob("*") if path.is_file()]


def test_jobs_run_to_their_end_and_say_what_became_of_each(jobs, library):
    jobs.submit_bytes("../notes.md", b"The cat sleeps.", "Papers")
    jobs.submit_bytes("bad.txt", b"REFUSE")
    jobs.submit_url("http://127.0.0.1:9/page")
    wait_until(lambda: not jobs.active)
    done, bad, blocked = jobs.jobs()
    assert (done.name, done.collection, done.state, done.result.status) == ("notes.md", "Papers", "done", "added")
    assert (bad.state, bad.result.error.code) == ("failed", "corrupt")
    assert (blocked.state, blocked.result.error.code) == ("failed", "blocked_url")
    assert library.search("cat")[0].text == "The cat sleeps."
    wait_until(lambda: [path.name for path in spooled(library)] == [bad.id])  # kept for another attempt


def test_waiting_uploads_are_spooled_and_two_jobs_run_at_once(jobs, library, reader):
    reader.may_end.clear()
    for n in range(4):
        jobs.submit_bytes(f"{n}.txt", f"Text {n}.".encode())
    wait_until(lambda: states(jobs).count("working") == 2)
    assert states(jobs) == ["working", "working", "waiting", "waiting"]
    assert len(spooled(library)) == 4
    reader.may_end.set()
    wait_until(lambda: states(jobs) == ["done"] * 4)
    assert len(library.sources()) == 4


def test_cancelling_ends_running_and_waiting_jobs(jobs, library, reader):
    reader.may_end.clear()
    ids = [jobs.submit_bytes(f"{n}.txt", f"Text {n}.".encode()) for n in range(3)]
    wait_until(lambda: states(jobs).count("working") == 2)
    jobs.cancel(ids[2])
    assert states(jobs)[2] == "cancelled"
    jobs.cancel(ids[0])
    wait_until(lambda: states(jobs)[0] == "cancelled")
    jobs.cancel_all()
    wait_until(lambda: not jobs.active)
    assert states(jobs) == ["cancelled"] * 3
    wait_until(lambda: spooled(library) == [])
    assert library.sources() == []
    jobs.cancel("unknown")


def test_only_the_named_jobs_are_cancelled(library):
    rows = JobQueue(library._database)
    for name in "abcd":
        rows.add(new_job(name, "files", "", "a.txt", "Documents"))
    assert [rows.claim(f"{n}-1").id for n in range(2)] == ["a", "b"]
    assert rows.cancel(["a", "c"]) == ["c"]
    assert rows.cancelled(["a", "b"]) == {"a"}
    assert [job.state for job in rows.all()] == ["working", "working", "cancelled", "waiting"]


def test_only_its_owner_reports_on_a_job_and_ends_it(library):
    rows = JobQueue(library._database)
    rows.add(new_job("a", "files", "", "a.txt", "Documents"))
    rows.claim("1-1")
    rows.report("a", "2-2", Progress("Reading", 1, 2), [])
    rows.finish("a", "2-2", "done", [])
    assert [(job.state, job.progress.done) for job in rows.all()] == [("working", 0)]
    rows.report("a", "1-1", Progress("Reading", 1, 2), [])
    rows.finish("a", "1-1", "failed", [])
    assert [(job.state, job.progress.done, job.has_failed) for job in rows.all()] == [("failed", 1, True)]
    rows.finish("a", "1-1", "done", [])
    assert [job.state for job in rows.all()] == ["failed"], "it has ended already"


def test_a_failure_of_the_home_or_a_bad_name_fails_the_job_alone(jobs, library):
    jobs.submit_bytes("a.txt", b"A.", "x" * 100)
    (library.home / "originals").write_text("in the way")
    jobs.submit_bytes("b.txt", b"B.")
    wait_until(lambda: not jobs.active)
    name, disk = jobs.jobs()
    assert (name.state, name.result.error.code) == ("failed", "bad_request")
    assert (disk.state, disk.result.error.code) == ("failed", "home")
    (library.home / "originals").unlink()
    jobs.submit_bytes("b.txt", b"B.")
    wait_until(lambda: states(jobs)[-1] == "done")


def test_a_defect_in_a_reader_fails_its_job_alone(jobs):
    jobs.submit_bytes("a.txt", b"\xff\xfe")
    jobs.submit_bytes("b.txt", b"B.")
    wait_until(lambda: not jobs.active)
    assert states(jobs) == ["failed", "done"]
    assert "Traceback" not in jobs.jobs()[0].result.error.message


def test_the_index_is_written_when_all_is_quiet(jobs, library):
    library.warm()
    jobs.submit_bytes("a.txt", b"A.")
    wait_until(lambda: (library.home / "index").exists() and any((library.home / "index").glob("*.faiss")))


def test_closing_pauses_jobs_for_the_next_process(library, reader, reopen):
    jobs = open_jobs(library)
    reader.may_end.clear()
    for n in range(4):
        jobs.submit_bytes(f"{n}.txt", f"Text {n}.".encode())
    wait_until(lambda: states(jobs).count("working") == 2)
    jobs.close()
    assert states(jobs) == ["waiting"] * 4
    assert len(spooled(library)) == 4
    reader.may_end.set()
    later = open_jobs(reopen())
    assert states(later) == ["waiting"] * 4
    later.resume()
    wait_until(lambda: not later.active)
    assert [(job.name, job.result.status) for job in later.jobs()] == [(f"{n}.txt", "added") for n in range(4)]
    wait_until(lambda: not spooled(library))
    later.close()


def test_finished_jobs_survive_a_restart_until_dismissed(jobs, library, reopen):
    jobs.submit_bytes("a.txt", b"A.")
    jobs.submit_bytes("bad.txt", b"REFUSE")
    wait_until(lambda: not jobs.active)
    jobs.close()
    later = open_jobs(reopen())
    done, bad = later.jobs()
    assert (done.state, done.result.status, done.result.passages) == ("done", "added", 1)
    assert (bad.state, bad.result.error.message) == ("failed", "The file is damaged. Open it and save it again.")
    later.dismiss_finished()
    assert jobs.jobs() == later.jobs() == []


def test_a_folder_is_one_job_with_a_result_for_each_file(jobs, library, tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    texts = {"a.txt": "Alpha.", "b.txt": "REFUSE", "c.txt": "Gamma."}
    for name, content in texts.items():
        (folder / name).write_text(content)
    jobs.submit_files(folder, dict.fromkeys(texts))
    wait_until(lambda: not jobs.active)
    (job,) = jobs.jobs()
    assert (job.name, job.state) == ("papers", "done")
    assert [(Path(result.source).name, result.status) for result in job.results] == [
        ("a.txt", "added"),
        ("b.txt", "failed"),
        ("c.txt", "added"),
    ]
    assert len(library.sources()) == 2


def test_a_cancelled_folder_keeps_what_was_added(jobs, library, reader, tmp_path):
    names = [f"{number:02}.txt" for number in range(17)]  # one more than are stored at once
    for name in names:
        (tmp_path / name).write_text(f"Text {name}.")
    jobs.submit_files(tmp_path, dict.fromkeys(names[:16]))
    wait_until(lambda: not jobs.active)
    reader.may_end.clear()
    folder = jobs.submit_files(tmp_path, dict.fromkeys(names))
    wait_until(lambda: len(jobs.jobs()[-1].results) == 16)
    jobs.cancel(folder)
    wait_until(lambda: not jobs.active)
    job = jobs.jobs()[-1]
    assert (job.state, [result.status for result in job.results]) == ("cancelled", ["unchanged"] * 16)
    assert len(library.sources()) == 16


def test_every_process_shows_the_jobs_of_all_and_can_cancel_them(jobs, library, reader, reopen):
    reader.may_end.clear()
    for n in range(3):
        jobs.submit_bytes(f"{n}.txt", f"Text {n}.".encode())
    wait_until(lambda: states(jobs).count("working") == 2)
    other = open_jobs(reopen())
    assert states(other) == ["working", "working", "waiting"]
    other.cancel_all()
    wait_until(lambda: states(jobs) == ["cancelled"] * 3)
    assert library.sources() == []
    wait_until(lambda: spooled(library) == [])


def test_another_process_takes_up_what_waits(library, reader, reopen):
    first, second = open_jobs(library), open_jobs(reopen())
    reader.may_end.clear()
    for n in range(4):
        first.submit_bytes(f"{n}.txt", f"Text {n}.".encode())
    second.resume()
    wait_until(lambda: states(first) == ["working"] * 4)
    reader.may_end.set()
    wait_until(lambda: not first.active)
    assert [job.result.status for job in first.jobs()] == ["added"] * 4
    first.close()
    second.close()


def test_a_disk_that_is_full_when_a_job_ends_delays_its_end(jobs, library, monkeypatch):
    original, failures = JobQueue.finish, [HomeFault("The disk is full.")] * 2

    def finish(*arguments):
        if failures:
            raise failures.pop()
        original(*arguments)

    monkeypatch.setattr(JobQueue, "finish", finish)
    monkeypatch.setattr(jobs_module, "_REPORT_SECONDS", 0.01)
    jobs.submit_bytes("a.txt", b"A.")
    wait_until(lambda: states(jobs) == ["done"])
    assert failures == []


def test_an_upload_whose_bytes_were_taken_away_says_so(library, reader):
    jobs = open_jobs(library)
    reader.may_end.clear()
    for n in range(3):
        jobs.submit_bytes(f"{n}.txt", f"Text {n}.".encode())
    wait_until(lambda: states(jobs).count("working") == 2)
    (library.home / "incoming" / jobs.jobs()[2].id).unlink()
    reader.may_end.set()
    wait_until(lambda: not jobs.active)
    assert jobs.jobs()[2].result.error.message == "The upload no longer exists. Add it again."
    jobs.close()


def test_an_upload_that_cannot_be_kept_is_refused_at_once(jobs, library):
    (library.home / "incoming").write_text("in the way")
    with pytest.raises(HomeFault):
        jobs.submit_bytes("a.txt", b"A.")
    assert jobs.jobs() == []


def test_a_password_in_an_address_is_gone_when_its_job_ends(jobs, library):
    jobs.submit_url("http://user:hunter2@127.0.0.1:9/page")
    wait_until(lambda: not jobs.active)
    with library._database.read() as connection:
        assert "hunter2" not in str(connection.execute(text("SELECT * FROM jobs")).all())


@pytest.mark.parametrize(("seconds", "batches"), [(60.0, [4, 8, 16, 32, 32, 8]), (0.0, [4] * 25)])
def test_a_slow_model_is_given_few_passages_at_once(library, embedder, monkeypatch, seconds, batches):
    monkeypatch.setattr(embedding_batches, "_TARGET_BATCH_SECONDS", seconds)
    before = []
    embedder.before_batch = lambda: before.append(embedder.embedded)
    library.pipeline.add_bytes("notes.txt", NOTES)
    sizes = [after - first for first, after in zip(before, [*before[1:], embedder.embedded], strict=True)]
    assert sizes[-len(batches) :] == batches


def test_the_spool_removes_what_is_of_no_job_once_it_is_old(tmp_path):
    spool = UploadSpool(tmp_path)
    wanted, young, old = "aa", "bb", "cc"
    for name in (wanted, young, old, "old-folder"):
        spool.put(name, b"x") if "folder" not in name else (tmp_path / name).mkdir()
        if name != young:
            os.utime(tmp_path / name, (time.time() - 7200,) * 2)
    spool.keep_only({wanted})
    assert {path.name for path in tmp_path.iterdir()} == {wanted, young}


@pytest.mark.parametrize("name", ["../own.txt", "/etc/hosts", "", "..", "a/b"])
def test_the_spool_touches_no_other_file(tmp_path, name):
    (tmp_path / "own.txt").write_text("mine")
    (tmp_path / "spool").mkdir()
    spool = UploadSpool(tmp_path / "spool")
    for act in (spool.get, spool.holds, spool.remove, lambda job_id: spool.put(job_id, b"theirs")):
        with pytest.raises(ValueError, match="not the id of a job"):
            act(name)
    assert (tmp_path / "own.txt").read_text() == "mine"


def test_a_collection_in_use_by_a_job_cannot_be_changed(jobs, library, reader):
    library.pipeline.add_bytes("dogs.txt", b"Dogs bark.", collection="Animals")
    reader.may_end.clear()
    jobs.submit_bytes("cats.txt", b"Cats sleep.", "Animals")
    for change in (lambda: library.rename_collection("Animals", "Pets"), lambda: library.delete_collection("Animals")):
        with pytest.raises(BadRequest, match="being added"):
            change()
    reader.may_end.set()
    wait_until(lambda: not jobs.active)
    library.rename_collection("Animals", "Pets")
    assert [(one.name, one.sources) for one in library.collections()][1:] == [("Pets", 2)]


def kill(*arguments):
    """What the process acknowledged before it was killed."""
    with Forked(KILLED, *arguments) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    return output.strip()


def go_on(library):
    jobs = IngestJobs(library._database, library)
    jobs.resume()
    wait_until(lambda: not jobs.active)
    ended = jobs.jobs()
    jobs.close()
    return ended


@needs_sigkill
@pytest.mark.parametrize(
    "point",
    ["before it is taken up", "embedding", "inside the transaction", "after the commit", "before the word"],
)
def test_an_acknowledged_upload_is_added_exactly_once(tmp_path, data, reopen, point):
    job_id = kill(tmp_path / "home", point, data)
    library = reopen()
    check_whole(library)
    (job,) = go_on(library)
    assert (job.id, job.state, job.result.status, job.result.title) == (job_id, "done", "added", "notes.txt")
    (source,) = library.sources()
    assert (source.id, source.passages) == (job.result.id, 100)
    check_whole(library)
    assert spooled(library) == []


@needs_sigkill
def test_a_job_whose_end_was_written_down_is_not_done_again(tmp_path, data, reopen, reader):
    kill(tmp_path / "home", "after the word", data)
    library = reopen()
    (job,) = go_on(library)
    assert (job.state, job.result.status) == ("done", "added")
    assert not reader.reading.is_set()
    check_whole(library)


@needs_sigkill
def test_an_unacknowledged_upload_leaves_nothing_behind(tmp_path, data, reopen):
    assert kill(tmp_path / "home", "before the upload is acknowledged", data) == ""
    library = reopen()
    (left,) = spooled(library)
    os.utime(left, (0, 0))
    assert go_on(library) == []
    assert (library.sources(), spooled(library)) == ([], [])


@needs_sigkill
def test_a_folder_resumes_and_reports_each_file(tmp_path, data, reopen):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_bytes(name.encode() * 5 + NOTES[:600])
    library = reopen()
    library.pipeline.add_bytes("twin.txt", (folder / "a.txt").read_bytes())
    kill(tmp_path / "home", "in the middle of a folder", data, folder)
    (job,) = go_on(library)
    assert [result.status for result in job.results] == ["unchanged", "added", "added"]
    assert len(library.sources()) == 3
    check_whole(library)


@needs_sigkill
def test_the_job_of_a_dead_process_is_taken_up_by_a_living_one(library, monkeypatch):
    monkeypatch.setattr(jobs_module, "_POLL_SECONDS", 0.01)
    rows = JobQueue(library._database)
    jobs = IngestJobs(library._database, library)
    jobs.submit_bytes("first.txt", b"First.")
    wait_until(lambda: not jobs.active)
    jobs._spool.put("cafe", b"Second.")  # first: the worker may see the row as soon as it is there
    rows.add(new_job("cafe", "upload", "", "second.txt", "Documents"))
    rows.claim("999999999-1")
    wait_until(lambda: not jobs.active)
    assert [job.result.status for job in jobs.jobs()] == ["added", "added"]
    jobs.close()


@pytest.mark.parametrize(
    ("typed", "fetched"),
    [
        ("127.0.0.1.example:9/page", "https://127.0.0.1.example:9/page"),
        (" example.invalid ", "https://example.invalid"),
        ("http://example.invalid/a", "http://example.invalid/a"),
        ("no address", "no address"),
    ],
)
def test_an_address_without_a_scheme_is_fetched_by_https(library, typed, fetched):
    jobs = IngestJobs(library._database, library)
    jobs.submit_url(typed)
    jobs.submit_site(typed, SiteLimits())
    assert [job.name for job in jobs.jobs()] == [fetched, fetched]
    jobs.close()


def packed(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text_of_it in members.items():
            archive.writestr(name.replace("_", "."), text_of_it)
    return out.getvalue()


def test_what_failed_can_be_tried_again_as_long_as_its_row_stands(jobs, library, monkeypatch):
    monkeypatch.setattr(library.pipeline, "_limit_bytes", 20)
    jobs.submit_bytes("notes.zip", packed(a_txt="A cat sleeps.", b_txt="This one is over the limit."))
    wait_until(lambda: states(jobs) == ["done"])
    (job,) = jobs.jobs()
    assert [result.status for result in job.results] == ["added", "failed"]
    assert jobs.can_retry(job)
    jobs.retry(job.id)
    wait_until(lambda: states(jobs) == ["done"])
    assert [result.status for result in jobs.jobs()[0].results] == ["added", "failed"]
    monkeypatch.setattr(library.pipeline, "_limit_bytes", 1000)
    jobs.retry(job.id)
    wait_until(lambda: [result.status for result in jobs.jobs()[0].results] == ["added", "added"])
    wait_until(lambda: states(jobs) == ["done"])
    assert not jobs.can_retry(jobs.jobs()[0])
    wait_until(lambda: not spooled(library))


def test_an_upload_that_failed_is_kept_until_it_is_dismissed(jobs, library):
    job_id = jobs.submit_bytes("empty.txt", b"")
    wait_until(lambda: states(jobs) == ["failed"])
    assert len(spooled(library)) == 1
    jobs.dismiss(job_id)
    assert spooled(library) == []


def test_an_address_with_a_password_is_not_kept_for_another_attempt(jobs):
    jobs.submit_url("http://user:secret@127.0.0.1:9/")
    jobs.submit_url("http://127.0.0.1:9/")
    wait_until(lambda: states(jobs) == ["failed", "failed"])
    assert [jobs.can_retry(job) for job in jobs.jobs()] == [False, True]
