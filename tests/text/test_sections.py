"""Numbers of headings and clauses."""

import pytest

from crag.text.sections import is_numbered, title_units
from tests.doubles.engine import passage


@pytest.mark.parametrize(
    ("text", "number", "expected"),
    [
        ("2.2 Use", "2.2", True),
        ("2.2 Use", "2", True),
        ("2.2.1 Use at home", "2.2", True),
        ("2.20 Use", "2.2", False),
        ("2.2 The tenant keeps the roof.", "2.2", True),
        ("3 Rent", "3", True),
        ("3 Members form a quorum.", "3", False),
        ("3 members form a quorum", "3", False),
        ("31 Rent", "3", False),
        ("3. Rent", "3", True),
        ("§ 3 Rent", "3", True),
        ("제3조 임대료", "3", True),
    ],
)
def test_a_heading_or_clause_has_the_number_it_begins_with(text, number, expected):
    assert is_numbered(text, number) is expected


def test_the_unfinished_end_of_a_paragraph_is_no_heading():
    broken = passage(1, "Roofs\n\nTiles are laid in rows. Professor Paul\n\nKrug praised the roof of the mill.")
    assert [title for title, _ in title_units(broken)] == ["Roofs"] * 3


def test_a_title_of_two_sentences_is_a_heading():
    title = "Does a free bus help shift workers to sleep? Plain summary"
    study = passage(1, f"{title}\n\nIt helps some of them.", heading=title)
    assert [text for _, text in title_units(study)][-1:] == ["It helps some of them."]
    assert "Plain summary" not in [text for _, text in title_units(study)]
