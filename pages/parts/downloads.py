"""Model downloads on screen: a button, then progress with Cancel, then the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crag.errors import CragError
from pages.parts import markdown, words
from pages.parts.resources import application

if TYPE_CHECKING:
    from crag.models.downloads import Download

AGAIN_SECONDS = 1.0  # refresh interval during a download
_GETTABLE = ("ollama:", "nomic")


def can_get(name: str) -> bool:
    """Return whether this can be downloaded with a button: an Ollama model or Nomic's weights."""
    return name.startswith(_GETTABLE)


def is_running() -> bool:
    """Return whether any download is running, so that the page must refresh every second."""
    return any(download.state == "running" for download in application().downloads.all())


def unfinished(name: str) -> Download | None:
    """Return the running or interrupted download of this name, if any."""
    download = application().downloads.get(name)
    return download if download is not None and download.state != "done" else None


def begin(name: str) -> None:
    """Start or resume a download; show a toast if it cannot start."""
    try:
        application().downloads.start(name)
    except CragError as error:
        st.toast(markdown.label(str(error)), icon=":material/warning:")


def draw_button(name: str, label: str, key: str = "") -> None:
    """Draw the download button; while a download is unfinished, *Cancel* or *Resume* instead.

    `label` must be safe Markdown.
    """
    service, download = application().downloads, unfinished(name)
    if download is not None and download.state == "running":
        # A key of its own: a late click on another button must not cancel the download, and vice versa.
        st.button("Cancel", type="tertiary", key=f"cancel-{name}{key}", on_click=service.cancel, args=(name,))
        return
    word = label if download is None else "Resume" if download.done else "Try again"
    st.button(word, icon=":material/download:", type="tertiary", key=f"get-{name}{key}", on_click=begin, args=(name,))


def draw_progress(download: Download) -> None:
    """Draw a progress bar with bytes, rate and time left, or why the download stopped.

    A stopped download keeps the height of a running one, so that nothing moves under the mouse.
    """
    if download.state == "failed":
        st.caption(f":orange[:material/warning:] {markdown.label(download.fault)}")
        return
    stopped = markdown.label(f"{_amount(download)} so far, kept. Not finished.")
    st.progress(_share(download), text=words.grey(facts(download) if download.state == "running" else stopped))


def draw_one(name: str) -> bool:
    """Draw the download of this name with its button, refreshed while it runs; return whether one is unfinished."""
    if unfinished(name) is None:
        return False
    st.fragment(_followed, run_every=AGAIN_SECONDS if is_running() else None)(name, is_running())
    return True


def _followed(name: str, was_running: bool) -> None:
    download = unfinished(name)
    if download is None or was_running != is_running():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        with st.container():
            draw_progress(download)
        draw_button(name, "", "-followed")


def facts(download: Download) -> str:
    """Return the facts on a running download, such as “1.2 GB of 4.9 GB · 38 MB/s · 2 min left”; safe Markdown."""
    if not download.total:
        return markdown.label(download.stage) or "Starting"
    rate = f"{words.size(round(download.rate))}/s" if download.rate else ""
    parts = (_amount(download), rate, _left(download.seconds_left))
    return markdown.label(" · ".join(part for part in parts if part))


def _amount(download: Download) -> str:
    return f"{words.size(download.done)} of {words.size(download.total)}" if download.total else "Nothing"


def _left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{round(seconds / 60)} min left" if seconds >= 90 else f"{max(1, round(seconds))} s left"


def _share(download: Download) -> float:
    return min(1.0, download.done / download.total) if download.total else 0.0
