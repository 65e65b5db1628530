"""Removing documents: the dialog that asks before, and the rows that undo it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from crag.conversations.conversations import UNDO_SECONDS
from crag.text.formatting import format_count, format_date_time, format_number, format_time
from crag.translation import N_, _
from crag.types import RemovedSource, Source
from pages.parts import dialogs, labels, markdown
from pages.parts.services import application

REMOVE_DIALOG = "remove documents"
_EXPLANATION = N_(
    "The passages are removed too. Answers that cite them do not change. You can undo this for {minutes} minutes "
    "while the app runs. Then everything is deleted for good."
)


def explain_removal() -> str:
    """Return what a removal does, and how long it can be undone."""
    return _(_EXPLANATION).format(minutes=round(UNDO_SECONDS / 60))


_MAX_NAMED, _REMOVALS_SHOWN = 8, 3


def draw_remove_dialog(ids: list[str]) -> None:
    """Ask for confirmation, with the names of the documents to remove."""
    sources = [source for source in application().library.sources() if source.id in set(ids)]
    if not sources:
        return
    title = _("Remove {documents}?").format(documents=format_count(len(sources), "document"))
    dialogs.dialog(title, icon=":material/delete:")(_draw_remove_confirmation)(sources)


def _draw_remove_confirmation(sources: list[Source]) -> None:
    for source in sources[:_MAX_NAMED]:
        st.markdown(
            f"**{markdown.escape_line(source.title, 120)}** "
            f"{labels.grey_text(format_count(source.passages, 'passage'))}"
        )
    if len(sources) > _MAX_NAMED:
        st.caption(_("and {sources} more").format(sources=format_number(len(sources) - _MAX_NAMED)))
    st.caption(explain_removal())
    with st.container(horizontal=True):
        if st.button(_("Remove"), icon=":material/delete:", key="remove-confirmed"):
            with dialogs.catch_refusals():
                application().remove_documents([source.id for source in sources])
                st.toast(_("Removed. You can undo it below the list."), icon=":material/delete:")
            dialogs.close_and_rerun()
        if st.button(_("Cancel"), type="tertiary"):
            dialogs.close_and_rerun()


def draw_undo() -> None:
    """Draw a row for each of the last removals, with the time at which it becomes final."""
    removed = application().library.removed()
    removals = [list(group) for _unused, group in groupby(removed, key=lambda one: one.removed_at)]
    for removal in removals[:_REMOVALS_SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            kept = removal[0].kept_seconds
            final_at = (format_date_time if kept else format_time)(removal[0].removed_at + max(kept, UNDO_SECONDS))
            until = labels.grey_text(_("It will be deleted for good at {removed_at}.").format(removed_at=final_at))
            st.markdown(
                _(":gray[:material/delete:] Removed {name}. {until}").format(name=_name(removal), until=until),
                width="content",
            )
            ids = [one.id for one in removal]
            st.button(
                _("Undo"),
                icon=":material/undo:",
                type="tertiary",
                key=f"undo-{ids[0]}",
                on_click=application().library.restore,
                args=(ids,),
            )


def _name(removal: Sequence[RemovedSource]) -> str:
    if len(removal) > 1:
        return f"**{format_count(len(removal), 'document')}**"
    return f"**{markdown.escape_line(removal[0].title, 80)}**"
