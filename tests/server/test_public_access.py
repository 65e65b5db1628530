"""The server is opened to others on purpose only, and with everything that this needs."""

from dataclasses import replace

import pytest

from crag.errors import BadRequest
from crag.server import public_access
from crag.server.public_access import find_origins
from crag.settings import Settings

LOGIN = {
    "redirect_uri": "https://crag.example.org/oauth2callback",
    "cookie_secret": "x" * 32,
    "client_id": "crag",
    "client_secret": "secret",
    "server_metadata_url": "https://login.example.org/.well-known/openid-configuration",
}
ACCOUNTS = Settings(people="accounts", admins=("root@example.org",), login=LOGIN)
PUBLIC = ("https://crag.example.org",)


@pytest.mark.parametrize(
    ("settings", "origins"),
    [
        (Settings(), ()),
        (Settings(open=True, public_urls=PUBLIC), PUBLIC),
        (Settings(open=True, public_urls=PUBLIC, host="0.0.0.0"), PUBLIC),  # noqa: S104
        (replace(ACCOUNTS, public_urls=("https://other.example.org", *PUBLIC)), PUBLIC),
        (
            replace(ACCOUNTS, login=LOGIN | {"redirect_uri": "http://localhost:8501/oauth2callback"}),
            ("http://localhost:8501",),
        ),
    ],
)
def test_what_is_set_up_completely_is_served_under_its_own_origins(settings, origins):
    assert find_origins(settings, 8501) == origins


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (Settings(host="0.0.0.0"), "CRAG_PUBLIC_URL"),  # noqa: S104
        (Settings(host="0.0.0.0", open=True), "CRAG_PUBLIC_URL"),  # noqa: S104
        (Settings(host="0.0.0.0", public_urls=PUBLIC), "CRAG_OPEN"),  # noqa: S104
        (Settings(public_urls=PUBLIC), "CRAG_OPEN"),
        (Settings(people="accounts"), "redirect_uri, cookie_secret, client_id"),
        (replace(ACCOUNTS, login=LOGIN | {"client_secret": ""}), "client_secret"),
        (replace(ACCOUNTS, login=LOGIN | {"cookie_secret": "short"}), "too short"),
        (replace(ACCOUNTS, public_urls=PUBLIC, admins=()), "CRAG_ADMINS"),
        (ACCOUNTS, "redirect_uri"),  # nothing says that this is its own address
        (replace(ACCOUNTS, public_urls=("http://crag.example.org",)), "redirect_uri"),
        (
            replace(ACCOUNTS, public_urls=PUBLIC, login=LOGIN | {"redirect_uri": "https://crag.example.org/"}),
            "redirect",
        ),
    ],
)
def test_what_would_be_open_or_is_incomplete_is_refused_in_words(settings, why):
    with pytest.raises(BadRequest) as refused:
        find_origins(settings, 8501)
    assert why in str(refused.value)


def test_without_authlib_only_accounts_are_refused(monkeypatch):
    monkeypatch.setattr(public_access, "find_spec", lambda _: None)
    assert find_origins(Settings(), 8501) == ()
    with pytest.raises(BadRequest, match="Authlib"):
        find_origins(replace(ACCOUNTS, public_urls=PUBLIC), 8501)
