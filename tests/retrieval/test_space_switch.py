"""Switching embedding spaces: the old one answers meanwhile, the swap is one commit, kills leave one whole space."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from sqlalchemy import func, select

from crag.cancellation import Cancellation
from crag.errors import BadRequest, ModelFault, NotFound, Stopped
from crag.retrieval import active_embedder
from crag.storage.sources import write_vectors
from crag.storage.spaces import activate_space
from crag.storage.tables import spaces, vectors
from tests.crashing import NOTES as LINES
from tests.crashing import Forked
from tests.doubles.library import HashEmbedder, Shelf, index_of
from tests.waiting import PATIENCE, wait_until

NOTES = "\n".join(f"Line {n} speaks of topic {n % 7} and word{n}." for n in range(300)).encode()
OLD, NEW = "double:hash", "double:new"

KILLED = """
import os, signal, sys
from pathlib import Path
from crag.cancellation import Cancellation
from crag.retrieval import space_switch
from tests.doubles.library import HashEmbedder, Shelf, open_library

home, point = Path(sys.argv[1]), sys.argv[2]
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
old, new = HashEmbedder(), HashEmbedder("new")
library = open_library(home, shelf=Shelf(new, old))
use = lambda name: library.spaces.use(name, lambda _: None, Cancellation())
if point == "embedding":
    new.before_batch = lambda: new.embedded >= 270 and die()
elif point == "before the swap":
    library.spaces._prepare = die
elif point == "inside the swap":
    space_switch.write_embedder_choices = die
elif point == "after the swap":
    library.spaces._switch = lambda *a, **k: (space_switch.SpaceSwitcher._switch(library.spaces, *a, **k), die())
elif point == "going back":
    use("double:new")
    space_switch.write_embedder_choices = die
    library.spaces.go_back(lambda _: None, Cancellation())
elif point == "dropping":
    use("double:new")
    empty = lambda connection: connection.exec_driver_sql("DELETE FROM vectors")
    space_switch.drop_vector_batch = lambda connection, space_id: (empty(connection), die())
    library.spaces.drop(old.space.id)
