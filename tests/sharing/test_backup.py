"""Backing up a whole home while others write, and faults of the file or disk."""

import io
import os
import signal
import stat
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from crag.cancellation import Cancellation
from crag.errors import BadRequest, Stopped
from crag.sharing import backup
from crag.sharing.backup import write_backup
from crag.storage.engine import Database
from crag.storage.tables import jobs, runs
from crag.types import ignore_progress
from tests.crashing import Forked
from tests.doubles.library import open_library
from tests.sharing.backups import NOTES, left, opened_whole, restore, save
from tests.waiting import PATIENCE


def test_what_was_saved_is_put_back(saved, tmp_path):
    done = restore(saved, tmp_path / "new" / "home")
    assert (done.manifest.sources, done.moved_aside, done.manifest.missing) == (2, None, [])
    assert opened_whole(tmp_path / "new" / "home") == (
        {"notes.md", "cats.md"},
        ["It whistles when the water boils."],
    )
    assert left(tmp_path) == ["home", "new", "saved.backup"]
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_nothing_but_the_library_is_in_it(library, tmp_path):
    library.pipeline.add_bytes("notes.md", NOTES)
    library.search("kettle")
    library.save()
    for name in (".env", "index/other.faiss", "originals/.env", "key.txt"):
        (library.home / name).write_text("TAVILY_API_KEY=secret")
    save(library, tmp_path / "saved")
    with zipfile.ZipFile(tmp_path / "saved") as archive:
        kinds = {name.split("/")[0] for name in archive.namelist()}
        assert kinds == {"crag.sqlite", "originals", "manifest.json"}
        assert b"secret" not in b"".join(archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize(("remove", "options"), [("remove", {}), ("discard", {}), ("discard", {"kept_seconds": 3_600})])
def test_what_was_removed_is_not_in_a_later_backup(library, tmp_path, remove, options):
    added = library.pipeline.add_bytes("secret.md", b"The code word is Quetzalcoatl.\n")
    getattr(library, remove)([added.id], **options)
    save(library, tmp_path / "saved")
    with zipfile.ZipFile(tmp_path / "saved") as archive:
        assert b"Quetzalcoatl" not in archive.read("crag.sqlite")
        assert not any(name.startswith("originals/") for name in archive.namelist())


def test_saving_goes_on_while_others_add_and_remove(library, tmp_path):
    """A second connection for each thread, as other processes would have."""
    end = threading.Event()
    library.pipeline.add_bytes("kept.md", NOTES)

    def churn(name):
        for n in range(10_000):
            added = library.pipeline.add_bytes(f"{name} {n}.md", f"{name} says {n}.\nAnd more of {n}.\n".encode())
            if n % 3:
                library.remove([added.id])
            if end.is_set():
                return

    with ThreadPoolExecutor(2) as threads:
        churning = threads.map(churn, ("one", "two"))
        manifests = [save(library, tmp_path / f"saved-{n}") for n in range(3)]
        end.set()
        list(churning)
    for n, manifest in enumerate(manifests):
        assert manifest.missing == []
        restore(tmp_path / f"saved-{n}", tmp_path / f"home-{n}")
        titles, found = opened_whole(tmp_path / f"home-{n}")
        assert len(titles) == manifest.sources
        assert "kept.md" in titles
        assert found == ["It whistles when the water boils."]


def test_a_document_removed_while_it_is_saved_is_left_out(library, tmp_path, monkeypatch):
    library.pipeline.add_bytes("notes.md", NOTES)
    gone = library.pipeline.add_bytes("gone.md", b"A dog barks.\n")
    disown = backup._release_ownership
    monkeypatch.setattr(backup, "_release_ownership", lambda copy: (disown(copy), library.remove([gone.id])))
    assert save(library, tmp_path / "saved").sources == 1
    restore(tmp_path / "saved", tmp_path / "new")
    assert opened_whole(tmp_path / "new")[0] == {"notes.md"}


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"rotten")])
def test_a_lost_original_is_reported_and_the_rest_saved(library, tmp_path, spoil):
    added = library.pipeline.add_bytes("notes.md", NOTES)
    library.pipeline.add_bytes("cats.md", b"A cat sleeps all day.\n")
    spoil(library.original_path(added.id))
    manifest = save(library, tmp_path / "saved")
    assert manifest.missing == [library.source(added.id).sha256]
    assert restore(tmp_path / "saved", tmp_path / "new").manifest.sources == 2
    reopened = open_library(tmp_path / "new")
    assert reopened.search("kettle", k=1)[0].text == "A kettle boils water."
    assert reopened.original_path(added.id) is None
    reopened._database.close()


def add_job(library, job_id, state, owner=""):
    values = {"kind": "upload", "spec": "", "name": "up.md", "collection": "Documents", "submitted_at": 1.0}
    with library._database.write() as connection:
        connection.execute(insert(jobs), values | {"id": job_id, "state": state, "owner": owner})


