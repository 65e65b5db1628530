"""Names of files and addresses as lists show them."""

import pytest

from crag.text.formatting import format_location

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
