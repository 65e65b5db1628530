"""Summaries by a language model: every part is read once, and each sentence keeps its source."""

import re
from contextlib import closing

import pytest

from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.models.summarizer import ModelSummarizer
from crag.protocols import ReadingProgress, ReplyPiece, SummarySources
from crag.storage.engine import Database
from crag.storage.summary_parts import SummaryParts
from tests.doubles.engine import passage
from tests.doubles.library import open_library
from tests.doubles.scripted_model import ScriptedModel


@pytest.fixture
def parts(tmp_path):
    with closing(Database(tmp_path / "home")) as database:
        yield SummaryParts(database)


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


def test_what_fits_is_summed_up_in_one_prompt(parts):
    model = ScriptedModel(take_notes)
    read, sources, text = summarize(model, LONG[:2], parts)
    assert (len(model.asked), read, [one.id for one in sources]) == (1, [2], [1, 2])
    assert text == "- It says so. [1]\n- It says so. [2]"


def test_longer_documents_are_read_in_parts_and_keep_the_sources_of_the_notes(parts):
    model = ScriptedModel(take_notes)
    read, sources, _ = summarize(model, LONG, parts)
    assert read == sorted(read)
    assert read[-1] == 40
    assert len(read) > 2
    known = {one.id for one in sources}
    assert {1, 2} < known < set(range(1, 41))


def test_what_was_read_is_not_read_again(parts):
    model = ScriptedModel(take_notes)
    first = summarize(model, LONG, parts)
    asked = len(model.asked)
    assert summarize(model, LONG, parts) == first
    assert len(model.asked) == asked + 1, "only the summary itself is written again"


def test_notes_without_a_source_are_left_out(parts):
    replies = iter(["A statement of nobody.", "Another."] * 50)
    model = ScriptedModel(lambda prompt: next(replies))
    _, sources, _ = summarize(model, LONG, parts)
    assert [one.id for one in sources] == list(range(1, len(sources) + 1)), "the beginning is read instead"


def test_reading_stops_between_two_parts(parts):
    stop = Cancellation()

    def reply(prompt):
        stop.cancel()
        return take_notes(prompt)

    model = ScriptedModel(reply)
    with pytest.raises(Stopped):
        summarize(model, LONG, parts, stop)
    assert len(model.asked) == 1


def test_another_process_goes_on_where_reading_stopped(tmp_path):
    """Each process has opened the home anew."""
    stop, asked = Cancellation(), []

    def reply(prompt):
        if len(asked) == 2:
            stop.cancel()
        asked.append(prompt)
        return take_notes(prompt)

    for stopped in (True, False):
        with closing(Database(tmp_path / "home")) as database:
            model = ScriptedModel(reply)
            if stopped:
                with pytest.raises(Stopped):
                    summarize(model, LONG, SummaryParts(database), stop)
            else:
                summarize(model, LONG, SummaryParts(database))
    assert len(asked) == len(set(asked)), "nothing is read twice"


def test_notes_go_with_any_document_that_they_are_about(tmp_path):
    with closing(open_library(tmp_path / "home")) as library:
        parts, added = (
            SummaryParts(library._database),
            [library.pipeline.add_bytes(f"{name}.md", f"# {name}\n\nA {name}.\n".encode()) for name in ("fox", "hen")],
        )
        parts.put("m", "both", "- They are.", [one.id for one in added])
        parts.put("m", "hen", "- It is.", [added[1].id])
        library.remove([added[0].id])
        assert (parts.get("m", "both"), parts.get("m", "hen")) == (None, "- It is.")
