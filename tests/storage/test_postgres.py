"""A home on PostgreSQL: the same documents, conversations and jobs, for processes on several machines."""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import DataError

from crag.app.application import open_application
from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault
from crag.library import jobs
from crag.library.jobs import IngestJobs
from crag.library.library import Library
from crag.settings import Settings
from crag.sharing.backup import write_backup
from crag.storage.accounts import Accounts
from crag.storage.engine import Database, is_owner_alive
from crag.storage.files import Originals
from crag.storage.shared_files import SharedFiles, open_shared_files
from crag.storage.tables import preferences
from crag.types import CollectionSharing, Identity, ignore_progress
from tests.doubles.library import open_library
from tests.doubles.postgres import crash_server, home_url, postgres_server
from tests.waiting import wait_until

pytestmark = pytest.mark.postgres
NOTES = b"# Robots\nThe mule carries 600 kilograms.\nThe fox is quick.\n"


@pytest.fixture
def url(request, tmp_path):
    return home_url(request.getfixturevalue("postgres"), tmp_path / "shared")


@pytest.fixture
def open_database(url, tmp_path):
    """Opens the database as a process on another machine would, with a folder of its own."""
    opened = []

    def open_(name):
        opened.append(Database(tmp_path / name, url))
        return opened[-1]

    yield open_
    for database in opened:
        database.close()


