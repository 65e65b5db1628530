"""The database file: durability, migrations, transactions, and refusals that leave it untouched."""

import os
import shutil
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import IntegrityError, OperationalError

from crag.errors import HomeFault, Stopped
from crag.storage import engine
from crag.storage.engine import Database
from crag.storage.migrations import MIGRATIONS, OLDEST_SCHEMA_VERSION, SCHEMA_VERSION, migrate
from crag.storage.schema_check import describe_schema
from crag.storage.tables import collections, conversations
from tests.waiting import PATIENCE


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "home")
    yield database
    database.close()


def names(database):
    with database.read() as connection:
        return list(connection.scalars(select(collections.c.name)))


def add(connection, name):
    connection.execute(insert(collections), {"name": name, "created_at": 0.0})


@pytest.mark.parametrize(
    ("pragma", "value"), [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 30000)]
)
def test_it_is_opened_durably(database, pragma, value):
    with database.read() as connection:
        assert connection.scalar(text(f"PRAGMA {pragma}")) == value


def test_what_fails_is_rolled_back(database):
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(insert(collections), [{"name": "twice", "created_at": 0.0}] * 2)
    with database.write() as connection:
        add(connection, "kept")
    assert names(database) == ["kept"]


def test_a_snapshot_does_not_see_what_is_committed_meanwhile(database):
    with database.snapshot() as connection:
        assert connection.scalars(select(collections.c.name)).all() == []
        with database.write() as other:
            add(other, "new")
        assert connection.scalars(select(collections.c.name)).all() == []
    assert names(database) == ["new"]


def test_a_snapshot_that_fails_gives_its_connection_back_clean(database):
    with pytest.raises(OperationalError), database.snapshot() as connection:
        connection.scalar(text("SELECT nothing"))
    with database.write() as connection:
        add(connection, "new")
    assert names(database) == ["new"]


