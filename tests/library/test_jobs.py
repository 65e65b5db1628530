"""Adding in the background."""

import time

import pytest

from crag.library import IngestJobs
from crag.library.spool import Spool


@pytest.fixture
def jobs(library):
    jobs = IngestJobs(library)
    yield jobs
    jobs.close()


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


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
    assert spooled(library) == []


def test_waiting_uploads_lie_on_disk_and_two_are_worked_on_at_once(jobs, library, reader):
    reader.may_end.clear()
    for n in range(4):
        jobs.submit_bytes(f"{n}.txt", f"Text {n}.".encode())
    wait_until(lambda: states(jobs).count("working") == 2)
    assert states(jobs) == ["working", "working", "waiting", "waiting"]
    assert len(spooled(library)) == 4
    reader.may_end.set()
    wait_until(lambda: states(jobs) == ["done"] * 4)
    assert len(library.sources()) == 4


def test_cancelling_ends_the_working_and_the_waiting_and_stores_nothing(jobs, library, reader):
    reader.may_end.clear()
    ids = [jobs.submit_bytes(f"{n}.txt", f"Text {n}.".encode()) for n in range(3)]
    wait_until(lambda: states(jobs).count("working") == 2)
    jobs.cancel(ids[2])
    assert states(jobs)[2] == "cancelled"
    jobs.cancel(ids[0])
    wait_until(lambda: states(jobs)[0] == "cancelled", 2.0)
    jobs.cancel_all()
    wait_until(lambda: not jobs.active, 2.0)
    assert states(jobs) == ["cancelled"] * 3
    wait_until(lambda: spooled(library) == [])
    assert library.sources() == []
    jobs.cancel("unknown")


def test_only_finished_jobs_are_dismissed(jobs, reader):
    reader.may_end.clear()
    first = jobs.submit_bytes("a.txt", b"A.")
    wait_until(lambda: states(jobs) == ["working"])
    jobs.dismiss(first)
    jobs.dismiss_finished()
    assert states(jobs) == ["working"]
    reader.may_end.set()
    wait_until(lambda: states(jobs) == ["done"])
    jobs.dismiss(first)
    assert jobs.jobs() == []


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


def test_closing_cancels_and_empties_the_spool(library, reader):
    jobs = IngestJobs(library)
    reader.may_end.clear()
    for n in range(4):
        jobs.submit_bytes(f"{n}.txt", b"Text.")
    jobs.close()
    assert states(jobs) == ["cancelled"] * 4
    assert list((library.home / "incoming").iterdir()) == []


def test_what_dead_processes_left_in_the_spool_is_removed(tmp_path):
    for name in ("999999999-1-ab", "nonsense"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x")
    living = Spool(tmp_path)
    kept = living.put(b"data")
    Spool(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [kept]
