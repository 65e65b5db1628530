"""A whole home in one file and back, taken while others write, and whatever is wrong with the file or the place."""

import io
import json
import os
import signal
import sqlite3
import stat
import threading
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from crag.database import Database
from crag.database.tables import jobs, runs
from crag.errors import BadRequest, CragError, Stopped
from crag.library.exchange import backup as backups
from crag.library.exchange.backup import write_backup
from crag.library.exchange.restore import restore_backup
from crag.progress import silent
from crag.stopping import Stop
from tests.doubles.library import open_library
from tests.library.crashing import check_whole, python

NOTES = b"# Kettles\nA kettle boils water.\nIt whistles when the water boils.\n"


def save(library, path):
    return write_backup(library._database, path, silent, Stop())


def restore(path, home, **options):
    return restore_backup(path, home, silent, Stop(), **options)


@pytest.fixture
def saved(library, tmp_path):
    """A backup of a home with two documents."""
    library.add_bytes("notes.md", NOTES)
    library.add_bytes("cats.md", b"A cat sleeps all day.\n", collection="Animals")
    save(library, tmp_path / "saved.backup")
    return tmp_path / "saved.backup"


def opened_whole(home):
    """The titles in a restored home, once it was found whole, and what it finds."""
    library = open_library(home)
    try:
        check_whole(library)
        return {source.title for source in library.sources()}, [hit.text for hit in library.search("whistles", k=1)]
    finally:
        library._database.close()


def left(folder):
    """What lies in a folder, workplaces too."""
    return sorted(path.name for path in folder.iterdir())


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
    library.add_bytes("notes.md", NOTES)
    library.search("kettle")
    library.save()
    for name in (".env", "index/other.faiss", "originals/.env", "key.txt"):
        (library.home / name).write_text("TAVILY_API_KEY=secret")
    save(library, tmp_path / "saved")
    with zipfile.ZipFile(tmp_path / "saved") as archive:
        kinds = {name.split("/")[0] for name in archive.namelist()}
        assert kinds == {"crag.sqlite", "originals", "manifest.json"}
        assert b"secret" not in b"".join(archive.read(name) for name in archive.namelist())


def test_what_was_removed_is_not_in_a_later_backup(library, tmp_path):
    added = library.add_bytes("secret.md", b"The code word is Quetzalcoatl.\n")
    library.remove([added.id])
    save(library, tmp_path / "saved")
    with zipfile.ZipFile(tmp_path / "saved") as archive:
        assert b"Quetzalcoatl" not in archive.read("crag.sqlite")


def test_saving_goes_on_while_others_add_and_remove(library, tmp_path):
    """A second connection for each thread, as other processes would have."""
    end, failures = threading.Event(), []
    library.add_bytes("kept.md", NOTES)

    def churn(name):
        try:
            for n in range(10_000):
                added = library.add_bytes(f"{name} {n}.md", f"{name} says {n}.\nAnd more of {n}.\n".encode())
                if n % 3:
                    library.remove([added.id])
                if end.is_set():
                    return
        except Exception as error:  # noqa: BLE001 — a thread's failure is shown by the test
            failures.append(error)

    threads = [threading.Thread(target=churn, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    manifests = [save(library, tmp_path / f"saved-{n}") for n in range(3)]
    end.set()
    for thread in threads:
        thread.join()
    assert failures == []
    for n, manifest in enumerate(manifests):
        assert manifest.missing == []
        restore(tmp_path / f"saved-{n}", tmp_path / f"home-{n}")
        titles, found = opened_whole(tmp_path / f"home-{n}")
        assert len(titles) == manifest.sources
        assert "kept.md" in titles
        assert found == ["It whistles when the water boils."]


def test_a_document_removed_while_it_is_saved_is_left_out(library, tmp_path, monkeypatch):
    library.add_bytes("notes.md", NOTES)
    gone = library.add_bytes("gone.md", b"A dog barks.\n")
    disown = backups._disown
    monkeypatch.setattr(backups, "_disown", lambda copy: (disown(copy), library.remove([gone.id])))
    assert save(library, tmp_path / "saved").sources == 1
    restore(tmp_path / "saved", tmp_path / "new")
    assert opened_whole(tmp_path / "new")[0] == {"notes.md"}


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"rotten")])
def test_an_original_that_was_lost_before_is_said_and_the_rest_is_saved(library, tmp_path, spoil):
    added = library.add_bytes("notes.md", NOTES)
    library.add_bytes("cats.md", b"A cat sleeps all day.\n")
    spoil(library.original(added.id))
    manifest = save(library, tmp_path / "saved")
    assert manifest.missing == [library.source(added.id).sha256]
    assert restore(tmp_path / "saved", tmp_path / "new").manifest.sources == 2
    reopened = open_library(tmp_path / "new")
    assert reopened.search("kettle", k=1)[0].text == "A kettle boils water."
    assert reopened.original(added.id) is None
    reopened._database.close()


