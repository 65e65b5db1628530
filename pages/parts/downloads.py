"""Download button, progress and outcome, for every page that starts a download."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crag.text.formatting import format_size
from crag.translation import _, translate_text
from pages.parts import labels, markdown
from pages.parts.layout import draw_watching, progress_share
from pages.parts.services import application, check_administrator, may_administer

if TYPE_CHECKING:
    from crag.models.downloads import Download


REFRESH_SECONDS = 1.0  # refresh interval during a download
_DOWNLOADABLE = ("ollama:", "evaluator:", "nomic")


def can_download(name: str) -> bool:
    """Return whether this can be downloaded with a button: an Ollama model, an evaluator or Nomic's weights."""
    return name.startswith(_DOWNLOADABLE)


def is_any_running() -> bool:
    """Return whether any download is running, so that the page must refresh every second."""
    return any(download.state == "running" for download in application().downloads.all())


def unfinished_download(name: str) -> Download | None:
    """Return the running or interrupted download of this name, if any."""
    download = application().downloads.get(name)
    return download if download is not None and download.state != "done" else None


def start_download(name: str) -> None:
    """Start or resume a download."""
    check_administrator()
    application().downloads.start(name)


def draw_download_button(name: str, label: str, key: str = "") -> None:
    """Draw the download button; while a download is unfinished, *Cancel* or *Resume* instead.

    `label` must be safe Markdown. Nothing is drawn for a user who may not download.
    """
    if not may_administer():
        return
    service, download = application().downloads, unfinished_download(name)
    if download is not None and download.state == "running":
        # A key of its own: a late click on another button must not cancel the download, and vice versa.
        st.button(_("Cancel"), type="tertiary", key=f"cancel-{name}{key}", on_click=service.cancel, args=(name,))
        return
    word = label if download is None else _("Resume") if download.done else _("Try again")
    st.button(
        word, icon=":material/download:", type="tertiary", key=f"get-{name}{key}", on_click=start_download, args=(name,)
    )


def draw_download_progress(download: Download) -> None:
    """Draw a progress bar with bytes, rate and time left, or why the download stopped.

    A stopped download keeps the height of a running one, so that nothing moves under the mouse.
    """
    if download.state == "failed":
        st.caption(f":orange[:material/warning:] {markdown.escape_line(translate_text(download.fault))}")
        return
    stopped = markdown.escape_line(
        _("{bytes_done} downloaded and kept. Not finished.").format(bytes_done=_bytes_done(download))
    )
    st.progress(
        progress_share(download.done, download.total),
        text=labels.grey_text(_describe_download(download) if download.state == "running" else stopped),
    )


def draw_download(name: str) -> bool:
    """Draw the download of this name with its button, refreshed while it runs; return whether one is unfinished."""
    if unfinished_download(name) is None:
        return False
    is_running = is_any_running()
    draw_watching(
        (True, is_running),
        lambda: (unfinished_download(name) is not None, is_any_running()),
        REFRESH_SECONDS if is_running else None,
        lambda: _draw_live_download(name),
    )
    return True


def _draw_live_download(name: str) -> None:
    download = unfinished_download(name)
    if download is None:  # it has ended just now: the page follows
        return
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        with st.container():
            draw_download_progress(download)
        draw_download_button(name, "", "-followed")


def _describe_download(download: Download) -> str:
    """Return the facts on a running download, such as “1.2 GB of 4.9 GB · 38 MB/s · 2 min left”; safe Markdown."""
    if not download.total:
        return markdown.escape_line(translate_text(download.stage)) or _("Starting")
    rate = f"{format_size(round(download.rate))}/s" if download.rate else ""
    parts = (_bytes_done(download), rate, _time_left(download.seconds_left))
    return markdown.escape_line(" · ".join(part for part in parts if part))


def _bytes_done(download: Download) -> str:
    return (
        _("{done} of {total}").format(done=format_size(download.done), total=format_size(download.total))
        if download.total
        else _("Nothing")
    )


def _time_left(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return (
        _("{seconds} min left").format(seconds=round(seconds / 60))
        if seconds >= 90
        else _("{max} s left").format(max=max(1, round(seconds)))
    )
