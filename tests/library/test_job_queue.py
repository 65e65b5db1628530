"""The queue in the database: what one process does leaves the jobs of the others alone."""

import pytest

from crag.library import job_queue
from crag.library.job_queue import JobQueue, new_job
from crag.storage.engine import Database
from crag.storage.ownership import current_process_name
from crag.types import AddResult, Progress, Refusal, new_account_id

DEAD = "1-1-worker"


@pytest.fixture
def queue(tmp_path):
    database = Database(tmp_path / "home")
    yield JobQueue(database)
    database.close()


def add(queue, *job_ids):
    for job_id in job_ids:
        queue.add(new_job(job_id, "path", f"{job_id}.txt", job_id, "Documents"))


def states(queue):
    return {job.id: job.state for job in queue.all()}


def test_only_the_jobs_of_one_owner_wait_again_and_those_cancelled_end(queue):
    add(queue, "kept", "stopped", "of another", "new")
    for owner in (DEAD, DEAD, current_process_name()):
        queue.claim(owner)
    queue.cancel(["stopped"])
    queue.release(DEAD)
    assert states(queue) == {"kept": "waiting", "stopped": "cancelled", "of another": "working", "new": "waiting"}
    assert {job.id for job in queue.all() if job.resumed} == {"kept"}


def test_only_a_job_during_which_processes_died_is_given_up(queue):
    add(queue, "deadly", "of another", "done")
    queue.claim(DEAD)
    queue.claim(current_process_name())
    queue.claim(DEAD)
    queue.finish("done", DEAD, "done", [])
    assert not any(job.has_failed for job in queue.all())
    for _ in range(5):
        assert states(queue) == {"deadly": "working", "of another": "working", "done": "done"}
        queue.recover()
        queue.claim(DEAD)
    assert states(queue) == {"deadly": "failed", "of another": "working", "done": "done"}
    (given_up,) = (job for job in queue.all() if job.has_failed)
    assert (given_up.id, given_up.result.error.code) == ("deadly", "corrupt")
    assert "stopped 5 times" in given_up.result.error.message
    assert {job.id for job in queue.all() if job.options} == {"deadly"}, "attempts are counted for each job"


def test_only_jobs_that_ended_are_dismissed_one_or_all(queue):
    add(queue, "failed", "stopped", "running", "done", "new")
    for job_id, state in (("failed", "failed"), ("stopped", ""), ("running", ""), ("done", "done")):
        queue.claim(DEAD)
        if state:
            queue.finish(job_id, DEAD, state, [])
    queue.cancel(["stopped"])
    queue.release(DEAD)
    queue.claim(DEAD)
    assert [job.id for job in queue.all() if job.finished] == ["failed", "stopped", "done"]
    assert queue.dismiss("failed") == ["failed"]
    assert queue.dismiss("running") == []
    assert {*queue.dismiss()} == {"stopped", "done"}
    assert states(queue) == {"running": "working", "new": "waiting"}


def test_a_folder_without_files_has_failed(queue):
    add(queue, "empty")
    queue.claim(DEAD)
    queue.finish("empty", DEAD, "failed", [])
    assert queue.all()[0].has_failed


def test_nobody_tries_the_job_of_another_again(queue):
    add(queue.for_user("account:ann"), "one")
    queue.claim(DEAD)
    queue.finish("one", DEAD, "failed", [])
    for user, state in (("account:ben", "failed"), ("account:ann", "waiting")):
        queue.for_user(user).retry(queue.all()[0])
        assert states(queue) == {"one": state}


def test_only_a_job_that_ended_is_tried_again(queue):
    add(queue, "busy")
    queue.retry(queue.claim(DEAD))
    refused = AddResult("a", None, "a", "failed", error=Refusal("corrupt", "Damaged."))
    queue.report("busy", DEAD, Progress("Reading"), [refused])
    assert not queue.all()[0].has_failed
    assert states(queue) == {"busy": "working"}


def test_finished_jobs_of_one_person_do_not_push_out_those_of_another(queue, monkeypatch):
    monkeypatch.setattr(job_queue, "_MAX_FINISHED_JOBS", 2)
    ann, ben = (queue.for_user(new_account_id()) for _ in range(2))
    for whose, job_ids in ((ann, ["failed"]), (ben, ["b1", "b2", "b3"])):
        for job_id in job_ids:
            add(whose, job_id)
            queue.claim(DEAD)
            queue.finish(job_id, DEAD, "failed", [])
    assert [job.id for job in ann.all()] == ["failed"]
    assert [job.id for job in ben.all()] == ["b2", "b3"]
    assert (ann.get("failed").state, ann.get("b3"), queue.get("b3").id) == ("failed", None, "b3")
