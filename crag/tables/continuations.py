"""Follow-ups to a calculation: the earlier question with the value, operation or grouping that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crag.tables.data_table import DataTable
from crag.tables.questions import write_query
from crag.text.language import detect_language

_OPERATIONS = {
    "en": r"\b(?:total|sum|average|mean|highest|lowest|largest|smallest|maximum|minimum|most|least)\b",
    "ko": r"총합?|합계|평균|최대|최소|최고|최저",
    "zh": r"总[计和]?|總[計和]?|合[计計]|平均|最[高低大小多少]",
}
_GROUPING = {
    "en": r"\b(?:by|per|for each)\s+[\w ]+",
    "ko": r"[가-힣\w]+별로?",
    "zh": r"按[\w]+",
}
_LEADING_WORDS = re.compile(r"(?i)^(?:(?:in|for|from|of|at|with|only)\s+)?(?:the\s+)?")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def continue_calculation(previous: str, fragment: str, tables: Sequence[DataTable]) -> str:
    """Return the earlier question as the fragment changes it, if the tables surely answer it; else an empty text.

    The fragment names another value of a column, another operation, another year, or what to group by.
    """
    before = write_query(previous, tables)
    if before is None or not before.is_certain:
        return ""
    for candidate in _make_candidates(previous.rstrip(" ?？.。"), fragment, tables):
        query = write_query(f"{candidate}?", tables)
        if query and query.is_certain and query.sql != before.sql:
            return f"{candidate}?"
    return ""


def _make_candidates(previous: str, fragment: str, tables: Sequence[DataTable]) -> Iterator[str]:
    language = detect_language(fragment + previous)
    part = _LEADING_WORDS.sub("", fragment)
    for pattern in (_OPERATIONS[language], _GROUPING[language]):
        if found := re.search(pattern, fragment, re.IGNORECASE):
            if re.search(pattern, previous, re.IGNORECASE):
                yield re.sub(pattern, found[0].replace("\\", ""), previous, count=1, flags=re.IGNORECASE)
            elif pattern is _GROUPING[language]:
                yield f"{previous} {found[0]}"
            return
    if _YEAR.fullmatch(part) and _YEAR.search(previous):
        yield _YEAR.sub(part, previous)
    for values in _columns_with(part, tables):
        for value in sorted(values - {part.casefold()}, key=len, reverse=True):
            if found := re.search(rf"(?<![a-z\d]){re.escape(value)}(?![a-z\d])", previous, re.IGNORECASE):
                yield previous[: found.start()] + part + previous[found.end() :]
                return
        yield f"{previous} in {part}" if language == "en" else f"{part} {previous}"


def _columns_with(value: str, tables: Sequence[DataTable]) -> Iterator[set[str]]:
    """Yield the values of each text column that has this one, in lower case."""
    for table in tables:
        for at, column in enumerate(table.columns):
            values = {str(row.values[at]).casefold() for row in table.rows if row.values[at] is not None}
            if column.kind == "text" and value.casefold() in values:
                yield values
