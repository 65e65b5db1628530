"""Damaged, hostile or foreign backups: refused, with nothing changed."""

import hashlib
import json
import os
import sqlite3
import stat
import zipfile

import pytest

from crag.errors import BadRequest, CragError
from crag.library.jobs import IngestJobs
from crag.storage.api_tokens import ApiTokens
from tests.doubles.library import open_library
from tests.sharing.backups import left, opened_whole, restore


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


_JOB = (
    "INSERT INTO jobs (id, kind, spec, name, collection, state, submitted_at, options)"
    " VALUES ('{}', '{}', '/etc/hosts', 'up.md', 'Documents', 'waiting', 1.0, '{}')"
)


def rewritten(table, old, new):
    """Changes the statement of a table without changing what is in the table."""
    replacement = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = '{}'"
    statement = replacement.format(old, new.replace("'", "''"), table)
    return sql("PRAGMA writable_schema = ON", statement, "PRAGMA writable_schema = RESET")


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


def swap_documents(members, manifest):
    """Each under the name of the other, with its own size and checksum."""
    one, other = [name for name in members if name.startswith("originals/")][:2]
    members[one], members[other] = members[other], members[one]
    manifest["members"][one], manifest["members"][other] = manifest["members"][other], manifest["members"][one]


def spoil_database(members, _):
    body = bytearray(members["crag.sqlite"])
    body[5000:9000] = b"\xff" * 4000
    members["crag.sqlite"] = bytes(body)


def empty_titles():
    """Leaves a value out that the statement of its table requires, which only a check of every row notices."""
    required, optional = "title TEXT NOT NULL", "title TEXT"
    changes = [(required, optional), (optional, required)]
    replacement = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = 'sources'"
    first, last = (replacement.format(*change) for change in changes)
    on, reset = "PRAGMA writable_schema = ON", "PRAGMA writable_schema = RESET"
    return sql(on, first, reset, "UPDATE sources SET title = NULL", on, last, reset)


def state_of_runs(*statements):
    """Puts another database in the place of the state of runs."""

    def change(members, _):
        connection = sqlite3.connect(":memory:", isolation_level=None)
        for statement in ("CREATE TABLE checkpoints (a)", "CREATE TABLE writes (a)", *statements):
            connection.execute(statement)
        members["checkpoints.sqlite"] = connection.serialize()
        connection.close()

    return change


HOSTILE = {
    "traversal": rename("../../evil"),
    "traversal within": rename("originals/aa/../../../evil"),
    "absolute": rename("/evil"),
    "settings": rename(".env"),
    "of another name": rename("originals/" + "ab/" + "ab" * 32),
    "no database": lambda members, manifest: (members.pop("crag.sqlite"), manifest["members"].pop("crag.sqlite")),
    "lacks a document": lose_document,
    "swapped documents": swap_documents,
    "not listed": lambda members, manifest: members.update({"evil": b"x"}) or manifest.update({"keep evil": {}}),
    "lying size": lambda members, manifest: manifest.update({"keep crag.sqlite": {"size": 10, "sha256": "0" * 64}}),
    "lying checksum": lambda members, manifest: manifest.update({"keep crag.sqlite": {"sha256": "0" * 64}}),
    "enormous": lambda members, manifest: manifest.update({"keep crag.sqlite": {"size": 1 << 60}}),
    "no checksum": lambda members, manifest: manifest.update({"keep crag.sqlite": {"sha256": ""}}),
    "negative": lambda members, manifest: manifest.update({"keep crag.sqlite": {"size": -5}}),
    "newer format": lambda members, manifest: manifest.update(version=99),
    "newer schema": lambda members, manifest: manifest.update(schema=99),
    "early schema": lambda members, manifest: manifest.update(schema=5),
    "other format": lambda members, manifest: manifest.update(format="other"),
    "members are a list": lambda members, manifest: manifest.update(missing=3),
    "garbage database": lambda members, manifest: members.update({"crag.sqlite": b"garbage" * 1000}),
    "damaged database": spoil_database,
    "values missing": empty_titles(),
    "trigger": sql("CREATE TRIGGER t AFTER INSERT ON sources BEGIN DELETE FROM passages; END"),
    "view": sql("CREATE VIEW v AS SELECT * FROM sources"),
    "virtual table": sql("CREATE VIRTUAL TABLE other USING fts5(a)"),
    "table missing": sql("DROP TABLE feedback"),
    "newer database": sql("PRAGMA user_version = 99"),
    "unversioned database": sql("PRAGMA user_version = 0"),
    "rows that replace others": rewritten(
        "collections", "PRIMARY KEY (name)", "PRIMARY KEY (name) ON CONFLICT REPLACE"
    ),
    "rows that cannot be added": rewritten("conversations", "title TEXT", "title TEXT CHECK (title = '')"),
    "rows deleted with others": rewritten("departures", "host TEXT", "host TEXT REFERENCES presets ON DELETE CASCADE"),
    "other table": sql("CREATE TABLE other (a)"),
    "other index": sql("CREATE UNIQUE INDEX other ON conversations (substr(title, 1, 0))"),
    "another module for the index of words": sql(
        "DROP TABLE passage_vocabulary", "CREATE VIRTUAL TABLE passage_vocabulary USING fts5(term)"
    ),
    "trigger in the state of runs": state_of_runs(
        "CREATE TRIGGER t AFTER INSERT ON writes BEGIN DELETE FROM checkpoints; END"
    ),
    "other table in the state of runs": state_of_runs("CREATE TABLE other (a)"),
    "upload elsewhere": sql(_JOB.format("/etc/passwd", "upload", "{}")),
    "upload above": sql(_JOB.format("../crag.sqlite", "upload", "{}")),
    "upload without a name": sql(_JOB.format("", "upload", "{}")),
    "job without options": sql(_JOB.format("aa", "upload", "none")),
    "source added": sql("UPDATE sources SET sha256 = 'other' WHERE title = 'notes.md'"),
}


