"""Names of files, addresses and days as lists and charts show them."""

from datetime import date

import pytest

from crag.text.formatting import format_day, format_location
from crag.translation import use_language

NAMES = {
    "notes.md": "notes.md",
    "/home/someone/papers/notes.md": "notes.md",
    r"C:\papers\notes.md": "notes.md",
    "/home/someone/papers.zip!/old/notes.md": "papers.zip/old/notes.md",
    "papers.zip!/notes.md": "papers.zip/notes.md",
    "https://example.com/posts/agents/": "example.com/posts/agents",
    "https://example.com/papers.zip!/notes.md": "example.com/papers.zip/notes.md",
    "": "",
}


@pytest.mark.parametrize("location", NAMES)
def test_a_location_is_shown_by_file_name_or_address(location):
    assert format_location(location) == NAMES[location]


@pytest.mark.parametrize(
    ("language", "shown"), [("en", "28 Oct"), ("ko", "10월 28일"), ("zh_Hans", "10月28日"), ("zh_Hant", "10月28日")]
)
def test_a_day_is_written_as_in_the_language_of_the_screen(language, shown):
    with use_language(language):
        assert format_day(date(2026, 10, 28)) == shown
