"""Versions of an answer: switch, differences, comparison."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from crag.translation import _
from crag.types import Version
from pages.chat.questions import show_version
from pages.parts import labels, markdown
from pages.parts.address import open_page
from pages.parts.routes import Page
from pages.parts.services import application

_MENU_FROM = 2


def draw_versions(run_id: str) -> None:
    """Draw the row of versions below the head of an answer that has several."""
    versions = application().runs.versions(run_id)
    shown = next(version for version in versions if version.run_id == run_id)
    others = [version for version in versions if version is not shown]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(labels.version_caption(shown, len(versions)), width="content")
        if len(others) < _MENU_FROM:
            st.button(
                _("Show version {number}").format(number=others[0].number),
                icon=":material/history:",
                type="tertiary",
                key=f"version-{run_id}",
                on_click=show_version,
                args=(others[0].run_id,),
            )
        else:
            _draw_version_menu(run_id, others)
        if st.button(Page.COMPARE.title, icon=Page.COMPARE.icon, type="tertiary", key=f"compare-{run_id}"):
            open_comparison(*_compared_runs(shown, versions))


def draw_earlier_version(run_id: str) -> None:
    """Draw the caption of a version being written, and folded the version shown before."""
    versions = application().runs.versions(run_id)
    if len(versions) < 2:
        return
    own = next(version for version in versions if version.run_id == run_id)
    earlier = next(version for version in reversed(versions) if version is not own)
    st.caption(labels.version_caption(own, len(versions)))
    trace = application().runs.trace(earlier.run_id)
    with st.expander(
        _("Version {number}: {version_change}").format(
            number=earlier.number, version_change=labels.version_change(earlier.change)
        ),
        type="compact",
        key=f"old-{run_id}",
    ):
        known = {cited.n: cited for cited in trace.citations}
        cited = [trace.citations_of(sentence) for sentence in trace.sentences]
        st.markdown(markdown.sanitize_answer(trace.text, known, earlier.run_id, trace.sentences, cited), anchors=False)


def open_comparison(one: str, other: str) -> None:
    """Go to the page that compares two runs."""
    open_page(Page.COMPARE, a=one, b=other)


def _draw_version_menu(run_id: str, others: Sequence[Version]) -> None:
    """Draw a menu of versions, for more than one other version."""
    key = f"version-{run_id}"
    by_run = {version.run_id: version for version in others}
    st.menu_button(
        _("Show version"),
        list(by_run),
        format_func=lambda other: labels.version_name(by_run[other]),
        icon=":material/history:",
        type="tertiary",
        key=key,
        on_click=lambda: show_version(st.session_state[key]),
    )


def _compared_runs(shown: Version, versions: Sequence[Version]) -> tuple[str, str]:
    """Return the runs of the shown version and its predecessor, earlier one first; for the first, the first two."""
    later = max(shown.number, 2)
    return versions[later - 2].run_id, versions[later - 1].run_id
