"""A home is copied to PostgreSQL and back; a move that was interrupted goes on, and two homes never mix."""

import pytest
from sqlalchemy import select, text, update

from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault, Stopped
from crag.sharing.move import move_home
from crag.storage.engine import Database
from crag.storage.tables import file_pieces, jobs, metadata, sources
from crag.types import ignore_progress
from tests.doubles.library import open_library
from tests.doubles.postgres import home_url

NOTES = b"# Robots\nThe mule carries 600 kilograms.\nThe fox is quick.\n"
TABLES = [table for table in metadata.sorted_tables if table is not file_pieces]


@pytest.fixture
def library(tmp_path):
    opened = open_library(tmp_path / "home")
    removed, _ = (next(iter(opened.pipeline.add_upload(f"{name}.md", NOTES + name.encode()))) for name in "ab")
    opened.remove([removed.id])
    yield opened
    opened._database.close()


@pytest.fixture
def open_database(tmp_path):
    opened = []

    def open_(name, url=""):
        opened.append(Database(tmp_path / name, url))
        return opened[-1]

    yield open_
    for database in opened:
        database.close()


def rows_of(database):
    with database.read() as connection:
        terms = connection.execute(text("SELECT rowid, terms FROM passage_terms ORDER BY rowid")).all()
        return [connection.execute(select(table).order_by(*table.primary_key)).all() for table in TABLES], terms


def test_a_home_moves_to_postgresql_and_back(library, open_database, tmp_path, postgres):
    source = library._database
    url = home_url(postgres, tmp_path / "server")
    server, folder = open_database("elsewhere", url), open_database("back")
    there = move_home(source, server, ignore_progress, Cancellation())
    back = move_home(server, folder, ignore_progress, Cancellation())
    assert (there.originals, there.missing) == (1, 0)
    assert there == back
    assert rows_of(source) == rows_of(server) == rows_of(folder)
    again = open_library(tmp_path / "back")
    (kept,) = again.sources()
    assert again.original_path(kept.id).read_bytes() == NOTES + b"b"
    assert again.search("mule", 1)[0].text == "The mule carries 600 kilograms."
    again._database.close()


@pytest.mark.parametrize("to_server", [True, False])
def test_ids_of_removed_passages_are_not_used_again(library, open_database, tmp_path, postgres, to_server):
    url = home_url(postgres, tmp_path / "server") if to_server else ""
    (left,) = library.sources()
    library.remove([left.id])
    move_home(library._database, open_database("target", url), ignore_progress, Cancellation())
    moved = open_library(tmp_path / "target", url=url)
    added = next(iter(moved.pipeline.add_upload("c.md", b"One more.\n")))
    (hit,) = moved.search("one more", 1)
    assert (hit.source_id, hit.id) == (added.id, 7)
    moved._database.close()


def test_an_interrupted_move_goes_on(library, open_database, tmp_path, postgres):
    server = open_database("elsewhere", home_url(postgres, tmp_path / "server"))
    stop = Cancellation()

    def stop_late(progress):
        if progress.stage == "Copying vectors":
            stop.cancel()

    with pytest.raises(Stopped):
        move_home(library._database, server, stop_late, stop)
    move_home(library._database, server, ignore_progress, Cancellation())
    assert rows_of(library._database) == rows_of(server)


def test_a_move_stops_between_files(library, open_database):
    target, stop = open_database("elsewhere"), Cancellation()

    def stop_at_files(progress):
        if progress.stage == "Copying originals":
            stop.cancel()

    for name in "cd":
        next(iter(library.pipeline.add_upload(f"{name}.md", NOTES + name.encode())))
    with pytest.raises(Stopped):
        move_home(library._database, target, stop_at_files, stop)
    assert len([one for one in (target.home / "originals").rglob("*") if one.is_file()]) == 1


def test_a_move_stops_while_it_compares_the_copy(library, open_database):
    stop = Cancellation()

    def stop_at_last_comparison(progress):
        if progress.stage.startswith("Comparing") and progress.done == progress.total - 1:
            stop.cancel()

    with pytest.raises(Stopped):
        move_home(library._database, open_database("elsewhere"), stop_at_last_comparison, stop)


def test_a_target_with_other_data_is_refused(library, open_database, tmp_path):
    other = open_library(tmp_path / "other")
    next(iter(other.pipeline.add_upload("c.md", NOTES)))
    with pytest.raises(BadRequest, match="already holds other data"):
        move_home(library._database, other._database, ignore_progress, Cancellation())
    assert len(other.sources()) == 1
    other._database.close()


def test_a_row_that_differs_is_noticed(library, open_database):
    target = open_database("target")

    def change_late(progress):
        if progress.stage == "Comparing sources":
            with target.write() as connection:
                connection.execute(update(sources).values(title="Another"))

    with pytest.raises(HomeFault, match="“sources” differs"):
        move_home(library._database, target, change_late, Cancellation())


def test_a_home_at_work_is_not_moved(library, open_database):
    values = {"id": "a", "kind": "upload", "spec": "", "name": "n", "collection": "c", "state": "waiting"}
    with library._database.write() as connection:
        connection.execute(jobs.insert(), values | {"submitted_at": 0.0})
    with pytest.raises(BadRequest, match="still being worked on"):
        move_home(library._database, open_database("target"), ignore_progress, Cancellation())