def test_writers_wait_for_each_other(database):
    def write(n):
        for m in range(20):
            with database.write() as connection:
                add(connection, f"{n}-{m}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert len(names(database)) == 80


def test_closing_waits_for_a_transaction_and_begins_no_other(database, monkeypatch):
    monkeypatch.setattr(engine, "_CLOSE_SECONDS", PATIENCE)
    close = threading.Thread(target=database.close)

    def read_until_closed():
        while close.is_alive():
            names(database.for_user("ann"))

    with database.write() as connection:
        add(connection, "kept")
        close.start()
        with pytest.raises(Stopped):
            read_until_closed()
        add(connection, "kept, too")
    close.join()
    assert not list(database.home.glob("*-wal"))  # the log is part of the file now
    with pytest.raises(Stopped):
        names(database)
    database = Database(database.home)
    assert names(database) == ["kept", "kept, too"]
    database.close()


def home_at(folder, version):
    """Make a database at this schema version with one collection; return its path."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "crag.sqlite")) as old:
        old.executescript(Path(__file__).with_name("schema_6.sql").read_text())
        old.execute("INSERT INTO collections VALUES ('Papers', 1.0)")
        old.execute(f"PRAGMA user_version = {version}")
        old.commit()
    return folder / "crag.sqlite"


def test_the_oldest_schema_is_migrated_to_that_of_a_new_home(tmp_path):
    """Fails if a table was changed without a migration."""
    old = home_at(tmp_path / "old", OLDEST_SCHEMA_VERSION)
    for folder in ("old", "new"):
        Database(tmp_path / folder).close()
    with closing(sqlite3.connect(old)) as old, closing(sqlite3.connect(tmp_path / "new" / "crag.sqlite")) as new:
        assert describe_schema(old) == describe_schema(new)
        assert old.execute("SELECT name FROM collections").fetchall() == [("Papers",)]


def test_a_home_of_this_version_is_left_as_it_is(tmp_path):
    Database(tmp_path).close()
    before = (tmp_path / "crag.sqlite").read_bytes()
    Database(tmp_path).close()
    assert (tmp_path / "crag.sqlite").read_bytes() == before


def test_a_migration_is_applied_once(database):
    add_column = ("ALTER TABLE collections ADD COLUMN tested TEXT DEFAULT 'none' NOT NULL",)
    steps = (*MIGRATIONS, add_column, ("DELETE FROM collections",))
    with database.write() as connection:
        add(connection, "Papers")
        migrate(connection, steps[:-1])
        assert connection.execute(text("SELECT name, tested FROM collections")).all() == [("Papers", "none")]
        migrate(connection, steps)
        assert connection.execute(text("SELECT name FROM collections")).all() == []
        assert connection.scalar(text("PRAGMA user_version")) == SCHEMA_VERSION + 2
        migrate(connection, steps)


@pytest.mark.parametrize(("version", "words"), [(999, "newer version"), (5, "early version"), (1, "early version")])
def test_another_schema_is_refused_and_left_untouched(tmp_path, version, words):
    path = home_at(tmp_path / "home", version)
    before = path.read_bytes()
    with pytest.raises(HomeFault, match=words):
        Database(tmp_path / "home")
    assert path.read_bytes() == before


def test_a_database_that_another_process_holds_for_too_long_is_busy(database):
    with database.read() as connection:  # the next one to be used
        connection.execute(text("PRAGMA busy_timeout = 0"))
    with closing(sqlite3.connect(database.home / "crag.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(HomeFault, match="busy for too long"), database.write():
            pass


def test_a_folder_in_place_of_the_database_is_refused(tmp_path):
    (tmp_path / "crag.sqlite").mkdir()
    with pytest.raises(HomeFault, match="data folder cannot be written to"):
        Database(tmp_path)


def test_what_is_no_database_is_refused_and_left_untouched(tmp_path):
    path = tmp_path / "crag.sqlite"
    path.write_bytes(b"something else " * 100)
    with pytest.raises(HomeFault, match="damaged or not a database"):
        Database(tmp_path)
    assert path.read_bytes() == b"something else " * 100


def test_a_full_disk_is_said_logged_and_rolled_back(database, caplog):
    with database.read() as connection:
        pages = connection.scalar(text("PRAGMA page_count"))
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))  # the pool hands this connection out again
    with pytest.raises(HomeFault, match="disk is full"), database.write() as connection:
        add(connection, "x" * 100_000)
    assert names(database) == []
    assert "crag.sqlite: database or disk is full" in caplog.text


def test_a_home_on_a_full_disk_is_said_and_logged(tmp_path, caplog):
    resource = pytest.importorskip("resource")
    Database(tmp_path).close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # no room for what SQLite keeps beside its file
    try:
        with pytest.raises(HomeFault, match="The disk is full"):
            Database(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "SQLITE_IOERR" in caplog.text


_CONVERSATION = {"id": "one", "title": "x", "created_at": 0.0, "updated_at": 0.0, "options": "{}"}


def test_damage_that_is_met_late_is_said_too(tmp_path):
    database = Database(tmp_path)
    with database.write() as connection:
        connection.execute(insert(conversations), _CONVERSATION)
        root = connection.scalar(text("SELECT rootpage FROM sqlite_master WHERE name = 'conversations'"))
        size = connection.scalar(text("PRAGMA page_size"))
    database.close()
    with (tmp_path / "crag.sqlite").open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    database = Database(tmp_path)
    with pytest.raises(HomeFault, match="damaged"), database.read() as connection:
        connection.execute(select(conversations)).all()
    with pytest.raises(HomeFault, match="damaged"), database.write() as connection:
        connection.execute(update(conversations).values(title="y"))
    database.close()


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "deleted as a folder"])
def test_nothing_is_acknowledged_once_the_file_is_no_longer_in_its_place(database, how):
    path = database.home / "crag.sqlite"
    with database.write() as connection:
        add(connection, "before")
    with database.read(), database.read():  # both stay open in the pool
        pass
    if how == "deleted as a folder":
        shutil.rmtree(database.home)
    else:
        path.rename(path.with_name("moved.sqlite"))
        if how == "replaced":
            shutil.copy(path.with_name("moved.sqlite"), path)
    with pytest.raises(HomeFault, match="gone or was replaced"), database.write() as connection:
        add(connection, "after")
    with pytest.raises(HomeFault, match="gone or was replaced"):
        names(database)
    assert path.exists() == (how == "replaced"), "no empty file may take its place"


def test_nothing_is_acknowledged_without_the_log_that_holds_the_latest_commits(database):
    """SQLite would go on writing to the deleted file, which a kill loses, earlier commits included."""
    with database.write() as connection:
        connection.exec_driver_sql("INSERT INTO collections (name, created_at) VALUES ('Kept', 1)")
    (database.home / "crag.sqlite-wal").unlink()
    with pytest.raises(HomeFault, match="gone or was replaced"), database.write() as connection:
        connection.exec_driver_sql("INSERT INTO collections (name, created_at) VALUES ('Lost', 1)")
    with pytest.raises(HomeFault, match="gone or was replaced"), database.read():
        pass
    database.close()  # the last connection puts the log into the file
    with closing(sqlite3.connect(database.home / "crag.sqlite")) as connection:
        assert connection.execute("SELECT name FROM collections WHERE created_at = 1").fetchall() == [("Kept",)]


def test_a_file_that_disappears_during_a_change_is_noticed(database):
    def change():
        with database.write() as connection:
            add(connection, "lost")
            (database.home / "crag.sqlite").rename(database.home / "moved.sqlite")

    with pytest.raises(HomeFault, match="gone or was replaced"):
        change()


def test_a_home_that_comes_back_is_used_again(database):
    away = database.home.rename(database.home.with_name("away"))
    with pytest.raises(HomeFault):
        names(database)
    away.rename(database.home)
    with database.write() as connection:
        add(connection, "kept")
    assert names(database) == ["kept"]


@pytest.mark.skipif(os.name == "nt", reason="has no such permissions")
def test_a_home_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        Database(tmp_path / "home").close()
    finally:
        os.umask(before)
    assert permissions(tmp_path / "home") == (0o700, {0o600})


@pytest.mark.skipif(os.name == "nt", reason="has no such permissions")
def test_an_older_home_becomes_private_and_that_is_said_once(tmp_path, caplog):
    home = tmp_path / "home"
    Database(home).close()
    home.chmod(0o755)
    (home / "crag.sqlite").chmod(0o644)
    for _ in range(2):
        Database(home).close()
    assert permissions(home) == (0o700, {0o600})
    assert [record.message for record in caplog.records if "private now" in record.message] == [
        f"Other users of this machine could open {home}. It is private now."
    ]


def permissions(home):
    return stat.S_IMODE(home.stat().st_mode), {stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()}


def test_a_broken_statement_is_no_full_disk(database):
    with pytest.raises(OperationalError), database.read() as connection:
        connection.execute(text("SELECT * FROM full_of_nothing"))


def test_a_change_that_the_database_rejects_for_another_reason_is_said(database):
    with pytest.raises(HomeFault, match="The database rejected the change"), database.write() as connection:
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))
