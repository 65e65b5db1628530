"""Large indexes: an approximate layer below, recent vectors above, and the database as the authority."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sqlalchemy import select

from crag.cancellation import Cancellation
from crag.errors import ModelFault, Stopped
from crag.retrieval import index_layers
from crag.retrieval.index_layers import IdSet
from crag.retrieval.vector_index import VectorIndex, read_snapshot
from crag.storage.tables import vectors
from tests.doubles.library import open_library
from tests.waiting import PATIENCE

PASSAGES = 1_500
LIMIT = 500  # vectors up to which they are compared one by one
CHANCE = np.random.default_rng(7)
WORDS = ["".join(CHANCE.choice(list("aeiourstlnmdkg"), 6)) for _ in range(400)]


def texts(number):
    return "\n".join(" ".join(CHANCE.choice(WORDS, 12)) for _ in range(number)).encode()


def questions(embedder, number=40):
    return np.stack([embedder.embed_query(" ".join(CHANCE.choice(WORDS, 5))) for _ in range(number)])


@pytest.fixture(scope="module")
def filled_home(tmp_path_factory):
    """A home that holds the passages, to be copied."""
    home = tmp_path_factory.mktemp("filled") / "home"
    library = open_library(home)
    for n in range(3):
        library.pipeline.add_bytes(f"{n}.txt", texts(PASSAGES // 3))
    library._database.close()
    return home


@pytest.fixture
def filled(filled_home, reopen, tmp_path):
    shutil.copytree(filled_home, tmp_path / "home")
    return reopen()


@pytest.fixture
def opened(filled, embedder, tmp_path):
    """Opens the index of the library once more, as another process would."""
    indexes = []

    def again(**options):
        arguments = {"sample": lambda n: questions(embedder, n), "exact_bytes": LIMIT * 4 * 64} | options
        indexes.append(VectorIndex(filled._database, embedder.space, tmp_path / "index", **arguments))
        return indexes[-1]

    yield again
    for index in indexes:
        index.close()


@pytest.fixture
def built(opened):
    return build(opened())


def build(index):
    """The index, once what it builds in the background is there."""
    index.ids()
    index._builder.wait()
    return index


def stored(library):
    with library._database.read() as connection:
        rows = connection.execute(select(vectors.c.passage_id, vectors.c.vector).order_by(vectors.c.passage_id)).all()
    return np.array([row.passage_id for row in rows]), np.stack([np.frombuffer(row.vector, "<f4") for row in rows])


def share_found(index, library, asked, k=10, allowed=None):
    """Recall at k; a passage that is exactly as near as the last of the nearest is as good."""
    ids, matrix = stored(library)
    if allowed is not None:
        inside = np.isin(ids, allowed)
        ids, matrix = ids[inside], matrix[inside]
    hits = 0
    for row in asked:
        near = dict(zip(ids.tolist(), (matrix @ row).tolist(), strict=True))
        found = index.search(row, k, None if allowed is None else IdSet(allowed))
        assert len(found) == len(set(found)) == min(k, len(ids))
        hits += sum(near[id_] >= sorted(near.values())[-min(k, len(ids))] - 1e-6 for id_ in found)
    return hits / (min(k, len(ids)) * len(asked))


def test_few_vectors_are_compared_one_by_one(opened, filled, embedder):
    index = opened(exact_bytes=10**9)
    assert share_found(index, filled, questions(embedder)) == 1
    assert (index.state().kind, index.state().building) == ("exact", False)


def test_of_many_nearly_all_that_is_near_is_found(built, filled, embedder):
    assert built.state().kind == "approximate"
    assert built.state().recall >= 0.98
    assert share_found(built, filled, questions(embedder)) >= 0.97


def test_newer_vectors_are_not_saved_over_a_large_index(built, filled):
    filled.pipeline.add_bytes("newer.txt", b"a unicorn")
    assert built.ids() == set(stored(filled)[0])
    built.save()
    assert read_snapshot(built._path, lambda _: True).header.kind == "approximate"


def test_searching_goes_on_while_it_is_built(opened, filled, embedder):
    may_go_on = threading.Event()

    def sample(n):
        assert may_go_on.wait(PATIENCE)
        return questions(embedder, n)

    index = opened(sample=sample)
    assert share_found(index, filled, questions(embedder, 5)) == 1
    assert index.state().kind == "exact"
    added = filled.pipeline.add_bytes("meanwhile.txt", b"a unicorn")
    filled.remove([filled.sources()[-1].id])
    assert index.ids() == set(stored(filled)[0])
    may_go_on.set()
    index._builder.wait()
    assert index.ids() == set(stored(filled)[0])
    assert index.state().kind == "approximate"
    assert index.search(embedder.embed_query("unicorn"), 1) == [max(stored(filled)[0])]
    assert added.passages == 1


def test_what_comes_and_goes_afterwards_is_followed(built, filled, embedder):
    gone = filled.sources()[0]
    filled.remove([gone.id])
    filled.pipeline.add_bytes("new.txt", b"a unicorn\n" + texts(20))
    assert built.search(embedder.embed_query("unicorn"), 1) == [PASSAGES + 1]
    assert built.ids() == set(stored(filled)[0])
    assert share_found(built, filled, questions(embedder)) >= 0.97


def test_a_worn_index_is_built_anew(built, filled):
    filled.remove([filled.sources()[0].id])
    build(built)
    assert built.ids() == set(stored(filled)[0])
    assert (built.state().recent, built._layers.base.removed) == (0, 0)


@pytest.mark.parametrize("size", [1, 30, 600])
def test_a_limit_finds_what_is_nearest_within_it(built, filled, embedder, size):
    allowed = np.sort(CHANCE.choice(stored(filled)[0], size, replace=False))
    assert share_found(built, filled, questions(embedder), 10, allowed) >= 0.97
    filled.remove([filled.sources()[0].id])
    left = np.intersect1d(allowed, stored(filled)[0])
    assert set(built.search(questions(embedder, 1)[0], 700, IdSet(allowed))) == set(left)


def test_nothing_is_found_within_nothing(built, embedder):
    assert built.search(questions(embedder, 1)[0], 10, IdSet(np.array([], dtype=np.int64))) == []
    assert built.search(questions(embedder, 1)[0], 10, IdSet(np.array([10**6]))) == []


def test_it_is_opened_from_its_file_and_caught_up_with(built, opened, filled, embedder):
    built.close()
    filled.pipeline.add_bytes("new.txt", b"a unicorn")
    again = opened()
    assert again.search(embedder.embed_query("unicorn"), 1) == [PASSAGES + 1]
    assert again.ids() == set(stored(filled)[0])
    assert (again.state().from_disk, again.state().building) == (True, False)


def damage(path, how):
    data = bytearray(path.read_bytes())
    path.unlink()  # another file, for the old one may be mapped
    if how == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif how == "zeroed":
        path.write_bytes(bytes(len(data)))
    else:
        data[int(how.split()[1])] ^= 1
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["truncated", "zeroed", "flipped 60000"])
def test_a_damaged_file_is_built_anew(built, opened, filled, embedder, tmp_path, how):
    built.close()
    damage(next((tmp_path / "index").glob("*.faiss")), how)
    again = opened()
    assert not again.state().from_disk
    assert share_found(again, filled, questions(embedder)) >= 0.97  # exact until the builder ends, which may be at once
    again._builder.wait()
    assert again.state().from_disk
    assert share_found(again, filled, questions(embedder)) >= 0.97
    assert opened().state().from_disk


def test_an_older_file_in_its_place_is_caught_up_with(built, opened, filled, embedder, tmp_path):
    path = next((tmp_path / "index").glob("*.faiss"))
    old = path.read_bytes()
    filled.remove([filled.sources()[0].id])
    filled.pipeline.add_bytes("new.txt", b"a unicorn\n" + texts(300))
    build(built).close()
    path.unlink()
    path.write_bytes(old)
    again = opened()
    assert again.ids() == set(stored(filled)[0])
    assert share_found(again, filled, questions(embedder)) >= 0.97


def test_two_may_write_at_once(opened, filled, embedder, tmp_path):
    indexes = [opened(), opened()]
    for index in indexes:
        index.ids()
    for index in indexes:
        index._builder.wait()
        assert index.state().kind == "approximate"
        assert share_found(index, filled, questions(embedder)) >= 0.97
    assert len(list((tmp_path / "index").iterdir())) == 1
    assert opened().state().from_disk


def test_a_disk_that_refuses_costs_only_time(opened, filled, embedder, tmp_path):
    (tmp_path / "index").write_text("a file where the folder should be")
    index = build(opened())
    assert (index.state().kind, index.state().from_disk) == ("approximate", False)
    assert share_found(index, filled, questions(embedder)) >= 0.97


def test_while_nothing_embeds_questions_all_are_compared(opened, filled, embedder):
    def sample(_n):
        raise ModelFault("unreachable", "It does not answer.")

    index = build(opened(sample=sample))
    assert index.state().kind == "exact"
    assert share_found(index, filled, questions(embedder)) == 1
    index.ids()
    assert not index._builder.is_busy  # it is tried again after a while, not at each search


def test_closing_does_not_wait_for_what_is_built(opened, embedder):
    started, closed = threading.Event(), threading.Event()

    def sample(n):
        started.set()
        assert closed.wait(PATIENCE)
        return questions(embedder, n)

    index = opened(sample=sample)
    index.ids()
    assert started.wait(PATIENCE)
    index._builder.close(0)
    closed.set()
    index.close()
    assert not index._builder.is_busy
    assert index.state().kind == "exact"


def test_searching_beside_changes_is_safe(built, filled, embedder):

    def search(_):
        for row in questions(embedder, 60):
            assert len(built.search(row, 10)) == 10

    with ThreadPoolExecutor(3) as threads:
        searches = threads.map(search, range(3))
        for n in range(6):
            filled.pipeline.add_bytes(f"more {n}.txt", texts(60))
        filled.remove([filled.sources()[-1].id])
        list(searches)
    build(built)
    assert built.ids() == set(stored(filled)[0])


@pytest.mark.parametrize("left", [1, 10, 30])
def test_an_index_is_built_of_the_few_vectors_left(embedder, left):
    rows = questions(embedder)
    ids = np.arange(1, 1_001)

    def read(wanted):
        kept = wanted[:left]
        yield kept, rows[kept % len(rows)]

    assert index_layers.build_approximate_index(ids, read, rows, Cancellation()).index.ntotal == left


def test_nothing_is_built_when_all_is_removed_meanwhile(embedder):
    rows = questions(embedder)
    with pytest.raises(Stopped):
        index_layers.build_approximate_index(
            np.arange(1, 1_001), lambda wanted: [(wanted[:0], rows[:0])], rows, Cancellation()
        )
