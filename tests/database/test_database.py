"""The one database file: durable settings, migrations, transactions, and refusals that leave it untouched."""

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import IntegrityError, OperationalError

from crag.errors import HomeFault
from crag.storage.engine import Database
from crag.storage.tables import collections, conversations


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

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(database)) == 80


def test_an_old_file_gets_the_schema_of_a_new_one_and_keeps_what_it_holds(tmp_path):
    (tmp_path / "old").mkdir()
    old = sqlite3.connect(tmp_path / "old" / "crag.sqlite")
    old.executescript(Path(__file__).with_name("version_1.sql").read_text())
    old.execute("INSERT INTO collections VALUES ('Papers', 1.0)")
    old.execute("INSERT INTO sources VALUES ('one', 'A', 'text', 'a.txt', 'Papers', 'ab', 1, NULL, 'c', 2.0)")
    old.commit()
    old.close()
    for folder in ("old", "new"):
        Database(tmp_path / folder).close()
    old, new = (sqlite3.connect(tmp_path / folder / "crag.sqlite") for folder in ("old", "new"))
    assert schema(old) == schema(new)
    assert old.execute("SELECT title, author, published FROM sources").fetchall() == [("A", "", "")]
    for connection in (old, new):
        connection.close()


def test_the_messages_of_an_old_file_follow_one_another(tmp_path):
    old = sqlite3.connect(tmp_path / "crag.sqlite")
    old.executescript(Path(__file__).with_name("version_1.sql").read_text())
    for chat in ("a", "b"):
        old.execute("INSERT INTO conversations VALUES (?, 't', 1.0, 1.0, '{}')", (chat,))
    for chat, role in (("a", "user"), ("b", "user"), ("a", "assistant"), ("b", "assistant"), ("a", "user")):
        old.execute(
            "INSERT INTO messages (conversation_id, role, text, created_at) VALUES (?, ?, 'x', 1.0)", (chat, role)
        )
    old.commit()
    old.close()
    Database(tmp_path).close()
    new = sqlite3.connect(tmp_path / "crag.sqlite")
    assert new.execute("SELECT id, parent_id FROM messages").fetchall() == [
        (1, None),
        (2, None),
        (3, 1),
        (4, 2),
        (5, 3),
    ]
    assert new.execute("SELECT id, head_id FROM conversations").fetchall() == [("a", 5), ("b", 4)]
    new.close()


def schema(connection):
    """Every table with its columns, keys and indexes, whatever the spelling of its statement."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
    facts = ("table_info", "foreign_key_list", "index_list")
    return {
        table: [sorted(row[1:] for row in connection.execute(f"PRAGMA {fact}({table})")) for fact in facts]
        for table in tables
    }


def test_a_newer_schema_is_refused_and_left_untouched(tmp_path):
    Database(tmp_path).close()
    path = tmp_path / "crag.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(HomeFault, match="newer version"):
        Database(tmp_path)
    assert path.read_bytes() == before


def test_what_is_no_database_is_refused_and_left_untouched(tmp_path):
    path = tmp_path / "crag.sqlite"
    path.write_bytes(b"something else " * 100)
    with pytest.raises(HomeFault, match="damaged or not a database"):
        Database(tmp_path)
    assert path.read_bytes() == b"something else " * 100


def test_a_full_disk_is_said_and_rolled_back(database):
    with database.read() as connection:
        pages = connection.scalar(text("PRAGMA page_count"))
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))  # the pool hands this connection out again
    with pytest.raises(HomeFault, match="disk is full"), database.write() as connection:
        add(connection, "x" * 100_000)
    assert names(database) == []


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


def test_a_broken_statement_is_no_full_disk(database):
    with pytest.raises(OperationalError), database.read() as connection:
        connection.execute(text("SELECT * FROM full_of_nothing"))
