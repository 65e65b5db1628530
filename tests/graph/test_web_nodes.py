"""Reading the pages that a web search found, with one note for those that were not read."""

from dataclasses import replace

import pytest

from crag.options import RunOptions
from tests.doubles.engine import ListWeb, passage
from tests.graph.conftest import Bench


class ReadsTheFirst:
    def __init__(self):
        self.asked = []

    def read(self, question, found, stop):
        self.asked.append(question)
        first, *rest = found
        return [replace(first, text="The whole page says that it holds."), *rest], len(rest)


@pytest.mark.parametrize("join_web", [False, True])
def test_the_nearest_parts_take_the_place_of_the_excerpt(join_web):
    found = [passage(number, f"Excerpt {number}.", origin="web") for number in (-1, -2, -3)]
    options = RunOptions(web="auto", refine=False, join_web=join_web)
    bench = Bench({1: 0.0, -1: 1.0, -2: 1.0}, options, ListWeb(found), pages=ReadsTheFirst())
    trace = bench.ask()
    assert "The whole page says that it holds." in bench.writer.given[0].text
    assert bench.pages.asked == ["What holds?"]
    assert trace.citations[0].location == found[0].location
    assert trace.notes == ["2 pages on the web could not be read; the excerpts of the search were used instead."]


def test_nothing_is_read_where_the_search_found_nothing():
    bench = Bench({1: 0.0}, RunOptions(web="auto"), ListWeb(), pages=ReadsTheFirst())
    assert bench.ask().notes == []
    assert bench.pages.asked == []
