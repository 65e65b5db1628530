"""Tables of the differences between two runs: settings, verdicts, time and tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from crag.errors import NotFound
from crag.events import NODES
from crag.inspection.run_labels import threshold_origin
from crag.inspection.steps import describe_sent_query
from crag.options import DOCUMENT_OPTIONS, OPTIONS, Option
from crag.runs.trace import Trace
from crag.text.formatting import format_count, format_date, format_duration, format_number, format_score
from crag.translation import N_, _, translate_text
from crag.types import NodeName, Passage, Version
from pages.parts import labels, markdown, option_controls
from pages.parts.services import application

TableRow = tuple[str, str, str]
RunNames = tuple[str, str]
_EMPTY_CELL = ":gray[–]"
_DIFFERS_MARK = ":small[:blue[differs]]"


def _chosen_value(setting: Option, trace: Trace) -> str:
    """Return the requested value."""
    return option_controls.format_value(setting.name, trace.options)


# Shown with the value resolved in the run instead of the requested one.
_RESOLVED_SETTINGS = ("model", "grader", "thresholds", *DOCUMENT_OPTIONS)
_SETTING_VALUES: dict[str, Callable[[Trace], str]] = {
    OPTIONS["model"].title: lambda trace: markdown.escape_line(translate_text(trace.model), 60),
    OPTIONS["grader"].title: lambda trace: labels.trace_grader_label(trace),
    OPTIONS["thresholds"].title: lambda trace: _thresholds_cell(trace),
    **{
        setting.title: partial(_chosen_value, setting)
        for setting in OPTIONS.values()
        if setting.name not in _RESOLVED_SETTINGS
    },
    N_("Documents"): lambda trace: _documents_cell(trace),
    N_("Your verdicts"): lambda trace: _overrides_cell(trace),
}
_COST_VALUES: dict[str, Callable[[Trace], str]] = {
    N_("**Total**"): lambda trace: "" if trace.seconds is None else f"**{format_duration(trace.seconds)}**",
    N_("Prompt tokens"): lambda trace: _prompt_tokens_cell(trace),
    N_("Answer tokens"): lambda trace: _number_cell(trace.usage.answer_tokens),
    N_("Web searches"): lambda trace: _("1, for 1 credit") if trace.query_sent else _("none"),
}


def find_different_settings(one: Trace, other: Trace) -> list[TableRow]:
    """Return the settings that differ, with both values."""
    return [row for row in _setting_rows(one, other) if row[1] != row[2]]


def draw_settings(names: RunNames, one: Trace, other: Trace) -> None:
    """Draw the settings that differ; the others are folded."""
    different = [(f"**{name}**", left, right) for name, left, right in find_different_settings(one, other)]
    if different:
        _draw_table((_("Setting"), *names), different)
    else:
        st.caption(_("Both used the same settings."))
    same = [row for row in _setting_rows(one, other) if row[1] == row[2]]
    with st.expander(_("Same in both: {same}").format(same=len(same)), type="compact", key="same"):
        _draw_table((_("Setting"), *names), same)


def split_verdict_rows(one: Trace, other: Trace) -> tuple[list[TableRow], list[TableRow]]:
    """Return both verdicts on every passage that either run found: the differing ones, then the equal ones."""
    found = {_passage_key(passage): passage for trace in (other, one) for passage in trace.passages.values()}
    rows = [
        _comparison_row(markdown.escape_page_and_title(passage), _verdict_cell(one, key), _verdict_cell(other, key))
        for key, passage in found.items()
    ]
    return [row for row in rows if row[1] != row[2]], [row for row in rows if row[1] == row[2]]


def draw_verdicts(names: RunNames, one: Trace, other: Trace) -> None:
    """Draw the verdicts that differ and the resulting actions; equal verdicts are folded."""
    different, same = split_verdict_rows(one, other)
    if different or one.action != other.action:
        action = _comparison_row(_("**Decision**"), labels.decision_badge(one), labels.decision_badge(other))
        _draw_table((_("Passage"), *names), [*different, action])
    else:
        st.caption(_("Both found the same passages and graded them alike."))
    for name, trace in zip(names, (one, other), strict=True):
        if trace.action_reason:
            st.caption(f"{name}: {markdown.escape_line(translate_text(trace.action_reason))}")
    if same:
        with st.expander(_("Same verdict in both: {same}").format(same=len(same)), type="compact", key="same-verdicts"):
            _draw_table((_("Passage"), *names), same)


def draw_costs(names: RunNames, one: Trace, other: Trace) -> None:
    """Draw the seconds of each step and in total, tokens, and web searches."""
    nodes = [node for node in NODES if one.step(node) or other.step(node)]
    steps_taken = [(_(NODES[node].title), _duration_cell(one, node), _duration_cell(other, node)) for node in nodes]
    facts = [(_(name), value(one), value(other)) for name, value in _COST_VALUES.items()]
    _draw_table((_("Step"), *names), [*steps_taken, *facts])
    for name, trace in zip(names, (one, other), strict=True):
        if sent := describe_sent_query(trace):
            st.caption(f"{name} · {markdown.escape_line(sent, 600)}")
    if one.parent or other.parent:
        st.caption(_("Steps reused from an earlier version show the times of that version."))


def _setting_rows(one: Trace, other: Trace) -> list[TableRow]:
    return [(_(name), value(one), value(other)) for name, value in _SETTING_VALUES.items()]


def _draw_table(head: TableRow, rows: Iterable[TableRow]) -> None:
    lines = (f"| {' | '.join(cell or _EMPTY_CELL for cell in row)} |" for row in (head, *rows))
    first, *rest = lines
    st.markdown("\n".join([first, "|:--|:--|:--|", *rest]))


def _comparison_row(name: str, left: str, right: str) -> TableRow:
    return (name if left == right else f"{name} {_DIFFERS_MARK}", left, right)


def _passage_key(passage: Passage) -> tuple[str, ...]:
    """Return a key that is equal for the same passage in both runs; each run numbers web passages itself."""
    return ("web", passage.location, passage.text) if passage.origin == "web" else ("library", str(passage.id))


def _verdict_cell(trace: Trace, key: tuple[str, ...]) -> str:
    own = next((passage for passage in trace.passages.values() if _passage_key(passage) == key), None)
    return _(":gray[not found]") if own is None else labels.verdict_badge(trace.verdicts.get(own.id))


def _documents_cell(trace: Trace) -> str:
    if chosen := trace.options.source_ids:
        return _("Only {documents}").format(documents=format_count(len(chosen), "document"))
    return labels.collection_label(trace.options.collection)


def _thresholds_cell(trace: Trace) -> str:
    thresholds = trace.thresholds
    if thresholds is None:
        return ""
    origin = markdown.escape_line(threshold_origin(trace.options, calibrated=trace.calibrated), 60)
    return _("{lower} and {upper}, {origin}").format(
        lower=format_score(thresholds.lower), upper=format_score(thresholds.upper), origin=origin
    )


def _overrides_cell(trace: Trace) -> str:
    ruled = [verdict for verdict in trace.verdicts.values() if verdict.ruling]
    return ", ".join(
        f"{labels.verdict_badge(one)} {markdown.escape_page_and_title(trace.passages[one.passage_id])}" for one in ruled
    )


def _duration_cell(trace: Trace, node: NodeName) -> str:
    step = trace.step(node)
    if step is None:
        return ""
    return "…" if step.seconds is None else format_duration(step.seconds)


def _prompt_tokens_cell(trace: Trace) -> str:
    counted = _number_cell(trace.usage.prompt_tokens)
    if trace.prompt is None or not trace.prompt.window:
        return counted
    used = counted or format_number(trace.prompt.tokens)
    return _("{done} of {total}").format(done=used, total=format_number(trace.prompt.window))


def _number_cell(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


_UNFINISHED_STATES = ("running", "waiting")


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run with its name, such as *Version 2*, and a distinguishing detail; both are safe Markdown."""

    run_id: str
    trace: Trace
    name: str
    detail: str

    @property
    def is_unfinished(self) -> bool:
        """Whether the run has not ended yet."""
        return self.trace.state in _UNFINISHED_STATES


def load_compared_runs(run_ids: tuple[str, str]) -> tuple[ComparedRun, ComparedRun]:
    """Load two runs of this user: versions of one answer, or any two.

    Raises `NotFound`, also if both ids are equal: the keys of a run's widgets must be unique on the page.
    """
    if run_ids[0] == run_ids[1]:
        raise NotFound(_("There is only one answer."))
    for run_id in run_ids:
        application().conversations.find_by_run(run_id)
    versions = application().runs.versions(run_ids[0])
    one, other = run_ids
    if other in {version.run_id for version in versions}:
        return _load_version(one, versions), _load_version(other, versions)
    return _load_run(one, _("First")), _load_run(other, _("Second"))


def _load_version(run_id: str, versions: Sequence[Version]) -> ComparedRun:
    own = next(version for version in versions if version.run_id == run_id)
    trace = application().runs.trace(run_id)
    return ComparedRun(
        run_id, trace, _("Version {number}").format(number=own.number), labels.version_change(own.change)
    )


def _load_run(run_id: str, name: str) -> ComparedRun:
    trace = application().runs.trace(run_id)
    return ComparedRun(
        run_id, trace, name, f"{markdown.escape_line(trace.question, 80)} · {format_date(trace.started_at)}"
    )
