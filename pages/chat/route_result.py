"""What belongs to an answer that is no fact: the result of a query, the list as a file, the way back to a fact."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from crag.options import ROUTES
from crag.runs.trace import Trace
from crag.text.formatting import export_file_name, format_count, format_number
from crag.text.sanitization import CsvCell, strip_invisible, write_csv
from crag.translation import _, bind_language
from crag.types import TableResult
from pages.chat.questions import regenerate_answer
from pages.parts import markdown

_BAR_HEIGHT = 40


def draw_route_result(run_id: str, trace: Trace) -> None:
    """Draw the table and chart of a query, the button that exports a list, and the one that asks as a fact."""
    if trace.table:
        _draw_table(run_id, trace.table)
    if trace.route in (None, "fact") or trace.state != "done":
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if trace.listed or trace.table:
            st.download_button(
                _("Export as CSV"),
                bind_language(partial(export_result, trace)),
                file_name=export_file_name(trace.question, "csv"),
                mime="text/csv",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
                key=f"csv-{run_id}",
            )
        st.button(
            _("Ask as a fact"),
            icon=":material/short_text:",
            type="tertiary",
            key=f"as-fact-{run_id}",
            on_click=regenerate_answer,
            args=(run_id, replace(trace.options, route="fact")),
        )
        kind, meaning = map(_, ROUTES[trace.route])
        st.caption(
            _("Answered as: {kind} ({meaning}). A fact is answered {routes}.").format(
                kind=kind.lower(), meaning=meaning, routes=_(ROUTES["fact"][1])
            ),
            width="content",
        )


def export_result(trace: Trace) -> bytes:
    """Return every match with its place, or the result of the query, as CSV below a header row."""
    if trace.listed:
        matches = ((match.title, match.page, match.sheet, match.text) for match in trace.listed.matches)
        return write_csv([(_("Document"), _("Page"), _("Sheet"), _("Text")), *matches])
    return write_csv([trace.table.columns, *trace.table.rows]) if trace.table else b""


def _draw_table(run_id: str, result: TableResult) -> None:
    """Draw a result with its chart and query; names and cells come from a document."""
    names = [strip_invisible(name) for name in result.columns]
    if result.chart:
        label, value = (result.columns.index(name) for name in result.chart)
        st.bar_chart(  # columns of its own: a chart reads dots and brackets in a name as a path
            {
                "label": [strip_invisible(str(row[label])) for row in result.rows],
                "value": [row[value] for row in result.rows],
            },
            x="label",
            y="value",
            x_label=names[label],
            y_label=names[value],
            height=_BAR_HEIGHT * (len(result.rows) + 2),
            sort=False,
            horizontal=True,
        )
    if not result.is_figure:
        cells = [[_visible_cell(row[at]) for row in result.rows] for at in range(len(names))]
        numbers = [name for name, column in zip(names, cells, strict=True) if not any(map(_is_text, column))]
        st.dataframe(
            dict(zip(names, cells, strict=True)),
            column_config={name: st.column_config.NumberColumn(format="localized") for name in numbers},
            hide_index=True,
            key=f"table-{run_id}",
        )
    with st.expander(_("Query"), type="compact", key=f"query-{run_id}"):
        st.code(strip_invisible(result.sql), language="sql", wrap_lines=True)
        more = _("first {rows} of {rows2} shown").format(
            rows=format_number(len(result.rows)), rows2=format_count(result.total_rows, "row")
        )
        shown = f" · {more}" if result.total_rows > len(result.rows) else ""
        title = markdown.escape_line(result.title)
        st.caption(
            _("Read-only, on “{title}”. Based on {rows}{shown}.").format(
                title=title, rows=format_count(result.used, "row"), shown=shown
            )
        )


def _visible_cell(cell: CsvCell) -> CsvCell:
    return strip_invisible(cell) if isinstance(cell, str) else cell


def _is_text(cell: CsvCell) -> bool:
    return isinstance(cell, str)
