"""Texts of table cells, which the browser cuts without an ellipsis."""

from __future__ import annotations

import pytest

from pages.parts.layout import fit_cell


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("brewing.md", 90, "brewing.md"),
        ("Maintenance of boilers and pumps", 160, "Maintenance of boil…"),
        ("Maintenance of boilers and pumps", 125, "Maintenance of…"),
        ("회의록 보관 문서 목록", 90, "회의록…"),
        ("two\nlines", 90, "two lines"),
        ("", 90, ""),
    ],
)
def test_a_cell_is_cut_with_an_ellipsis_only_where_it_is_too_narrow(text, width, shown):
    assert fit_cell(text, width) == shown