def test_waiting_uploads_are_saved_with_their_jobs_without_owner(library, tmp_path):
    from crag.storage.ownership import current_process_name

    (library.home / "incoming").mkdir()
    for job_id in ("aa", "bb", "cc"):
        (library.home / "incoming" / job_id).write_bytes(NOTES)
    add_job(library, "aa", "waiting")
    add_job(library, "bb", "working", current_process_name())
    add_job(library, "cc", "done")
    add_job(library, "dd", "waiting")  # its upload is gone: it has just ended
    with library._database.write() as connection:
        run = {"id": "r", "question": "?", "state": "running", "owner": current_process_name(), "started_at": 1.0}
        connection.execute(insert(runs), run)
    save(library, tmp_path / "saved")
    restore(tmp_path / "saved", tmp_path / "new")
    database = Database(tmp_path / "new")
    with database.read() as connection:
        held = connection.execute(select(jobs.c.id, jobs.c.state, jobs.c.owner)).all()
        assert held == [("aa", "waiting", ""), ("bb", "waiting", ""), ("cc", "done", "")]
        assert connection.scalar(select(runs.c.owner)) == ""
    database.close()
    assert left(tmp_path / "new" / "incoming") == ["aa", "bb"]


def test_saving_writes_over_nothing_and_can_be_stopped(library, tmp_path):
    library.pipeline.add_bytes("notes.md", NOTES)
    (tmp_path / "there").write_text("mine")
    begun = []
    with pytest.raises(BadRequest, match="already exists"):
        write_backup(library._database, tmp_path / "there", begun.append, Cancellation())
    assert begun == []
    stop = Cancellation()
    stop.cancel()
    with pytest.raises(Stopped):
        write_backup(library._database, tmp_path / "saved", ignore_progress, stop)
    assert left(tmp_path) == ["home", "there"]
    assert (tmp_path / "there").read_text() == "mine"


# The place ---------------------------------------------------------------------------------------------------------


def test_an_empty_folder_will_do(saved, tmp_path):
    (tmp_path / "empty").mkdir()
    assert restore(saved, tmp_path / "empty").moved_aside is None
    assert opened_whole(tmp_path / "empty")[0] == {"notes.md", "cats.md"}


def test_a_folder_that_holds_anything_is_refused_or_moved_aside(saved, tmp_path):
    old = tmp_path / "old"
    open_library(old)._database.close()
    (old / "own.txt").write_text("mine")
    with pytest.raises(BadRequest, match="already contains a library"):
        restore(saved, old)
    assert (old / "own.txt").exists()
    done = restore(saved, old, replace=True)
    assert (done.moved_aside / "own.txt").read_text() == "mine"
    assert (done.moved_aside / "crag.sqlite").is_file()
    assert opened_whole(old)[0] == {"notes.md", "cats.md"}


def test_a_home_in_use_is_not_replaced(library, saved):
    with pytest.raises(BadRequest, match="is running"):
        restore(saved, library.home, replace=True)
    assert len(library.sources()) == 2


def test_a_damaged_home_can_be_replaced(saved, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "crag.sqlite").write_text("not a database " * 1000)
    restore(saved, tmp_path / "old", replace=True)
    assert opened_whole(tmp_path / "old")[0] == {"notes.md", "cats.md"}


def test_a_file_is_no_home(saved, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadRequest, match="is a file"):
        restore(saved, tmp_path / "file", replace=True)


# Killed in the middle ------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from crag.cancellation import Cancellation
from crag.sharing import backup, restore
from crag.storage.engine import Database
from crag.types import ignore_progress

file, home, point = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if point in ("copied", "filled"):
    setattr(backup, {"copied": "_release_ownership", "filled": "move_into_place"}[point], die)
    backup.write_backup(Database(home), file, ignore_progress, Cancellation())
else:
    setattr(restore, {"unpacked": "_check_database", "checked": "_move_into_place"}[point], die)
    restore.restore_backup(file, home, ignore_progress, Cancellation())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("point", ["copied", "filled", "unpacked", "checked"])
def test_a_kill_leaves_no_file_and_the_next_backup_cleans_up(library, saved, tmp_path, point):
    saving = point in ("copied", "filled")
    file, home = (tmp_path / "second", library.home) if saving else (saved, tmp_path / "new")
    with Forked(KILLED, file, home, point) as process:
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert not (file if saving else home).exists()
    assert any(name.endswith(".unfinished") for name in left(tmp_path))
    if saving:
        save(library, file)
    else:
        restore(file, home)
    assert not any(name.endswith(".unfinished") for name in left(tmp_path))


def test_the_bytes_of_a_backup_are_a_plain_zip(saved):
    assert zipfile.ZipFile(io.BytesIO(saved.read_bytes())).testzip() is None