def add_job(library, job_id, state, owner=""):
    values = {"kind": "upload", "spec": "", "name": "up.md", "collection": "Documents", "submitted_at": 1.0}
    with library._database.write() as connection:
        connection.execute(insert(jobs), values | {"id": job_id, "state": state, "owner": owner})


def test_uploads_that_wait_go_with_their_jobs_and_belong_to_nobody(library, tmp_path):
    from crag.processes import this_process

    (library.home / "incoming").mkdir()
    for job_id in ("aa", "bb", "cc"):
        (library.home / "incoming" / job_id).write_bytes(NOTES)
    add_job(library, "aa", "waiting")
    add_job(library, "bb", "working", this_process())
    add_job(library, "cc", "done")
    add_job(library, "dd", "waiting")  # its upload is gone: it has just ended
    with library._database.write() as connection:
        run = {"id": "r", "question": "?", "state": "running", "owner": this_process(), "started_at": 1.0}
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
    library.add_bytes("notes.md", NOTES)
    (tmp_path / "there").write_text("mine")
    with pytest.raises(BadRequest, match="exists already"):
        save(library, tmp_path / "there")
    stop = Stop()
    stop.request()
    with pytest.raises(Stopped):
        write_backup(library._database, tmp_path / "saved", silent, stop)
    assert left(tmp_path) == ["home", "there"]
    assert (tmp_path / "there").read_text() == "mine"


# The place ---------------------------------------------------------------------------------------------------------


def test_an_empty_folder_will_do(saved, tmp_path):
    (tmp_path / "empty").mkdir()
    restore(saved, tmp_path / "empty")
    assert opened_whole(tmp_path / "empty")[0] == {"notes.md", "cats.md"}


def test_a_folder_that_holds_anything_is_refused_or_moved_aside(saved, tmp_path):
    old = tmp_path / "old"
    open_library(old)._database.close()
    (old / "own.txt").write_text("mine")
    with pytest.raises(BadRequest, match="library in this folder already"):
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


# The file ----------------------------------------------------------------------------------------------------------


