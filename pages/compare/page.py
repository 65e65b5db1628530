"""Compare page: two runs side by side, as versions of one answer or as any two answers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.errors import NotFound
from crag.events import NODES
from crag.inspection import run_labels
from crag.inspection.run_differences import TextPiece, compare_texts, nodes_only_in
from crag.runs.trace import Trace
from crag.text.formatting import format_count, format_duration
from crag.translation import _, translate_text
from pages.chat import consent
from pages.chat.answer import answer_headline, draw_answer_text
from pages.compare import tables
from pages.compare.tables import ComparedRun, load_compared_runs
from pages.parts import labels, layout, markdown
from pages.parts.address import open_page
from pages.parts.routes import Page
from pages.parts.trace import current_activity


def draw_summary(one: ComparedRun, other: ComparedRun) -> None:
    """Draw one line per difference; equal facts are omitted."""
    if one.is_unfinished or other.is_unfinished:
        return
    lines = [
        *_outcome_lines(one, other),
        *_settings_lines(one, other),
        *_verdict_lines(one, other),
        *_path_lines(one, other),
        *_time_lines(one, other),
    ]
    st.header(_("What differs"), anchor=False)
    st.markdown("\n".join(f"- {line}" for line in lines) or _("Only the time they took."))


def _outcome_lines(one: ComparedRun, other: ComparedRun) -> list[str]:
    """Return the differences in decision and outcome."""
    decisions, outcomes = (
        [badge(side.trace) for side in (one, other)] for badge in (labels.decision_badge, _outcome_badge)
    )
    badges = [(_("Decision"), *decisions)] if decisions != outcomes else []
    return [
        f"**{name}**: {left} → {right}" for name, left, right in (*badges, (_("Outcome"), *outcomes)) if left != right
    ]


def _outcome_badge(trace: Trace) -> str:
    return labels.outcome_badge(trace.action, trace.outcome or "not_answered")


def _settings_lines(one: ComparedRun, other: ComparedRun) -> list[str]:
    rows = tables.find_different_settings(one.trace, other.trace)
    return [_("**Settings**: {value}").format(value=", ".join((name for name, *_unused in rows)))] if rows else []


def _verdict_lines(one: ComparedRun, other: ComparedRun) -> list[str]:
    different, same = tables.split_verdict_rows(one.trace, other.trace)
    if not different:
        return []
    return [
        _("**Verdicts**: {different} of {passages} differ").format(
            different=len(different), passages=format_count(len(different) + len(same), "passage")
        )
    ]


def _path_lines(one: ComparedRun, other: ComparedRun) -> list[str]:
    """Return the nodes that only one of the runs visited."""
    lines = []
    for side, opposite in ((one, other), (other, one)):
        if nodes := nodes_only_in(side.trace, opposite.trace):
            lines.append(
                _("**Path**: only {name} took *{value}*").format(
                    name=side.name, value=", ".join(_(NODES[node].title) for node in nodes)
                )
            )
    return lines


def _time_lines(one: ComparedRun, other: ComparedRun) -> list[str]:
    seconds = [side.trace.seconds for side in (one, other)]
    times = [format_duration(value) for value in seconds if value is not None]
    return (
        [_("**Time**: {times} → {times2}").format(times=times[0], times2=times[1])]
        if len(times) == 2 and times[0] != times[1]
        else []
    )


def draw_answers(one: ComparedRun, other: ComparedRun) -> None:
    """Draw each answer with its name, outcome, text, sources and notes; words unique to it are marked."""
    marked = _mark_differences(one, other)
    for column, side, pieces in zip(st.columns(2, gap="large"), (one, other), marked, strict=True):
        with column:
            st.header(f"{side.name} {labels.grey_text(side.detail)}", anchor=False)
            _draw_answer(side.run_id, side.trace, pieces)
    if any(marked):
        st.caption(_(":yellow-background[Highlighted]: words only in this answer."))
    elif one.trace.text and one.trace.text == other.trace.text:
        st.caption(_("Both answers are identical."))


def _mark_differences(one: ComparedRun, other: ComparedRun) -> tuple[list[TextPiece], list[TextPiece]]:
    """Split both texts into pieces if both are complete, differ, and have enough in common."""
    texts = one.trace.text, other.trace.text
    if one.is_unfinished or other.is_unfinished or not all(texts) or texts[0] == texts[1]:
        return [], []
    return compare_texts(*texts) or ([], [])


def _draw_answer(run_id: str, trace: Trace, pieces: Sequence[TextPiece]) -> None:
    st.markdown(current_activity(trace) if trace.state == "running" else answer_headline(trace))
    if trace.waiting:
        consent.draw_consent_card(run_id, trace)
    elif pieces:
        st.markdown("".join(map(_format_piece, pieces)))
    elif trace.text:
        draw_answer_text(run_id, trace, links=False)
    if trace.state == "failed":
        error, remedy = map(translate_text, (trace.error, trace.remedy))
        st.markdown(f"**{markdown.escape_line(error)}** {markdown.sanitize_answer(remedy)}")
    locators = run_labels.source_locators(trace)
    for cited in trace.citations:
        st.markdown(f":small[:blue[**{cited.n}**] {markdown.escape_place(cited.title, locators[cited.n], 90)}]")
    for note in trace.notes:
        st.caption(f":material/info: {markdown.escape_line(translate_text(note))}")


def _format_piece(piece: TextPiece) -> str:
    """Return plain text, highlighted line by line if unique to this answer: a highlight cannot span lines."""
    if not piece.own:
        return markdown.escape_verbatim(piece.text)
    lines = (_highlight_line(line) for line in piece.text.split("\n"))
    return "  \n".join(lines)


def _highlight_line(line: str) -> str:
    bare = line.strip()
    if not bare:
        return line
    before, after = line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]
    return f"{before}:yellow-background[{markdown.escape_verbatim(bare)}]{after}"


_REFRESH_SECONDS = 1.0


def main() -> None:
    """Draw the page for the runs in the query parameters."""
    run_ids = st.query_params.get("a", ""), st.query_params.get("b", "")
    try:
        sides = load_compared_runs(run_ids)
    except NotFound:
        layout.draw_heading(Page.COMPARE)
        _draw_missing_run()
        return
    layout.draw_heading(Page.COMPARE, title=markdown.escape_line(_page_title(*sides), 160))
    layout.draw_sidebar_legend(_("Compared"), {side.name: side.detail for side in sides})
    unfinished = any(side.is_unfinished for side in sides)
    st.fragment(_draw_comparison, run_every=_REFRESH_SECONDS if unfinished else None)(run_ids, unfinished)


def _page_title(one: ComparedRun, other: ComparedRun) -> str:
    return one.trace.question if one.trace.question == other.trace.question else _("Two questions")


def _draw_comparison(run_ids: tuple[str, str], unfinished: bool) -> None:
    """Draw both runs; repeat while one of them is unfinished, then once more in full."""
    try:
        sides = load_compared_runs(run_ids)
    except NotFound:  # deleted while the page was open
        _draw_missing_run()
        return
    if unfinished and not any(side.is_unfinished for side in sides):
        st.rerun()
    draw_summary(*sides)
    draw_answers(*sides)
    names, traces = (sides[0].name, sides[1].name), (sides[0].trace, sides[1].trace)
    left, right = st.columns(2, gap="large")
    with left:
        st.header(_("Settings"), anchor=False)
        tables.draw_settings(names, *traces)
    with right:
        st.header(_("Time, tokens and the web"), anchor=False)
        tables.draw_costs(names, *traces)
    # Below both columns: file names do not break, so that the table is wider than half the page.
    st.header(_("Verdicts"), anchor=False)
    tables.draw_verdicts(names, *traces)


def _draw_missing_run() -> None:
    if st.query_params.get("a"):
        st.markdown(_("One of the two answers no longer exists. It was deleted, or it belongs to another browser."))
    st.caption(_("Choose *Compare* below an answer, or a run in *Inspect*."))
    if st.button(_("All runs"), icon=Page.INSPECT.icon):
        open_page(Page.INSPECT)


main()
