"""A process that is killed while it switches: the old space answers, or the new one, whole; what was embedded stays."""

import os
import signal

import pytest
from sqlalchemy import func, select

from crag.cancellation import Cancellation
from crag.storage.tables import vectors
from tests.crashing import NOTES, Forked
from tests.doubles.library import HashEmbedder, Shelf, index_of

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
        filled.add_bytes(f"{n}.txt", NOTES.replace(b"topic", f"topic {n}".encode()))
    with Forked(KILLED, tmp_path / "home", point) as process:
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    again = HashEmbedder("new")
    library = reopen(shelf=Shelf(again, HashEmbedder()))
    space = library.spaces.answering.active().space
    assert space.name == answering
    assert len(index_of(library).ids()) == library.size() == 300
    with library._database.read() as connection:
        assert connection.scalar(select(func.count()).where(vectors.c.space_id == again.space.id)) == embedded
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    library.spaces.use("double:new", quietly, Cancellation())
    assert (library.count_missing_vectors(), again.embedded) == (0, 300 - embedded)
    assert library.search("Line 12 speaks", k=1)
