"""Large documents are cut by processes of their own, to the same passages, and nothing waits for one that has gone."""

import os
import threading
import time

import psutil
import pytest

from crag.errors import SourceRefused, Stopped
from crag.library.adding.cutters import Cutters
from crag.library.adding.cutting import cut
from crag.library.parse.document import Block, Document
from crag.stopping import Stop

LARGE = 1_100_000


def count_words(text):
    """Counts in the other process, where it ends or waits if it is told to."""
    if "poison" in text:
        os._exit(1)
    if "slowly" in text:
        time.sleep(60)
    return len(text.split())


def document(*words, size=LARGE):
    sentence = "The quick brown fox jumps over the lazy dog near the river bank. "
    blocks = [Block("Foxes", "heading", level=1)]
    blocks += [Block(" ".join([*words, (sentence * 8).strip()]), page=n) for n in range(size // len(sentence) // 8 + 1)]
    return Document("A Title", "text", None, tuple(blocks))


def others():
    """The processes that cut for this one."""
    return [child for child in psutil.Process().children() if "crag.library.adding.cutters" in child.cmdline()]


@pytest.fixture
def cutters():
    cutters = Cutters(count_words)
    yield cutters
    cutters.rest()
    assert not others()


def test_another_process_cuts_a_large_document_to_the_same_passages(cutters):
    assert cutters.cut(document(), Stop()) == cut(document(), count_words)
    assert len(others()) == 1
    assert cutters.cut(document(size=1_000), Stop()) == cut(document(size=1_000), count_words)
    assert len(others()) == 1


def test_little_is_cut_on_the_spot(cutters):
    assert cutters.cut(document(size=10_000), Stop()) == cut(document(size=10_000), count_words)
    assert not others()


def test_a_function_that_no_other_process_can_find_counts_on_the_spot():
    cutters = Cutters(lambda text: len(text.split()))
    assert cutters.cut(document(), Stop()) == cut(document(), count_words)
    assert not others()


def test_a_process_that_dies_is_an_error_and_the_next_document_is_cut(cutters):
    with pytest.raises(SourceRefused, match="ended before it was done"):
        cutters.cut(document("poison"), Stop())
    assert cutters.cut(document(), Stop()) == cut(document(), count_words)


def test_cutting_stops_at_once_and_the_next_document_is_cut(cutters):
    stop = Stop()
    threading.Timer(0.5, stop.request).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        cutters.cut(document("slowly"), stop)
    assert time.monotonic() - began < 20
    assert cutters.cut(document(), Stop()) == cut(document(), count_words)


def test_who_waits_for_a_process_can_be_stopped(cutters):
    first, waiting = Stop(), Stop()
    threads = [threading.Thread(target=stopped, args=(cutters, first)) for _ in range(2)]
    for thread in threads:
        thread.start()
    while len(others()) < 2:
        time.sleep(0.01)
    threading.Timer(0.1, waiting.request).start()
    stopped(cutters, waiting)
    first.request()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def stopped(cutters, stop):
    with pytest.raises(Stopped):
        cutters.cut(document("slowly"), stop)
