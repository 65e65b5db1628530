"""Dialogs that export conversations and answers, and import a conversation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import urljoin

import streamlit as st

from crag.errors import CragError
from crag.translation import N_, _, translate_text
from crag.types import Conversation
from pages.parts import dialogs, labels, markdown
from pages.parts.layout import draw_file_download
from pages.parts.routes import Page
from pages.parts.services import application, current_account


def draw_export_dialog(conversation_id: str) -> None:
    """Draw the dialog that exports a conversation in each format."""
    dialogs.dialog(_("Export conversation"), icon=":material/download:")(_draw_export_choices)(conversation_id)


def _draw_export_choices(conversation_id: str) -> None:
    """Draw one download per format; each file is created only on demand."""
    sharing = application().sharing
    try:
        title = application().conversations.get(conversation_id).title
    except CragError as gone:
        dialogs.draw_error(gone)
        return
    for name, meaning, ending, make in (
        (_("Web page"), _("with trace and citations"), "html", sharing.html),
        ("Markdown", _("questions, answers and sources"), "md", sharing.markdown),
        ("JSON", _("everything; can be imported again"), "json", sharing.json),
    ):
        draw_file_download(name, meaning, title, ending, partial(make, conversation_id), conversation_id)
    st.caption(_("Includes quoted passages of your documents, but no folders or keys."))
    if current_account() is not None:
        _draw_link(conversation_id)


def _draw_link(conversation_id: str) -> None:
    """Draw the link with which others on this server read the conversation, or the button that makes one."""
    sharing = application().sharing
    link_id = sharing.link(conversation_id)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if not link_id:
            make = partial(sharing.create_link, conversation_id)
            st.button(_("Create a link"), icon=":material/link:", on_click=make)
            st.caption(_("Everyone who logs in here and has the link can read this conversation."), width="content")
            return
        st.button(
            _("Remove the link"), icon=":material/link_off:", on_click=partial(sharing.remove_link, conversation_id)
        )
        st.caption(_("It shows the conversation as it is when opened."), width="content")
    host = st.context.url or ""
    st.code(f"{urljoin(host, '/')}{Page.SHARED.address}?link={link_id}", language=None, wrap_lines=True)


@dialogs.dialog(N_("Share this answer"), icon=":material/share:")
def draw_share_dialog(run_id: str) -> None:
    """Draw the download of one answer, then those of its conversation; neither for another user's run."""
    try:
        conversation = application().conversations.find_by_run(run_id)
        question = application().runs.attach(run_id).question
    except CragError as gone:
        dialogs.draw_error(gone)
        return
    make = partial(application().sharing.export_run_html, run_id)
    draw_file_download(_("This answer"), _("as web page, with prompts"), question, "html", make, run_id)
    if conversation is None:
        st.caption(_("Includes quoted passages of your documents, but no folders or keys."))
        return
    st.markdown(
        _("**The whole conversation** {title}").format(
            title=labels.grey_text(markdown.escape_line(conversation.title, 60))
        )
    )
    _draw_export_choices(conversation.id)


@dialogs.dialog(N_("Import a conversation"), icon=":material/upload:")
def draw_import_dialog(on_done: Callable[[Conversation], None]) -> None:
    """Draw the import dialog; `on_done` receives the conversation before the page reruns."""
    file = st.file_uploader(_("Conversation exported as JSON"), max_upload_size=application().settings.max_upload_mb)
    st.caption(_("Adds it to your conversations. Nothing is sent anywhere."))
    if file is None:
        return
    try:
        conversation = application().sharing.import_json(file.getvalue(), file.name)
    except CragError as error:
        st.error(markdown.escape_line(translate_text(str(error))), icon=":material/error:")
        return
    on_done(conversation)
    dialogs.close_and_rerun()