def list_another(_, manifest):
    manifest["members"]["originals/ab/" + "ab" * 32] = {"size": 1, "sha256": "ab" * 32}


def test_a_backup_with_other_files_than_those_in_its_list_is_refused(saved, tmp_path):
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("originals/ab/" + "ab" * 32, b"x")
    with pytest.raises(BadRequest, match="not those in its list"):
        restore(saved, tmp_path / "new")
    saved.write_bytes(whole)
    repacked(saved, list_another)
    with pytest.raises(BadRequest, match="not those in its list"):
        restore(saved, tmp_path / "new")


@pytest.mark.parametrize(("name", "said"), [("no database", "no database"), ("enormous", "not enough space")])
def test_an_altered_backup_is_refused_with_the_reason(saved, tmp_path, name, said):
    repacked(saved, HOSTILE[name])
    with pytest.raises(CragError, match=said):
        restore(saved, tmp_path / "new")


def test_a_list_of_files_that_is_too_long_is_not_read(saved, tmp_path, monkeypatch):
    monkeypatch.setattr("crag.sharing.backup._MAX_MANIFEST_BYTES", 100)
    with pytest.raises(BadRequest, match="not a backup"):
        restore(saved, tmp_path / "new")


def test_an_archive_without_a_list_of_files_is_no_backup(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("crag.sqlite", b"x")
    with pytest.raises(BadRequest, match="not a backup"):
        restore(tmp_path / "other.zip", tmp_path / "new")


def test_the_state_of_runs_that_is_as_it_should_be_is_restored(saved, tmp_path):
    repacked(saved, state_of_runs())
    restore(saved, tmp_path / "new")
    assert (tmp_path / "new" / "checkpoints.sqlite").exists()


@pytest.mark.parametrize("name", list(HOSTILE))
def test_an_altered_backup_is_refused_and_nothing_changes(saved, tmp_path, name):
    repacked(saved, HOSTILE[name])
    words = {"newer format": "newer version", "newer schema": "newer version", "early schema": "early version"}
    with pytest.raises(CragError, match=words.get(name, "[Nn]othing was changed")):
        restore(saved, tmp_path / "new")
    assert left(tmp_path) == ["home", "saved.backup"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_file_of_another_compression_is_refused(saved, tmp_path, method):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(saved, "w") as archive:
        for name, body in members.items():
            archive.writestr(name, body, method)
        begin = archive.getinfo("crag.sqlite").header_offset
    torn = bytearray(saved.read_bytes())
    torn[begin + 60 : begin + 300] = b"\xff" * 240
    saved.write_bytes(torn)
    with pytest.raises(CragError, match=r"damaged.*[Nn]othing was changed"):
        restore(saved, tmp_path / "new")
    assert left(tmp_path) == ["home", "saved.backup"]


def test_a_disk_that_fails_while_a_backup_is_unpacked_is_no_damage(saved, tmp_path):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(CragError) as refused:
            restore(saved, tmp_path / "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "damaged" not in str(refused.value)
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
    with pytest.raises(BadRequest, match="not in its list"):
        restore(saved, tmp_path / "new")


@pytest.mark.parametrize("name", ["nowhere", "home", "home/crag.sqlite", "pipe"])
def test_another_kind_of_file_is_refused(saved, tmp_path, name):
    os.mkfifo(tmp_path / "pipe")  # reading it, like some devices, never ends
    with pytest.raises(BadRequest, match=r"cannot be read|not a backup"):
        restore(tmp_path / name, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_token_in_a_backup_opens_nothing(saved, tmp_path):
    """A token may have been revoked after the backup was made, or its maker may know it."""
    secret = "crag_of_somebody_else"
    insert = "INSERT INTO api_tokens (id, name, digest, scopes, created_at) VALUES ('a', 'b', '{}', 'ask read', 1.0)"
    repacked(saved, sql(insert.format(hashlib.sha256(secret.encode()).hexdigest())))
    restore(saved, tmp_path / "new")
    library = open_library(tmp_path / "new")
    assert ApiTokens(library._database).find(secret) is None
    library._database.close()


def test_a_path_from_a_backup_is_read_only_when_it_is_asked_for_again(saved, tmp_path):
    repacked(saved, sql(_JOB.format("aa", "path", "{}")))
    restore(saved, tmp_path / "new")
    library = open_library(tmp_path / "new")
    jobs = IngestJobs(library._database, library)
    assert [(job.state, job.spec, jobs.can_retry(job)) for job in jobs.jobs()] == [("failed", "/etc/hosts", True)]
    assert "in the backup" in jobs.jobs()[0].result.error.message
    library._database.close()
