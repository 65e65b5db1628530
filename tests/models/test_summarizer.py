"""Summaries by a language model: every part is read once, and each sentence keeps its source."""

import re

import pytest

from crag.cancellation import Cancellation
from crag.concurrency.caches import LRUCache
from crag.errors import Stopped
from crag.models.summarizer import ModelSummarizer
from crag.protocols import ReadingProgress, ReplyPiece, SummarySources
from tests.doubles.engine import passage
from tests.doubles.scripted_model import ScriptedModel

LONG = [passage(n, f"Fact {n} is {'very ' * 300}true.") for n in range(1, 41)]


def take_notes(prompt):
    """Notes on the first two passages of a part; the summary cites whatever it is given."""
    numbers = re.findall(r"^\[(\d+)\]", prompt, re.MULTILINE)
    return "\n".join(f"- It says so. [{number}]" for number in numbers[:2])


def summarize(model, passages, notes, stop=None):
    found = list(ModelSummarizer(model, notes).summarize("Summarize it", passages, stop or Cancellation()))
    read = [one.read for one in found if isinstance(one, ReadingProgress)]
    (sources,) = (one.passages for one in found if isinstance(one, SummarySources))
    return read, sources, "".join(one.text for one in found if isinstance(one, ReplyPiece))


def test_what_fits_is_summed_up_in_one_prompt():
    model = ScriptedModel(take_notes)
    read, sources, text = summarize(model, LONG[:2], LRUCache(10))
    assert (len(model.asked), read, [one.id for one in sources]) == (1, [2], [1, 2])
    assert text == "- It says so. [1]\n- It says so. [2]"


def test_longer_documents_are_read_in_parts_and_keep_the_sources_of_the_notes():
    model = ScriptedModel(take_notes)
    read, sources, _ = summarize(model, LONG, LRUCache(100))
    assert read == sorted(read)
    assert read[-1] == 40
    assert len(read) > 2
    known = {one.id for one in sources}
    assert {1, 2} < known < set(range(1, 41))


def test_what_was_read_is_not_read_again():
    model, notes = ScriptedModel(take_notes), LRUCache(100)
    first = summarize(model, LONG, notes)
    asked = len(model.asked)
    assert summarize(model, LONG, notes) == first
    assert len(model.asked) == asked + 1, "only the summary itself is written again"


def test_notes_without_a_source_are_left_out():
    replies = iter(["A statement of nobody.", "Another."] * 50)
    model = ScriptedModel(lambda prompt: next(replies))
    _, sources, _ = summarize(model, LONG, LRUCache(100))
    assert [one.id for one in sources] == list(range(1, len(sources) + 1)), "the beginning is read instead"


def test_reading_stops_between_two_parts():
    stop = Cancellation()

    def reply(prompt):
        stop.cancel()
        return take_notes(prompt)

    model = ScriptedModel(reply)
    with pytest.raises(Stopped):
        summarize(model, LONG, LRUCache(100), stop)
    assert len(model.asked) == 1
