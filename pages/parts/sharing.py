"""Dialogs that export conversations and answers, and import a conversation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from crag.errors import CragError
from crag.text.formatting import export_file_name
from crag.types import Conversation
from pages.parts import dialogs, labels, markdown
from pages.parts.services import application
from pages.parts.session import current_owner


def draw_export_dialog(conversation_id: str) -> None:
    """Draw the dialog that exports a conversation in each format."""
    st.dialog("Export conversation", icon=":material/download:", on_dismiss=dialogs.close_dialog)(_draw_export_choices)(
        conversation_id
    )


def draw_share_dialog(run_id: str) -> None:
    """Draw the dialog that exports one answer as a web page, or its whole conversation."""
    st.dialog("Share this answer", icon=":material/share:", on_dismiss=dialogs.close_dialog)(_draw_share_choices)(
        run_id
    )


def draw_import_dialog(on_done: Callable[[Conversation], None]) -> None:
    """Draw the import dialog; `on_done` receives the conversation before the page reruns."""
    st.dialog("Import a conversation", icon=":material/upload:", on_dismiss=dialogs.close_dialog)(_draw_import_content)(
        on_done
    )


def _draw_export_choices(conversation_id: str) -> None:
    """Draw one download per format; each file is created only on demand."""
    sharing = application().sharing
    try:
        title = application().conversations.get(conversation_id, current_owner()).title
    except CragError as gone:
        st.caption(markdown.escape_line(str(gone)))
        return
    _draw_download("Web page", "with trace and citations", title, "html", sharing.html, conversation_id)
    _draw_download("Markdown", "questions, answers and sources", title, "md", sharing.markdown, conversation_id)
    _draw_download("JSON", "everything; can be imported again", title, "json", sharing.json, conversation_id)
    st.caption("Includes quoted passages of your documents, but no folders or keys.")


def _draw_share_choices(run_id: str) -> None:
    """Draw the download of one answer, then those of its conversation; neither for another user's run."""
    try:
        conversation = application().conversations.find_by_run(run_id, current_owner())
        question = application().runs.attach(run_id).question
    except CragError as gone:
        st.caption(markdown.escape_line(str(gone)))
        return
    _draw_download(
        "This answer", "as web page, with prompts", question, "html", application().sharing.export_run_html, run_id
    )
    if conversation is None:
        st.caption("Includes quoted passages of your documents, but no folders or keys.")
        return
    st.markdown(f"**The whole conversation** {labels.grey_text(markdown.escape_line(conversation.title, 60))}")
    _draw_export_choices(conversation.id)


def _draw_download(
    name: str, meaning: str, title: str, ending: str, make: Callable[[str], str | bytes], made_of: str
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            name,
            partial(make, made_of),
            file_name=export_file_name(title, ending),
            mime="application/octet-stream",
            icon=":material/download:",
            key=f"export-{ending}-{made_of}",
            on_click="ignore",
        )
        st.caption(meaning, width="content")


def _draw_import_content(on_done: Callable[[Conversation], None]) -> None:
    file = st.file_uploader("Conversation exported as JSON", max_upload_size=application().settings.max_upload_mb)
    st.caption("Adds it to your conversations. Nothing is sent anywhere.")
    if file is None:
        return
    try:
        conversation = application().sharing.import_json(file.getvalue(), current_owner() or "")
    except CragError as error:
        st.error(markdown.escape_line(str(error)), icon=":material/error:")
        return
    on_done(conversation)
    dialogs.close_and_rerun()
