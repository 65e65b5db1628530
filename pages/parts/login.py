"""The page of somebody who is not logged in, and the row of the settings by which they log out."""

from __future__ import annotations

import streamlit as st

from crag.errors import NotLoggedIn
from crag.server.page_requests import LOGIN_FAILED_COOKIE
from crag.translation import N_, _, translate_text
from pages.parts import markdown
from pages.parts.services import current_account, current_owner

ACCOUNT_WORDS = "account logged in as e-mail log out"
_FAILURES = {
    "unreachable": N_("The login service does not answer. Try again later, or ask an administrator."),
    "refused": N_("The login service did not confirm who you are. Try again, or ask an administrator."),
}


def draw_login_page() -> bool:
    """Draw the page to log in if nobody who may be admitted is logged in; return whether it was drawn."""
    try:
        current_owner()
    except NotLoggedIn as error:
        _draw_login(error)
        return True
    return False


def _draw_login(error: NotLoggedIn) -> None:
    st.title("CRAG Chat", anchor=False)
    st.markdown(_("Log in to ask your documents and those that others share with you."))
    is_refused = bool(st.user.to_dict().get("is_logged_in"))
    failure = _(_FAILURES.get(st.context.cookies.get(LOGIN_FAILED_COOKIE, ""), ""))
    reason = translate_text(str(error)) if is_refused else failure
    if reason:
        st.warning(markdown.escape_line(reason, 300), icon=":material/warning:")
    with st.container(horizontal=True):
        st.button(_("Log in"), icon=":material/login:", on_click=st.login)
        if is_refused:
            st.button(_("Log out"), icon=":material/logout:", type="tertiary", on_click=st.logout)


def draw_account() -> None:
    """Draw who is logged in, and the button to log out; nothing where nobody logs in."""
    if (account := current_account()) is None:
        return
    role = _("Administrator") if account.is_admin else _("Member")
    with st.container(border=True):
        name = markdown.escape_line(account.name, 80)
        st.markdown(f"**{name}**" if name else "", width="content")
        st.caption(f"{markdown.escape_line(account.email, 120)} · {role}")
        st.caption(_("Your collections are named {handle}/…").format(handle=markdown.escape_line(account.handle, 60)))
        st.button(_("Log out"), icon=":material/logout:", on_click=st.logout)