use("double:new")
"""


def quietly(_progress):
    """Progress that nobody watches."""


@pytest.fixture(autouse=True)
def _look_each_time(monkeypatch):
    """A changed model is noticed after some seconds; here at each use."""
    monkeypatch.setattr(active_embedder, "_CACHE_SECONDS", 0)
    monkeypatch.setattr(active_embedder, "_FAULT_CACHE_SECONDS", 0)


@pytest.fixture
def old():
    return HashEmbedder()


@pytest.fixture
def new():
    return HashEmbedder("new")


@pytest.fixture
def filled(reopen, old):
    library = reopen(shelf=Shelf(old))
    library.pipeline.add_bytes("notes.txt", NOTES)
    return library


@pytest.fixture
def switching(filled, reopen, old, new):
    """The library after the settings were changed to the new embedder."""
    return reopen(shelf=Shelf(new, old))


def answers(library):
    space = library.spaces.active_embedder.active_space().space
    return space.name if space else None


def states(library):
    return {report.space.name: (report.state, report.vectors) for report in library.spaces.statuses()}


def check_found(library):
    """Everything is found in the space that answers, as near as can be."""
    space = library.spaces.active_embedder.active_space().space
    with library._database.read() as connection:
        assert connection.scalar(select(func.count()).where(vectors.c.space_id == space.id)) == library.size()
    assert len(index_of(library).ids()) == library.size()
    assert library.search("word123", k=1)[0].text.endswith("word123.")


def test_the_first_document_brings_its_space_in_the_same_commit(library):
    assert (answers(library), library.spaces.statuses()) == (None, [])
    library.pipeline.add_bytes("a.txt", b"A.")
    assert states(library) == {OLD: ("answering", 1)}
    with library._database.read() as connection:
        assert connection.scalar(select(func.count()).where(spaces.c.canary.is_not(None))) == 1


def test_one_shot_use_of_other_settings_leaves_what_answers(switching, new):
    assert switching.search("word123", k=1)[0].text.endswith("word123.")
    assert switching.pipeline.add_bytes("more.txt", b"One more.").status == "added"
    assert (answers(switching), new.embedded, switching.count_missing_vectors()) == (OLD, 0, 0)
    assert switching.spaces.active_embedder.wanted() == NEW


def test_the_background_builds_and_swaps_and_the_others_see_it(filled, switching):
    switching.space_work.begin()
    assert switching.space_work.wait(PATIENCE)
    assert (answers(switching), answers(filled)) == (NEW, NEW)
    assert states(switching) == {NEW: ("answering", 300), OLD: ("kept", 300)}
    check_found(switching)


def test_each_batch_of_a_build_is_told(switching):
    seen = []
    switching.spaces.apply_choice(seen.append, Cancellation())
    told = [progress.done for progress in seen if progress.stage == "Embedding passages"]
    assert told == sorted(told)
    assert len(told) > 300 // 32
    assert {progress.total for progress in seen} == {300}


def test_another_process_follows_at_its_next_question(filled, reopen, old, new):
    other = reopen(shelf=Shelf(old, new))
    check_found(other)
    reopen(shelf=Shelf(new, old)).spaces.use(NEW, quietly, Cancellation())
    assert new.asked == []
    check_found(other)
    assert new.asked == ["word123"]


def test_no_question_and_no_document_is_lost_while_switching(filled, switching, old, new):
    """The swap waits for the last document added meanwhile; each question is answered by one whole space."""
    failures, asked, added, halt = [], [], [], threading.Event()
    new.before_batch = lambda: wait_until(lambda: failures or (added and len(asked) == 2 and all(asked)))

    def ask():
        mine = []  # of this thread alone: between reading a space and writing it down, another thread may do both
        asked.append(mine)
        try:
            while not halt.is_set():
                assert switching.search("word123", k=1)[0].text.endswith("word123.")
                space = switching.spaces.active_embedder.active_space().space
                assert len(switching.retriever.open_index(space).ids()) >= 300
                mine.append(space.name)
        except Exception as error:  # noqa: BLE001 — a thread's failure is shown by the test
            failures.append(error)

    def add():
        try:
            for n in range(15):
                result = filled.pipeline.add_bytes(f"{n}.txt", f"Added {n} meanwhile.".encode())
                added.append(result.status)
        except Exception as error:  # noqa: BLE001 — as above
            failures.append(error)

    threads = [threading.Thread(target=target) for target in (ask, ask, add)]
    filled.spaces._provider.embedders.append(new)
    for thread in threads:
        thread.start()
    switching.space_work.begin()
    assert switching.space_work.wait(PATIENCE)
    threads[-1].join()
    wait_until(lambda: failures or all(NEW in mine for mine in asked))
    halt.set()
    for thread in threads[:-1]:
        thread.join()
    assert failures == []
    assert added == ["added"] * 15
    assert {name for mine in asked for name in mine} == {OLD, NEW}
    assert all(mine == sorted(mine) for mine in asked), "from the old one, and after the swap from the new one only"
    check_found(switching)
    assert switching.size() == 315


def test_a_document_stored_after_the_swap_is_embedded_again(filled, reopen, old, new):
    library = reopen(shelf=Shelf(old, new))

    def swap():
        old.before_batch = lambda: None
        library.spaces.use(NEW, quietly, Cancellation())

    old.before_batch = swap
    filled.spaces._provider.embedders.append(new)
    assert filled.pipeline.add_bytes("late.txt", b"Too late for the old one.").status == "added"
    assert library.count_missing_vectors() == 0
    check_found(library)


def test_a_build_that_is_stopped_keeps_what_is_done_and_goes_on(switching, reopen, old, new):
    stop = Cancellation()
    new.before_batch = lambda: new.embedded >= 256 and stop.cancel()
    with pytest.raises(Stopped):
        switching.spaces.apply_choice(quietly, stop)
    assert answers(switching) == OLD
    assert states(switching)[NEW] == ("building", 256)
    again = HashEmbedder("new")
    library = reopen(shelf=Shelf(again, old))
    library.spaces.apply_choice(quietly, Cancellation())
    assert (answers(library), again.embedded) == (NEW, 44)


def test_going_back_sticks_until_it_is_chosen_anew(switching, reopen, old, new):
    switching.spaces.use(NEW, quietly, Cancellation())
    switching.pipeline.add_bytes("more.txt", b"One more.")
    assert switching.spaces.go_back(quietly, Cancellation()).name == OLD
    assert switching.count_missing_vectors() == 0
    restarted = reopen(shelf=Shelf(new, old))
    restarted.spaces.apply_choice(quietly, Cancellation())
    assert (answers(restarted), restarted.spaces.active_embedder.overruled()) == (OLD, NEW)
    restarted.spaces.use(NEW, quietly, Cancellation())
    assert (answers(restarted), restarted.spaces.active_embedder.overruled()) == (NEW, "")
    restarted.spaces.go_back(quietly, Cancellation())
    third = HashEmbedder("third")
    moved_on = reopen(shelf=Shelf(third, new, old))
    moved_on.spaces.apply_choice(quietly, Cancellation())
    assert answers(moved_on) == "double:third", "an embedder that was not known then is a new choice"


def test_cancelling_stays_with_what_answers(switching, reopen, old, new):
    cancelled = threading.Event()
    new.before_batch = lambda: new.embedded >= 256 and cancelled.wait()
    switching.space_work.begin()
    wait_until(lambda: states(switching).get(NEW, ("", 0))[1] >= 256)
    switching.space_work.cancel()
    cancelled.set()
    assert switching.space_work.wait(PATIENCE)
    assert (answers(switching), switching.space_work.fault) == (OLD, "")
    restarted = reopen(shelf=Shelf(new, old))
    restarted.spaces.apply_choice(quietly, Cancellation())
    assert answers(restarted) == OLD
    assert states(restarted)[NEW] == ("kept", 256)


def test_automatic_choices_move_no_passages(filled, reopen, old, new):
    library = reopen(shelf=Shelf(new, old, explicit=False))
    library.spaces.apply_choice(quietly, Cancellation())
    assert (answers(library), library.spaces.active_embedder.wanted()) == (OLD, OLD)


def test_two_processes_that_are_set_differently_do_not_fight(filled, switching, reopen, old, new, monkeypatch):
    """While the process that switched lives, the settings of another do not switch back; its hand may."""
    switching.spaces.apply_choice(quietly, Cancellation())
    assert answers(filled) == NEW
    monkeypatch.setattr("crag.retrieval.space_switch.owner_name", lambda _connection: "another")
    other = reopen(shelf=Shelf(old, new))
    other.spaces.apply_choice(quietly, Cancellation())
    assert answers(other) == NEW
    other.spaces.use(OLD, quietly, Cancellation())
    assert answers(switching) == OLD
    switching.spaces.apply_choice(quietly, Cancellation())
    assert answers(switching) == OLD


def test_a_switch_that_was_overtaken_gives_way(switching, reopen, old, new):
    """Another process decides by hand just before the swap."""
    third = HashEmbedder("third")
    other = reopen(shelf=Shelf(old, new, third))
    overtaken = []

    def overtake(_space):
        if not overtaken:
            overtaken.append(True)
            other.spaces.use("double:third", quietly, Cancellation())

    switching.spaces._prepare = overtake
    switching.spaces._provider.embedders.append(third)
    switching.spaces.apply_choice(quietly, Cancellation())
    assert answers(switching) == "double:third"


def test_dropping_frees_what_is_not_in_use(switching):
    spaces_ = switching.spaces
    old_space = spaces_.active_embedder.active_space().space
    with pytest.raises(BadRequest, match="in use"):
        spaces_.drop(old_space.id)
    spaces_.use(NEW, quietly, Cancellation())
    switching.save()
    spaces_.drop(old_space.id)
    assert states(switching) == {NEW: ("answering", 300)}
    with pytest.raises(NotFound):
        spaces_.go_back(quietly, Cancellation())
    with pytest.raises(NotFound):
        spaces_.drop(old_space.id)
    check_found(switching)
    spaces_.use(OLD, quietly, Cancellation())
    check_found(switching)


def test_other_weights_of_one_fingerprint_are_another_space(filled, old):
    before = filled.spaces.active_embedder.active_space().space
    old.weights = "changed"
    (hit,), notice = filled.explain("word123", k=1)
    assert hit.passage.text.endswith("word123.")
    assert "the model changed under the same name" in notice
    assert filled.spaces.active_embedder.known_fault() == notice
    filled.space_work.begin()
    assert filled.space_work.wait(PATIENCE)
    after = filled.spaces.active_embedder.active_space().space
    assert (after.digest, after.dimension) == (f"{before.digest}+2", before.dimension)
    check_found(filled)
    assert filled.explain("word123")[1] == ""
    old.weights = ""
    filled.spaces.apply_choice(quietly, Cancellation())
    assert filled.spaces.active_embedder.active_space().space == before, "the first one is recognised when it is back"


def test_weights_that_change_during_embedding_are_noticed(filled, old):
    def change():
        if old.embedded > 340:
            old.weights = "changed"

    old.before_batch = change
    assert filled.pipeline.add_bytes("more.txt", NOTES.replace(b"speaks", b"tells")).status == "added"
    with filled._database.read() as connection:
        per_space = dict(
            connection.execute(select(spaces.c.digest, func.count()).join(vectors).group_by(spaces.c.digest)).all()
        )
    assert per_space == {"1": 300, "1+2": 300}


def test_vectors_are_never_stored_under_a_foreign_canary(filled, old):
    space = filled.spaces.active_embedder.active_space().space
    row = np.ones(space.dimension, dtype=np.float32) / np.sqrt(space.dimension)
    with pytest.raises(ModelFault, match="same name"), filled._database.write() as connection:
        write_vectors(connection, [1], np.stack([row]), space, row)


def test_while_the_embedder_is_gone_words_answer_and_it_is_said(filled, old):
    old.gone = True
    (hit,), notice = filled.explain("word123", k=1)
    assert hit.passage.text.endswith("word123.")
    assert OLD in notice
    assert "Start it." in notice
    assert filled.spaces.active_embedder.known_fault() == notice
    result = filled.pipeline.add_bytes("more.txt", b"One more.")
    assert (result.status, result.error.code) == ("failed", "embedding_failed")
    old.gone = False
    assert filled.explain("word123")[1] == ""
    assert filled.spaces.active_embedder.known_fault() == ""


def test_the_wanted_embedder_stands_in_when_the_old_one_is_gone(switching, old):
    old.gone = True
    assert switching.pipeline.add_bytes("more.txt", b"One more about bees.").status == "added"
    assert answers(switching) == OLD
    assert switching.search("bees", k=1)[0].text == "One more about bees."
    switching.spaces.apply_choice(quietly, Cancellation())
    assert answers(switching) == NEW
    check_found(switching)


def test_gaps_are_filled_when_the_embedder_is_back(filled, reopen, old, new):
    library = reopen(shelf=Shelf(new, old, explicit=False))
    library.space_work.begin()
    assert library.space_work.wait(PATIENCE)
    old.gone = True
    library.pipeline.add_bytes("more.txt", b"One more about bees.")
    assert library.count_missing_vectors() == 1
    old.gone = False
    library.search("bees")
    assert library.space_work.wait(PATIENCE)
    assert library.count_missing_vectors() == 0


def test_a_library_that_was_emptied_belongs_to_no_space(switching):
    switching.remove([source.id for source in switching.sources()])
    assert answers(switching) is None
    switching.pipeline.add_bytes("a.txt", b"Anew.")
    assert (answers(switching), switching.count_missing_vectors()) == (NEW, 0)


def test_a_library_without_a_canary_gets_one(filled, old):
    with filled._database.write() as connection:
        connection.execute(spaces.update().values(canary=None))
    filled.spaces.apply_choice(quietly, Cancellation())
    old.weights = "changed"
    assert "same name" in filled.explain("word1")[1]


def test_a_space_can_be_activated_only_when_it_is_known(library):
    from sqlalchemy.exc import IntegrityError

    with pytest.raises(IntegrityError), library._database.write() as connection:
        activate_space(connection, HashEmbedder("unknown").space)


def test_the_swap_waits_for_what_was_added_just_before_it(filled, switching):
    def add_once(_space):
        filled.pipeline.add_bytes("last.txt", b"Added before the swap.")  # unchanged at the second time

    switching.spaces._prepare = add_once
    switching.spaces.apply_choice(quietly, Cancellation())
    assert (answers(switching), switching.count_missing_vectors(), switching.size()) == (NEW, 0, 301)


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("point", "answering", "embedded"),
    [
        ("embedding", "double:hash", 256),
        ("before the swap", "double:hash", 300),
        ("inside the swap", "double:hash", 300),
        ("after the swap", "double:new", 300),
        ("going back", "double:new", 300),
        ("dropping", "double:new", 300),
    ],
)
def test_a_kill_leaves_one_whole_space_that_answers(tmp_path, reopen, point, answering, embedded):
    filled = reopen()
    for n in range(3):
        filled.pipeline.add_bytes(f"{n}.txt", LINES.replace(b"topic", f"topic {n}".encode()))
    with Forked(KILLED, tmp_path / "home", point) as process:
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    again = HashEmbedder("new")
    library = reopen(shelf=Shelf(again, HashEmbedder()))
    space = library.spaces.active_embedder.active_space().space
    assert space.name == answering
    assert len(index_of(library).ids()) == library.size() == 300
    with library._database.read() as connection:
        assert connection.scalar(select(func.count()).where(vectors.c.space_id == again.space.id)) == embedded
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    library.spaces.use("double:new", quietly, Cancellation())
    assert (library.count_missing_vectors(), again.embedded) == (0, 300 - embedded)
    assert library.search("Line 12 speaks", k=1)
