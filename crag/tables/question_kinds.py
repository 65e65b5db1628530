"""Whether the wording of a question asks for figures of tables: a computation, rows, or a single figure."""

from __future__ import annotations

from collections.abc import Sequence

from crag.tables.comparisons import find_comparisons
from crag.tables.data_table import DataTable
from crag.tables.periods import find_periods
from crag.tables.table_reading import TableReading, find_operations
from crag.tables.wording import has_words, word_pattern
from crag.text.language import detect_language
from crag.text.route_classifier import classify_route
from crag.text.table_headers import names_period

_LONGEST = 300  # characters; a longer question brings its own text
_SURE, _POSSIBLE = 0.5, 0.1  # shares from which on a question may be about a table, without words for it or with them
_ANY_YEAR = 2000  # of a month without a year


def is_table_question(question: str) -> bool:
    """Return whether the wording asks for a computation over rows: a count, total, mean, extreme, share or change."""
    if is_plain_calculation(question):
        return True
    share = classify_route(question).get("table", 0.0)
    return share >= _SURE or (share >= _POSSIBLE and _states_calculation(question))


def _states_calculation(question: str) -> bool:
    operations = not word_pattern("wording", "no_figure").match(question) and find_operations(question)
    is_compared = has_words(question, "wording", "grouped") or has_words(question, "contest")
    return bool(operations or is_compared or has_words(question, "flow") or find_comparisons(question))


def is_listing_question(question: str) -> bool:
    """Return whether the wording may ask for rows or groups of a table. It may also ask for a fact."""
    return len(question) <= _LONGEST and has_words(question, "listing")


def is_lookup_question(question: str) -> bool:
    """Return whether the wording may ask for a figure of a period in a table, as in “sales of the depot in 2023”."""
    has_period = names_period(question) or bool(find_periods(question, (_ANY_YEAR,)))
    return len(question) <= _LONGEST and has_period and has_words(question, "lookup")


def is_plain_calculation(question: str) -> bool:
    """Return whether the wording certainly asks for figures computed over rows."""
    return has_words(question, "plain")


def may_be_about(question: str, tables: Sequence[DataTable]) -> bool:
    """Return whether the question names a column or value of a table, or a table is in another language."""
    language = detect_language(question)
    return any(
        detect_language(" ".join(column.name for column in table.columns)) != language
        or TableReading(question, table).matches
        for table in tables
    )