@pytest.fixture
def server_folder():
    """A folder for a server to crash, in which root has another user run it: pytest closes its own to others."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def add(library: Library, name="notes.md", data=NOTES):
    return next(iter(library.pipeline.add_upload(name, data)))


def test_documents_are_found_moved_removed_and_restored(library):
    added = add(library)
    assert library.search("mule kilograms", 1)[0].text == "The mule carries 600 kilograms."
    library.move([added.id], "Machines")
    assert [hit.source_id for hit in library.search("fox", 1, "Machines")] == [added.id]
    library.discard([added.id])
    assert library.search("fox") == []
    library.restore([added.id])
    assert library.search("fox", 1)[0].text == "The fox is quick."


def test_the_index_counts_the_passages_of_each_term(library):
    add(library)
    added = add(library, "more.md", b"A fox and another fox.\n")
    counted = select(text("doc")).select_from(text("passage_vocabulary")).where(text("term = 'fox'"))
    with library._database.read() as connection:
        assert connection.scalar(counted) == 2
    library.remove([added.id])
    with library._database.read() as connection:
        assert connection.scalar(counted) == 1


def test_misspelled_words_are_corrected_by_those_of_the_documents(library):
    add(library, "more.md", b"The employees have parental leave.\n")
    assert library.find_corrections("How long is parentel leave?") == {"parentel": "parental"}


def test_no_writer_overtakes_another(open_database):
    databases = [open_database(name) for name in "ab"]
    counter = preferences.c.name == "counter"
    with databases[0].write() as connection:
        connection.execute(insert(preferences), {"name": "counter", "value": "0"})

    def count(database):
        for _ in range(40):
            with database.write() as connection:
                value = connection.scalar(select(preferences.c.value).where(counter))
                connection.execute(update(preferences).where(counter).values(value=str(int(value) + 1)))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(count, databases))
    with databases[0].read() as connection:
        assert connection.scalar(select(preferences.c.value).where(counter)) == "80"


def test_a_snapshot_does_not_see_what_is_committed_meanwhile(open_database):
    database = open_database("a")
    names = select(preferences.c.name)
    with database.snapshot() as connection:
        assert connection.scalars(names).all() == []
        with database.write() as other:
            other.execute(insert(preferences), {"name": "k", "value": "4"})
        assert connection.scalars(names).all() == []
    with database.read() as connection:
        assert connection.scalars(names).all() == ["k"]


@pytest.mark.parametrize("option", [{"stream_results": True}, {"yield_per": 10}])
def test_a_snapshot_whose_rows_are_read_in_batches_ends(open_database, option):
    with open_database("a").snapshot() as connection:
        assert connection.execution_options(**option).execute(select(preferences.c.name)).all() == []


def test_a_change_that_fails_leaves_nothing_and_the_connection_is_used_again(open_database):
    database = open_database("a")

    def fail():
        with database.write() as connection:
            connection.execute(insert(preferences), {"name": "k", "value": "4"})
            connection.execute(text("SELECT 1 / 0"))

    with pytest.raises(DataError):
        fail()
    with database.write() as connection:
        assert connection.scalars(select(preferences.c.name)).all() == []


def test_a_process_owns_rows_only_while_it_lives(open_database, url, tmp_path):
    script = (
        "import sys; from pathlib import Path; from crag.storage.engine import Database\n"
        "database = Database(Path(sys.argv[1]), sys.argv[2])\n"
        "print(database.owner_name(), flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path / "other", url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ,
    )
    with other:
        name = other.stdout.readline().strip()
        database = open_database("a")

        def is_alive(owner):
            with database.read() as connection:
                return is_owner_alive(connection, owner)

        assert is_alive(name)
        assert is_alive(f"{name}-worker")
        assert is_alive(database.owner_name())
        other.send_signal(signal.SIGKILL)
        wait_until(lambda: not is_alive(name))
        assert is_alive(database.owner_name())
    assert not is_alive("1-1")


def test_a_process_that_closes_gives_up_its_rows_at_once(open_database):
    first, second = open_database("a"), open_database("b")
    name = first.owner_name()
    first.close()
    with second.read() as connection:
        assert not is_owner_alive(connection, name)


def test_who_waits_in_vain_for_a_connection_is_told_and_keeps_the_lease(open_database):
    database = open_database("a")
    pool = database._engine.pool
    pool._timeout = 0.1
    with ExitStack() as held:
        for _ in range(pool.size() + pool._max_overflow):
            held.enter_context(database.read())
        with pytest.raises(HomeFault, match="busy for too long"), database.write():
            pass
        with open_database("b").read() as connection:
            renewed = text("SELECT renewed_at FROM process_leases WHERE name = :name")
            at = partial(connection.scalar, renewed, {"name": database.owner_name()})
            first = at()
            wait_until(lambda: at() > first)


def test_an_upload_to_one_process_is_added_by_another_and_its_original_is_there(url, tmp_path, monkeypatch):
    first, second = (open_library(tmp_path / name, url=url) for name in "ab")
    taking = IngestJobs(first._database, first)
    monkeypatch.setattr(taking, "resume", lambda: None)  # a process that takes files and has no time for them
    taking.submit_bytes("notes.md", NOTES)
    working = IngestJobs(second._database, second)
    working.resume()
    wait_until(lambda: not working.active)
    working.close()
    (source,) = first.sources()
    assert first.original_path(source.id).read_bytes() == NOTES
    assert first.search("mule", 1)[0].source_id == source.id
    for library in (first, second):
        library._database.close()


def test_large_files_are_kept_in_pieces_and_removed_whole(open_database):
    files = open_shared_files(open_database("a"), "original")
    data = os.urandom(3 * 2**20 + 5)
    files.put("a", data)
    files.put("a", b"other")  # the same name stands for the same bytes
    files.put("b", b"")
    assert files.get("a") == data
    assert (files.get("b"), files.get("c"), files.holds("b"), files.holds("c")) == (b"", None, True, False)
    files.remove("a")
    assert files.get("a") is None


def test_originals_are_fetched_once(open_database, tmp_path):
    first, second = open_database("a"), open_database("b")
    digest = hashlib.sha256(NOTES).hexdigest()
    Originals(first.home, SharedFiles(first, "original")).keep({digest: NOTES})
    there = Originals(second.home, SharedFiles(second, "original"))
    assert there.path(digest).read_bytes() == NOTES
    SharedFiles(first, "original").remove(digest)
    assert there.path(digest).read_bytes() == NOTES


def test_a_newer_schema_is_refused(open_database):
    with open_database("a").write() as connection:
        connection.execute(text("UPDATE schema_version SET version = 999"))
    with pytest.raises(HomeFault, match="newer version"):
        open_database("b")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://127.0.0.1:9/crag", "does not answer"),
        ("postgresql://user:secret@127.0.0.1:9/crag", "does not answer"),
        ("postgresql://host:port/crag", "not an address"),
    ],
)
def test_a_server_that_is_not_there_is_said_without_its_password(url, said, tmp_path, caplog):
    with pytest.raises(HomeFault, match=said):
        Database(tmp_path, url)
    assert "secret" not in caplog.text


def test_its_backup_is_that_of_postgresql(open_database, tmp_path):
    with pytest.raises(BadRequest, match="PostgreSQL"):
        write_backup(open_database("a"), tmp_path / "backup.zip", ignore_progress, Cancellation())


def test_documents_of_an_account_are_found_by_those_with_whom_it_shares_them(library):
    accounts = Accounts(library._database, ["ann@example.org"])
    ann, ben = (accounts.log_in(Identity("idp", name, f"{name}@example.org")) for name in ("ann", "ben"))
    accounts.apply_roles()
    assert [accounts.get(one.id).role for one in (ann, ben)] == ["admin", "member"]
    own, other = library.for_user(ann.id), library.for_user(ben.id)
    added = next(iter(own.pipeline.add_upload("notes.md", NOTES, collection="Papers")))
    assert (other.search("fox"), other.counts()[:2], other.removed()) == ([], (0, 0), [])
    assert other.find_corrections("Where is the mulle?") == {}
    own.share_collection("ann/Papers", CollectionSharing(members={"ben@example.org": False}))
    own.rename_collection("ann/Papers", "Theses")
    assert [one.name for one in other.collections()] == ["ben/Documents", "Documents", "ann/Theses"]
    assert [hit.source_id for hit in other.search("fox", 1)] == [added.id]
    with pytest.raises(BadRequest):
        other.discard([added.id])
    own.discard([added.id])
    assert (len(own.removed()), other.removed()) == (1, [])
    own.delete_collection("ann/Theses")
    own.restore([added.id])
    assert other.search("fox") == []  # it is private again
    assert [hit.source_id for hit in own.search("fox", 1)] == [added.id]


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGKILL])
def test_no_acknowledged_write_is_lost_when_the_server_is_killed_under_load(server_folder, tmp_path, how):
    home = tmp_path / "home"
    with postgres_server(server_folder) as address, closing(Database(home, home_url(address, home))) as database:
        acknowledged, said, ending = [], [], threading.Event()

        def write(writer):
            for number in count():
                name = f"{writer}-{number}"
                try:
                    with database.write(alone=writer > 0) as connection:
                        connection.execute(insert(preferences), {"name": name, "value": ""})
                    acknowledged.append(name)
                except HomeFault as fault:
                    said.append(fault.message)
                if ending.is_set():
                    return

        writers = [threading.Thread(target=write, args=[number]) for number in range(4)]
        for thread in writers:
            thread.start()
        wait_until(lambda: len(acknowledged) > 20)
        crash_server(server_folder, how=how)
        after = len(acknowledged)
        wait_until(lambda: len(acknowledged) > after + 20)  # the process goes on
        ending.set()
        for thread in writers:
            thread.join()
        with database.read() as connection:
            assert set(acknowledged) <= set(connection.scalars(select(preferences.c.name)))
    assert set(said) == {"The database does not answer, so nothing was saved."}


def test_a_document_is_added_once_the_server_is_back_from_a_crash(server_folder, tmp_path, monkeypatch):
    """The server is down for a while after the job has begun."""
    run_job, crashes, submitted = jobs.run_job, [], threading.Event()

    def run_while_down(*given):
        submitted.wait()
        if not crashes:
            crashing = threading.Thread(target=crash_server, args=(server_folder, 1.0))
            crashing.start()
            crashes.append(crashing)
            wait_until(lambda: not is_answering(address))
        yield from run_job(*given)

    monkeypatch.setattr(jobs, "run_job", run_while_down)
    with postgres_server(server_folder) as address:
        home = tmp_path / "home"
        settings = Settings(home, chat_model="builtin", embedder="builtin", database_url=home_url(address, home))
        with closing(open_application(settings)) as application:
            application.jobs.submit_bytes("notes.md", NOTES)
            submitted.set()
            wait_until(lambda: crashes)
            crashes[0].join()
            wait_until(lambda: is_done(application.jobs))
            assert [result.status for job in application.jobs.jobs() for result in job.results] == ["added"]
            assert [source.title for source in application.library.sources()] == ["Robots"]


def is_answering(address):
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True


def is_done(adding):
    """Whether nothing is left to do; the first statement after a crash still finds the connections cut."""
    try:
        return not adding.active
    except HomeFault:
        return False
