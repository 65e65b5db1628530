"""Web search: which provider is asked, a test of it, and an MCP server as one more provider."""

from __future__ import annotations

import streamlit as st

from crag.settings import Settings
from crag.storage.preferences import ValueOrigin
from crag.text.formatting import format_count
from crag.translation import N_, _, translate_text
from crag.websearch.providers import PROVIDERS
from crag.websearch.search import TEST_QUERY
from pages.parts import markdown
from pages.parts.services import application
from pages.settings.setting_row import SettingsRow, attempt_change, draw_refusal, lay_out_row

_PROVIDER, _MCP_SERVER = N_("Provider"), N_("MCP server")
_PROVIDER_WORDS = (
    "Provider of web search Tavily Brave SearXNG LangChain retriever automatic test key quota "
    "TAVILY_API_KEY BRAVE_API_KEY CRAG_SEARXNG_URL CRAG_SEARCH_RETRIEVER CRAG_WEB_SEARCH"
)
_MCP_WORDS = "MCP server Model Context Protocol tool source of knowledge CRAG_MCP_SEARCH CRAG_MCP_TOKEN"
_PROVIDER_KEY, _MCP_KEY = "web_search_provider", "mcp_search"
_MAX_ADDRESS, _MAX_RESULT = 500, 400


def web_rows() -> tuple[SettingsRow, ...]:
    """Return which provider searches, with a test of it, and the MCP server."""
    return (SettingsRow(_PROVIDER_WORDS, _draw_provider), SettingsRow(_MCP_WORDS, _draw_mcp_server))


def _draw_provider() -> None:
    """Draw which provider searches, how to set up another, and a button that tries it."""
    settings, fixed = application().preferences.search_settings(), application().settings.web_search != "auto"
    origin: ValueOrigin = "environment" if fixed else "saved" if settings.web_search != "auto" else "default"
    explanation = _("Only the query is sent, and only where you allow it.")
    with lay_out_row(_(_PROVIDER), explanation, origin, "CRAG_WEB_SEARCH"), st.container(gap="xsmall"):
        if settings.web_search_providers:
            _draw_choice(settings, is_fixed=fixed)
        search = application().web.open_search()
        if search is None:
            _draw_ways(settings)
            return
        st.text(f"{search.name}, {search.host}")
        _draw_test()
        searches = format_count(application().search_usage().used, "search", "searches")
        st.caption(_("{searches} this month, counted here").format(searches=searches))


def _draw_choice(settings: Settings, *, is_fixed: bool) -> None:
    automatic = PROVIDERS[settings.web_search_providers[0]].label
    names = {"auto": _("Automatic ({provider})").format(provider=automatic)}
    names |= {name: PROVIDERS[name].label for name in settings.web_search_providers}
    if settings.web_search not in names:  # named by the environment, but not set up
        names[settings.web_search] = PROVIDERS[settings.web_search].label
    st.session_state[_PROVIDER_KEY] = settings.web_search
    st.selectbox(
        _(_PROVIDER),
        list(names),
        format_func=lambda name: names[name],
        key=_PROVIDER_KEY,
        label_visibility="collapsed",
        disabled=is_fixed,
        on_change=_save_provider,
    )
    draw_refusal(_(_PROVIDER))


def _save_provider() -> None:
    attempt_change(_(_PROVIDER), application().preferences.choose_web_search, st.session_state[_PROVIDER_KEY])


def _draw_ways(settings: Settings) -> None:
    """Draw that nothing is sent, and what to set up."""
    st.text(_("None, so nothing is sent"))
    named = PROVIDERS.get(settings.web_search)
    ways = ", ".join(
        _("`{variable}` for {label}").format(variable=one.variable, label=one.label)
        for one in ([named] if named else PROVIDERS.values())
    )
    st.caption(_("To set one up, put one of these into `.env`: {ways}.").format(ways=ways))


def _draw_test() -> None:
    """Draw the button that sends a search, and its first result or what went wrong."""
    tip = _("Sends “{test_query}”, nothing else.").format(test_query=TEST_QUERY)
    if not st.button(_("Test"), icon=":material/play_arrow:", help=tip):
        return
    with st.spinner(_("Searching")):
        tested = application().test_search()
    if tested:
        mark = ":green[:material/check:]" if tested.status == "ok" else ":orange[:material/error:]"
        shown = tested.detail if tested.status == "ok" else translate_text(f"{tested.detail} {tested.fix}".strip())
        st.markdown(f":small[{mark} {markdown.escape_line(shown, _MAX_RESULT)}]")


def _draw_mcp_server() -> None:
    """Draw the field for the address of an MCP server; one of the environment is named by its host alone."""
    fixed, saved = bool(application().settings.mcp_search), application().preferences.search_settings().mcp_search
    origin: ValueOrigin = "environment" if fixed else "saved" if saved else "default"
    explanation = _("One of its tools is searched like the web, with the same consent.")
    with lay_out_row(_(_MCP_SERVER), explanation, origin, "CRAG_MCP_SEARCH"), st.container(gap="xsmall"):
        if fixed:
            st.text(PROVIDERS["mcp"].open(application().settings).host)
            return
        st.session_state[_MCP_KEY] = st.session_state.get(_MCP_KEY) or saved
        st.text_input(
            _("Address of a tool"),
            placeholder="https://host/mcp#tool",
            max_chars=_MAX_ADDRESS,
            key=_MCP_KEY,
            label_visibility="collapsed",
            on_change=_save_mcp_server,
        )
        draw_refusal(_(_MCP_SERVER))
        st.caption(_("Address, # and the tool. Programs on this machine: `CRAG_MCP_SEARCH` in `.env`."))


def _save_mcp_server() -> None:
    attempt_change(_(_MCP_SERVER), application().preferences.save_mcp_search, st.session_state[_MCP_KEY])