def repacked(saved, change):
    """The backup with its members changed, its list of sizes and checksums made right again unless changed, too."""
    import hashlib

    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    change(members, manifest)
    for name, body in members.items():
        proved = {"size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        manifest["members"][name] = manifest["members"].get(name, proved) | manifest.pop(f"keep {name}", proved)
    with zipfile.ZipFile(saved, "w") as archive:
        for name, body in members.items():
            archive.writestr(name, body)
        archive.writestr("manifest.json", json.dumps(manifest))


def sql(*statements):
    """Changes the database in a backup."""

    def change(members, _):
        connection = sqlite3.connect(":memory:", isolation_level=None)
        body = bytearray(members["crag.sqlite"])
        body[18:20] = b"\x01\x01"  # no write-ahead log in memory: file format versions, SQLite's file format, 1.3
        connection.deserialize(bytes(body))
        for statement in statements:
            connection.execute(statement)
        members["crag.sqlite"] = connection.serialize()
        connection.close()

    return change


def original(members):
    return next(name for name in members if name.startswith("originals/"))


def rename(new):
    def change(members, manifest):
        old = original(members)
        members[new] = members.pop(old)
        del manifest["members"][old]

    return change


def lose_document(members, manifest):
    del manifest["members"][original(members)]
    del members[original(members)]


def spoil_database(members, _):
    body = bytearray(members["crag.sqlite"])
    body[5000:9000] = b"\xff" * 4000
    members["crag.sqlite"] = bytes(body)


HOSTILE = {
    "traversal": rename("../../evil"),
    "traversal within": rename("originals/aa/../../../evil"),
    "absolute": rename("/evil"),
    "settings": rename(".env"),
    "of another name": rename("originals/" + "ab/" + "ab" * 32),
    "no database": lambda members, manifest: (members.pop("crag.sqlite"), manifest["members"].pop("crag.sqlite")),
    "lacks a document": lose_document,
    "not listed": lambda members, manifest: members.update({"evil": b"x"}) or manifest.update({"keep evil": {}}),
    "lying size": lambda members, manifest: manifest.update({"keep crag.sqlite": {"size": 10, "sha256": "0" * 64}}),
    "lying checksum": lambda members, manifest: manifest.update({"keep crag.sqlite": {"sha256": "0" * 64}}),
    "enormous": lambda members, manifest: manifest.update({"keep crag.sqlite": {"size": 1 << 60}}),
    "negative": lambda members, manifest: manifest.update({"keep crag.sqlite": {"size": -5}}),
    "newer format": lambda members, manifest: manifest.update(version=99),
    "newer schema": lambda members, manifest: manifest.update(schema=99),
    "other format": lambda members, manifest: manifest.update(format="other"),
    "members are a list": lambda members, manifest: manifest.update(missing=3),
    "garbage database": lambda members, manifest: members.update({"crag.sqlite": b"garbage" * 1000}),
    "damaged database": spoil_database,
    "trigger": sql("CREATE TRIGGER t AFTER INSERT ON sources BEGIN DELETE FROM passages; END"),
    "view": sql("CREATE VIEW v AS SELECT * FROM sources"),
    "virtual table": sql("CREATE VIRTUAL TABLE other USING fts5(a)"),
    "table missing": sql("DROP TABLE feedback"),
    "newer database": sql("PRAGMA user_version = 99"),
    "unversioned database": sql("PRAGMA user_version = 0"),
    "source added": sql("UPDATE sources SET sha256 = 'other' WHERE title = 'notes.md'"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_backup_that_is_not_what_was_saved_is_refused_and_nothing_is_changed(saved, tmp_path, name):
    repacked(saved, HOSTILE[name])
    with pytest.raises(CragError, match=r"[Nn]othing was changed|newer version"):
        restore(saved, tmp_path / "new")
    assert left(tmp_path) == ["home", "saved.backup"]


@pytest.mark.parametrize("cut", [0, 10, 1000, -1, -100])
def test_a_torn_file_is_refused(saved, tmp_path, cut):
    saved.write_bytes(saved.read_bytes()[:cut])
    with pytest.raises(BadRequest, match="nothing was changed"):
        restore(saved, tmp_path / "new")
    assert left(tmp_path) == ["home", "saved.backup"]


def test_every_flipped_byte_is_noticed_or_harmless(saved, tmp_path):
    whole = saved.read_bytes()
    for n, place in enumerate(range(0, len(whole), max(1, len(whole) // 25))):
        spoiled = bytearray(whole)
        spoiled[place] ^= 0xFF
        saved.write_bytes(bytes(spoiled))
        try:
            restore(saved, tmp_path / f"new-{n}")
        except BadRequest:
            assert not (tmp_path / f"new-{n}").exists()
        else:
            assert opened_whole(tmp_path / f"new-{n}")[0] == {"notes.md", "cats.md"}


def test_a_link_is_refused(saved, tmp_path):
    with zipfile.ZipFile(saved) as archive:
        members = {info: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(saved, "w") as archive:
        for info, body in members.items():
            if info.filename.startswith("originals"):
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, body)
    with pytest.raises(BadRequest, match="does not belong"):
        restore(saved, tmp_path / "new")


@pytest.mark.parametrize("name", ["nowhere", "home", "home/crag.sqlite"])
def test_another_kind_of_file_is_refused(saved, tmp_path, name):
    with pytest.raises(BadRequest, match=r"cannot be read|not a backup"):
        restore(tmp_path / name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


# Killed in the middle ------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from crag.database import Database
from crag.library.exchange import backup, restore
from crag.progress import silent
from crag.stopping import Stop

file, home, point = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if point in ("copied", "filled"):
    setattr(backup, {"copied": "_disown", "filled": "put_in_place"}[point], die)
    backup.write_backup(Database(home), file, silent, Stop())
else:
    setattr(restore, {"unpacked": "_check_database", "checked": "_move"}[point], die)
    restore.restore_backup(file, home, silent, Stop())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("point", ["copied", "filled", "unpacked", "checked"])
def test_a_kill_leaves_nothing_under_the_name_and_the_next_time_cleans_up(library, saved, tmp_path, point):
    saving = point in ("copied", "filled")
    file, home = (tmp_path / "second", library.home) if saving else (saved, tmp_path / "new")
    with python(KILLED, file, home, point) as process:
        process.communicate(timeout=60)
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
