"""Tokens with which programs use the API: made, shown once, revoked."""

from __future__ import annotations

import streamlit as st

from crag.storage.api_tokens import SCOPES, ApiToken
from crag.text.formatting import format_date
from crag.translation import _
from pages.parts import markdown
from pages.parts.services import application

API_WORDS = "API tokens OpenAI MCP programs access key CRAG_API"
_SECRET_KEY = "new_token"  # noqa: S105 — a key of the session
_NAME_KEY, _SCOPES_KEY = "token_name", "token_scopes"
_USUAL_SCOPES = ["ask", "read"]


def draw_api_tokens() -> None:
    """Draw the address of the API, the tokens, and the form for another one."""
    if not application().settings.api:
        st.caption(_("Programs may not use this server: `CRAG_API` is off."))
        return
    st.caption(
        _(
            "Programs need a token to use this server. `/v1` works like an OpenAI model; `/api/v1` serves documents "
            "and answers. Without tokens, no program gets in."
        )
    )
    for token in application().api_tokens.list():
        _draw_token(token)
    _draw_secret()
    with st.form("token", border=True):
        st.text_input(_("Name"), key=_NAME_KEY, max_chars=80, placeholder=_("The program that will use it"))
        st.pills(
            _("Allow it to"),
            list(SCOPES),
            selection_mode="multi",
            default=_USUAL_SCOPES,
            format_func=lambda scope: _(SCOPES[scope]),
            key=_SCOPES_KEY,
        )
        st.form_submit_button(_("Make a token"), icon=":material/key:", on_click=_make_token)


def _draw_token(token: ApiToken) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(gap=None):
            st.markdown(f"**{markdown.escape_line(token.name, 80)}**")
            used = (
                _("last used {used_at}").format(used_at=format_date(token.used_at))
                if token.used_at
                else _("never used")
            )
            may = ", ".join(_(meaning) for scope, meaning in SCOPES.items() if scope in token.scopes)
            st.caption(
                _("May {may} · made {created_at} · {used}").format(
                    may=may, created_at=format_date(token.created_at), used=used
                )
            )
        with st.container(width="content"):
            st.button(
                _("Revoke"),
                icon=":material/delete:",
                key=f"revoke-{token.id}",
                on_click=application().api_tokens.revoke,
                args=(token.id,),
            )


def _draw_secret() -> None:
    """Draw the secret of the token that was just made; another visit does not show it."""
    if secret := st.session_state.pop(_SECRET_KEY, ""):
        with st.container(border=True):
            st.markdown(_("**Copy this token now.** It is not shown again."))
            st.code(secret, language=None, wrap_lines=True)


def _make_token() -> None:
    _, st.session_state[_SECRET_KEY] = application().api_tokens.make(
        st.session_state[_NAME_KEY], st.session_state[_SCOPES_KEY]
    )
    st.session_state[_NAME_KEY] = ""
