"""Library, web search and backup: values set by the environment, and the backup download."""

from __future__ import annotations

import time

import streamlit as st

from crag.cancellation import Cancellation
from crag.errors import CragError
from crag.protocols import WebSearch
from crag.settings import format_command, url_host
from crag.storage.preferences import ValueOrigin
from crag.text.formatting import format_count, format_number, format_size
from crag.translation import _, translate_text
from crag.websearch.providers import PROVIDERS, find_provider
from pages.parts import labels, markdown
from pages.parts.services import application
from pages.parts.session import has_other_users
from pages.settings.setting_row import SettingsRow, lay_out_row, read_only_row


def library_rows() -> tuple[SettingsRow, ...]:
    """Return folder, size, upload limit and private networks."""
    return (
        read_only_row(
            _("Folder"),
            _("All data is stored here."),
            lambda: str(application().settings.home),
            "CRAG_HOME",
            "home",
        ),
        read_only_row(_("Size"), _("Disk space used by documents, passages and embeddings."), _library_size),
        read_only_row(
            _("Upload limit"),
            _("Larger files are rejected."),
            lambda: _("{max_upload_mb} MB per file").format(
                max_upload_mb=format_number(application().settings.max_upload_mb)
            ),
            "CRAG_MAX_UPLOAD_MB",
            "max_upload_mb",
        ),
        read_only_row(
            _("Private addresses"),
            _("Private networks that pages may be added from."),
            lambda: ", ".join(map(str, application().settings.allow_private_urls)) or _("None"),
            "CRAG_ALLOW_PRIVATE_URLS",
            "allow_private_urls",
        ),
    )


def web_rows() -> tuple[SettingsRow, ...]:
    """Return what searches the web, with a test of it."""
    return (SettingsRow(_SEARCH_WORDS, _draw_provider),)


_SEARCH_WORDS = (
    "Provider of web search Tavily Brave SearXNG MCP tool LangChain retriever test key "
    "TAVILY_API_KEY BRAVE_API_KEY CRAG_SEARXNG_URL CRAG_MCP_SEARCH CRAG_SEARCH_RETRIEVER CRAG_WEB_SEARCH"
)
_TEST_QUERY = "corrective retrieval augmented generation"
_TESTED_KEY = "web_search_tested"


def _draw_provider() -> None:
    """Draw which provider searches, how to set up another, and a button that tries it."""
    search, provider = application().web.open_search(), find_provider(application().settings)
    explanation = _("Only the query is sent, and only where you allow it.")
    origin: ValueOrigin = "environment" if provider else "default"
    with lay_out_row(_("Provider"), explanation, origin, provider.variable if provider else ""):
        st.text(f"{search.name}, {search.host}" if search else _("None, so nothing is sent"))
        if not search:
            ways = ", ".join(
                _("`{variable}` for {label}").format(variable=one.variable, label=one.label)
                for one in PROVIDERS.values()
            )
            st.caption(_("To set one up, put one of these into `.env`: {ways}.").format(ways=ways))
        if search and st.button(
            _("Test"),
            icon=":material/play_arrow:",
            help=_("Sends “{test_query}”, nothing else.").format(test_query=_TEST_QUERY),
        ):
            with st.spinner(_("Searching")):
                st.session_state[_TESTED_KEY] = _try_search(search)
        if said := st.session_state.pop(_TESTED_KEY, ""):
            st.markdown(f":small[{said}]")


def _try_search(search: WebSearch) -> str:
    """Return the first result or what went wrong, as Markdown."""
    try:
        found = search.search(_TEST_QUERY, 1, Cancellation())
    except CragError as error:
        return f":orange[:material/error:] {markdown.escape_line(translate_text(str(error)))}"
    if not found:
        return _(":orange[:material/info:] {name} answers, but found nothing.").format(
            name=markdown.escape_line(search.name, 60)
        )
    where = url_host(found[0].location) or search.host
    return f":green[:material/check:] {markdown.escape_line(found[0].title, 80)} ({markdown.escape_line(where, 60)})"


def _library_size() -> str:
    sources, passages, size = application().library.counts()
    return f"{format_size(size)}: {format_count(sources, 'document')}, {format_count(passages, 'passage')}"


BACKUP_WORDS = "backup download restore everything documents conversations one file"
_MOST_BYTES = 500_000_000  # a download is held in memory completely


def draw_backup() -> None:
    """Draw what a backup contains, its maximum size, and the download button."""
    _unused, _unused, size = application().library.counts()
    command = format_command("backup FILE", application().settings.home)
    with st.container(border=True):
        st.markdown(
            _("Documents, passages, embeddings and conversations in one file. You can keep working. ")
            + labels.grey_text(_("Settings and keys are not included."))
        )
        if has_other_users():
            st.caption(_("It contains the questions of several people, so make it in a terminal on the server:"))
            st.code(command, None, wrap_lines=True)
        elif size > _MOST_BYTES:
            st.caption(
                _("{size} are too large to download here. Make it in a terminal on the server:").format(
                    size=format_size(size)
                )
            )
            st.code(command, None, wrap_lines=True)
        else:
            st.download_button(
                _("Download a backup (at most {size})").format(size=format_size(size)),
                application().exchange.backup_bytes,
                file_name=f"crag-{time.strftime('%Y-%m-%d')}.backup",
                mime="application/octet-stream",
                icon=":material/archive:",
                on_click="ignore",
            )
        st.caption(_("To restore it into an empty folder:"))
        st.code(format_command("restore FILE --home FOLDER"), None, wrap_lines=True)
