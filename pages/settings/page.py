"""The settings in their first form: what is in force, where it comes from, and what is set up."""

from __future__ import annotations

import streamlit as st

from pages.parts import setup, words
from pages.parts.resources import application
from pages.settings import backup, embeddings, privacy, rows


def main() -> None:
    """Draw the page."""
    with st.sidebar:
        st.caption("What you change here is saved at once. All else comes from the environment or from the file .env.")
    st.title("Settings", anchor=False)
    st.caption("A conversation can differ: its chips above the question box win.")
    _models()
    embeddings.draw()
    _web()
    privacy.draw()
    _library()
    backup.draw()
    st.header("Set-up", anchor=False)
    setup.draw()
    setup.draw_dialog()
    privacy.draw_dialog()


def _models() -> None:
    app = application()
    model = app.model_choice()
    st.header("Models", anchor=False)
    with st.container(border=True):
        rows.text("Answering", "CRAG_CHAT_MODEL", model.reason or "Writes the answer.", model.label)
        grader = app.settings.grader_model
        rows.text(
            "Grading",
            "CRAG_GRADER_MODEL",
            "Judges each passage. A smaller model is usually enough and much faster.",
            grader or "Same as answering",
        )
        rows.text("Ollama", "OLLAMA_HOST", "Where the model server is looked for.", app.settings.ollama_host)


def _web() -> None:
    settings = application().settings
    there = bool(settings.tavily_api_key)
    st.header("Web search", anchor=False)
    with st.container(border=True):
        rows.text(
            "Tavily",
            "TAVILY_API_KEY",
            "Only the query is ever sent there, and only where a conversation allows it."
            if there
            else "There is no key, so nothing is ever sent.",
            "Key present" if there else "Off",
        )
        if there:
            rows.text("Address", "CRAG_TAVILY_URL", "Where the query goes.", settings.tavily_url)


def _library() -> None:
    app = application()
    sources, passages, size = app.library.counts()
    st.header("Library", anchor=False)
    with st.container(border=True):
        rows.text("Folder", "CRAG_HOME", "Everything that is kept lies here.", str(app.settings.home))
        held = f"{words.count(sources, 'document')}, {words.count(passages, 'passage')}"
        rows.text("Size", "", f"{held}.", words.size(size))
        limit = f"{app.settings.max_upload_mb:,} MB a file"
        rows.text("Upload limit", "CRAG_MAX_UPLOAD_MB", "Larger files are refused before they are read.", limit)
        networks = ", ".join(str(network) for network in app.settings.allow_private_urls)
        rows.text(
            "Private addresses",
            "CRAG_ALLOW_PRIVATE_URLS",
            "Networks besides the public internet that pages may be added from.",
            networks or "None",
        )


main()
