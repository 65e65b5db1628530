"""The vector index is a cache: whatever happens to it, the database decides what is found."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import select

from crag.cancellation import Cancellation
from crag.retrieval.vector_index import SnapshotHeader, read_snapshot, write_snapshot
from crag.storage.tables import vectors
from tests.doubles.library import HashEmbedder, Shelf, index_of

NOTES = b"The cat sleeps.\nA dog barks.\nWater boils.\n"


def visible(library):
    with library._database.read() as connection:
        return set(connection.scalars(select(vectors.c.passage_id)))


def snapshot(library):
    return next((library.home / "index").glob("*.faiss"))


@pytest.fixture
def saved(library):
    library.pipeline.add_bytes("notes.txt", NOTES)
    library.warm()
    library.close()
    return snapshot(library)


def opened_from_disk(library):
    library.warm()
    return index_of(library)._saved_epoch is not None


def test_a_whole_snapshot_is_used(saved, reopen):
    assert opened_from_disk(reopen())


def test_the_snapshot_is_written_only_when_something_changed(saved, library):
    before = saved.stat().st_mtime_ns
    library.save()
    assert saved.stat().st_mtime_ns == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize("kept", [0, 1, 50, 200, -1])
def test_a_torn_snapshot_is_built_anew(saved, reopen, kept):
    saved.write_bytes(saved.read_bytes()[:kept])
    library = reopen()
    assert not opened_from_disk(library)
    assert library.search("dog", k=1)[0].text == "A dog barks."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_in_the_place_of_the_snapshot_is_not_waited_for(saved, reopen):
    saved.unlink()
    os.mkfifo(saved)
    library = reopen()
    assert not opened_from_disk(library)
    assert library.search("dog", k=1)[0].text == "A dog barks."


@pytest.mark.parametrize("place", [3, 300, -5])
def test_a_flipped_bit_is_seen(saved, reopen, place):
    data = bytearray(saved.read_bytes())
    data[place] ^= 1
    saved.write_bytes(data)
    library = reopen()
    assert not opened_from_disk(library)
    assert index_of(library).ids() == visible(library)


def test_a_stale_snapshot_is_caught_up_with(saved, reopen):
    old = saved.read_bytes()
    first = reopen()
    first.remove([first.sources()[0].id])
    first.pipeline.add_bytes("new.txt", b"A unicorn.")
    saved.write_bytes(old)
    library = reopen()
    assert opened_from_disk(library)
    assert [passage.text for passage in library.search("cat dog unicorn")] == ["A unicorn."]


def test_a_snapshot_of_another_history_is_rejected(saved, reopen, tmp_path):
    """A backup put back and gone on with has the same ids and as many changes, but other texts."""
    database = saved.parent.parent / "crag.sqlite"
    first = reopen()
    with first._database.read() as connection:
        connection.exec_driver_sql(f"VACUUM INTO '{tmp_path / 'backup'}'")
    first.pipeline.add_bytes("one.txt", b"A unicorn.")
    first.warm()
    first.close()
    first._database.close()
    for path in database.parent.glob("crag.sqlite*"):
        path.unlink()
    (tmp_path / "backup").rename(database)
    second = reopen()
    second.pipeline.add_bytes("two.txt", b"A teapot.")
    assert not opened_from_disk(second)
    assert second.search("teapot", k=1)[0].text == "A teapot."


def test_two_libraries_on_one_home_see_each_others_changes(library, reopen):
    other = reopen()
    assert other.search("cat") == []
    added = library.pipeline.add_bytes("notes.txt", NOTES)
    assert other.search("cat", k=1)[0].text == "The cat sleeps."
    assert index_of(other).ids() == visible(library)
    other.remove([added.id])
    assert library.search("cat") == []
    assert index_of(library).ids() == set()


def test_vectors_of_two_spaces_never_meet(library, reopen, embedder):
    library.pipeline.add_bytes("notes.txt", NOTES)
    changed = reopen(shelf=Shelf(HashEmbedder("another", dimension=32), embedder))
    assert changed.search("dog", k=1)[0].text == "A dog barks."
    assert changed.count_missing_vectors() == 0
    changed.spaces.use("double:another", lambda _: None, Cancellation())
    assert changed.search("dog", k=1)[0].text == "A dog barks."
    assert index_of(changed)._space.dimension == 32
    assert index_of(changed).ids() == visible(library)
    assert set(changed.sources()[0].space.split(",")) == {"double:hash", "double:another"}


def test_searching_beside_adding_and_removing_is_safe(library):
    library.pipeline.add_bytes("notes.txt", NOTES)

    def search(_):
        for _ in range(30):
            assert library.search("dog", k=1)[0].text == "A dog barks."

    with ThreadPoolExecutor(3) as threads:
        searches = threads.map(search, range(3))
        for n in range(10):
            result = library.pipeline.add_bytes(f"{n}.txt", f"Text {n}.".encode())
            library.remove([result.id])
        list(searches)
    assert index_of(library).ids() == visible(library)


def test_a_snapshot_that_is_replaced_while_it_is_read_is_not_used(tmp_path, monkeypatch):
    import faiss

    def write(path, value):
        index = faiss.IndexIDMap2(faiss.IndexFlatIP(2))
        index.add_with_ids(np.full((1, 2), value, dtype=np.float32), np.array([7]))
        write_snapshot(path, SnapshotHeader("space", 1, 1, 2), index)

    def read_other(*given):
        other.replace(path)
        return read(*given)

    read, path, other = faiss.read_index, tmp_path / "index" / "x.faiss", tmp_path / "index" / "y.faiss"
    write(path, 1.0)
    write(other, 2.0)
    monkeypatch.setattr(faiss, "read_index", read_other)
    assert read_snapshot(path, lambda _: True) is None
    assert not other.exists()


def test_a_header_from_another_version_is_not_read(tmp_path):
    import faiss

    index = faiss.IndexIDMap2(faiss.IndexFlatIP(2))
    index.add_with_ids(np.ones((1, 2), dtype=np.float32), np.array([7]))
    path = tmp_path / "index" / "x.faiss"
    write_snapshot(path, SnapshotHeader("space", 1, 1, 2), index)
    assert read_snapshot(path, lambda header: header.space_id == "space").index.ntotal == 1
    assert read_snapshot(path, lambda header: header.space_id == "other") is None
    write_snapshot(path, SnapshotHeader("space", 1, 1, 2, version=99), index)
    assert read_snapshot(path, lambda header: True) is None
    write_snapshot(path, SnapshotHeader("space", 1, 2, 2), index)
    assert read_snapshot(path, lambda header: True) is None
    assert read_snapshot(tmp_path / "nothing", lambda header: True) is None
