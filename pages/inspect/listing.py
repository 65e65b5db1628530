"""List of runs by day, newest first, with outcome and selection."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from itertools import groupby

import streamlit as st

from crag.inspection.archive import RunFilter, RunRow
from crag.moments import local, today
from pages.inspect import chosen, signs
from pages.parts import markdown, words
from pages.parts.person import person
from pages.parts.resources import application

_FIRST, _STEP = 20, 50  # few at first, since each row costs the browser a few milliseconds
_SHOWN = "inspect_shown"
_LOOK_AGAIN_SECONDS = 2.0
_CHAT = "pages/chat/page.py"


def draw(wanted: RunFilter, run_id: str) -> None:
    """Draw the list; refresh it every two seconds while a run is running or old runs are still being summarized."""
    shown: tuple[RunFilter, int] = st.session_state.get(_SHOWN, (wanted, _FIRST))
    limit = shown[1] if shown[0] == wanted else _FIRST
    moving = _is_moving()
    st.fragment(_draw, run_every=_LOOK_AGAIN_SECONDS if moving else None)(wanted, run_id, limit, moving=moving)


def _is_moving() -> bool:
    archive = application().archive
    return bool(archive.progress or archive.count(RunFilter(states=("running",)), person()))


def _draw(wanted: RunFilter, run_id: str, limit: int, *, moving: bool) -> None:
    if moving and not _is_moving():
        st.rerun()  # redraw the whole page once, then stop refreshing
    archive = application().archive
    found = archive.list(wanted, person(), limit + 1)
    if not found:
        _draw_empty(wanted)
        return
    if progress := archive.progress:
        st.progress(progress.done / progress.total, f"{progress.stage}: {progress.done:,} of {progress.total:,}")
    for day, rows in groupby(found[:limit], key=lambda row: _day(row.started_at)):
        st.caption(day)
        _draw_rows(rows, run_id)
    if len(found) > limit and st.button("Show more", icon=":material/expand_more:", type="tertiary"):
        st.session_state[_SHOWN] = (wanted, limit + _STEP)
        st.rerun()


def _draw_rows(rows: Iterable[RunRow], run_id: str) -> None:
    with st.container(gap="xxsmall"):
        for row in rows:
            draw_row(row, "run", is_chosen=row.run_id == run_id)


def draw_row(row: RunRow, prefix: str, *, is_chosen: bool = False, fact: str = "") -> None:
    """Draw a run: its question as a button, and below it `fact` (safe Markdown), by default its outcome."""
    title = markdown.label(row.question, 120)
    with st.container(gap=None):
        opened = st.button(
            f"{signs.icon(signs.of_run(row))} {f'**{title}**' if is_chosen else title}",
            key=f"{prefix}-{row.run_id}",
            type="tertiary",
            wrap=False,
            on_click=chosen.open_run,
            args=(row.run_id,),
        )
        st.caption(fact or " · ".join(_facts(row)), wrap=False)
    if opened:
        st.rerun()


def _facts(row: RunRow) -> list[str]:
    told = [*signs.words_of_run(row), f"{local(row.started_at):%H:%M}"]
    if row.seconds is not None:
        told.append(words.duration(row.seconds))
    if row.change:
        told.append(words.version_change(row.change))
    if row.helpful is False:
        told.append(":material/thumb_down: not helpful")
    return told


def _draw_empty(wanted: RunFilter) -> None:
    if wanted != RunFilter():
        st.markdown("**Nothing matches**")
        st.caption("No run is all of this. Clear the filters to see the others.")
        return
    st.markdown("**No runs yet**")
    st.caption("Each question becomes a run, and is listed here with what was found, judged and decided.")
    if st.button("Ask a question", icon=":material/forum:"):
        st.switch_page(_CHAT)


def _day(moment: float) -> str:
    named = {today(): "Today", today() - timedelta(days=1): "Yesterday"}
    return named.get(local(moment).date()) or words.day(moment)
