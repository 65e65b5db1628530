"""Dialogs that export conversations and answers as files, and import a conversation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from crag.errors import CragError
from crag.sharing.names import file_name
from crag.types import Conversation
from pages.parts import dialogs, markdown, words
from pages.parts.person import person
from pages.parts.resources import application


def draw_export(conversation_id: str) -> None:
    """Draw the dialog that exports a conversation in each format."""
    st.dialog("Export the conversation", icon=":material/download:", on_dismiss=dialogs.close)(export_choices)(
        conversation_id
    )


def draw_share(run_id: str) -> None:
    """Draw the dialog that exports one answer as a web page, or its whole conversation."""
    st.dialog("Share this answer", icon=":material/share:", on_dismiss=dialogs.close)(share_choices)(run_id)


def draw_import(on_done: Callable[[Conversation], None]) -> None:
    """Draw the import dialog; `on_done` receives the conversation before the page reruns."""
    st.dialog("Import a conversation", icon=":material/upload:", on_dismiss=dialogs.close)(_import)(on_done)


def export_choices(conversation_id: str) -> None:
    """Draw one download per format; each file is created only on demand."""
    sharing = application().sharing
    try:
        title = application().conversations.get(conversation_id, person()).title
    except CragError as gone:
        st.caption(markdown.label(str(gone)))
        return
    _choice("Web page", "with trace and citations", title, "html", sharing.html, conversation_id)
    _choice("Markdown", "questions, answers, sources", title, "md", sharing.markdown, conversation_id)
    _choice("JSON", "all of it, to be imported again", title, "json", sharing.json, conversation_id)
    st.caption("Quoted passages of your documents go along; folders and keys do not.")


def share_choices(run_id: str) -> None:
    """Draw the download of one answer, then those of its conversation; neither for another user's run."""
    try:
        conversation = application().conversations.of_run(run_id, person())
        question = application().runs.attach(run_id).question
    except CragError as gone:
        st.caption(markdown.label(str(gone)))
        return
    _choice("This answer", "as web page, with prompts", question, "html", application().sharing.run_html, run_id)
    if conversation is None:
        st.caption("Quoted passages of your documents go along; folders and keys do not.")
        return
    st.markdown(f"**The whole conversation** {words.grey(markdown.label(conversation.title, 60))}")
    export_choices(conversation.id)


def _choice(name: str, meaning: str, title: str, ending: str, make: Callable[[str], str | bytes], made_of: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            name,
            partial(make, made_of),
            file_name=file_name(title, ending),
            mime="application/octet-stream",
            icon=":material/download:",
            key=f"export-{ending}-{made_of}",
            on_click="ignore",
        )
        st.caption(meaning, width="content")


def _import(on_done: Callable[[Conversation], None]) -> None:
    file = st.file_uploader(
        "A conversation that was exported as JSON", max_upload_size=application().settings.max_upload_mb
    )
    st.caption("It becomes a conversation of yours, beside those that are there. Nothing of it is sent anywhere.")
    if file is None:
        return
    try:
        conversation = application().sharing.import_json(file.getvalue(), person() or "")
    except CragError as error:
        st.error(markdown.label(str(error)), icon=":material/error:")
        return
    on_done(conversation)
    dialogs.close_and_redraw()
