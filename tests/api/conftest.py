"""A server with the API, as the launcher puts it together, in a thread of the test."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace

import httpx
import pytest

from crag.api.app import create_api
from crag.app.application import open_application
from crag.settings import Settings
from crag.types import Identity
from tests.belongings import PAGE
from tests.doubles.ollama import LLAMA, ScriptedOllama, closed_address
from tests.doubles.tavily import TavilyServer
from tests.served import serve as serve_app

TEXT = b"# Light\n\nThe lighthouse of Brill was built in 1931. It is 42 metres tall.\n"
EVERYTHING = ("ask", "read", "write", "web")


def serve(application):
    """Serve the API of an application; a context with its address."""
    return serve_app(create_api(lambda: application))


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home", chat_model="builtin", embedder="builtin", ollama_host=closed_address())


@pytest.fixture
def application(settings):
    with open_with_text(settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def unchanged_api(tmp_path_factory):
    """A client of a server that all tests of a file share, with one document: for what changes nothing."""
    home = tmp_path_factory.mktemp("unchanged") / "home"
    settings = Settings(home=home, chat_model="builtin", embedder="builtin", ollama_host=closed_address())
    with open_with_text(settings) as opened, client_of(opened) as client:
        yield client


@pytest.fixture
def address(application):
    with serve(application) as address:
        yield address


def secret_of(application, scopes=EVERYTHING):
    return application.api_tokens.make("test", scopes)[1]


@pytest.fixture
def api(application, address):
    with httpx.Client(base_url=address, headers=bearer(secret_of(application))) as client:
        yield client


@contextmanager
def open_with_text(settings, **changes):
    """The application with the text about the lighthouse; closed at the end."""
    with closing(open_application(replace(settings, **changes))) as opened:
        opened.library.pipeline.add_bytes("lighthouse.md", TEXT)
        yield opened


@contextmanager
def client_of(application):
    """A client of the API of an application, with a token for everything."""
    headers = bearer(secret_of(application))
    unlimited = httpx.Limits()
    with serve(application) as address, httpx.Client(base_url=address, headers=headers, limits=unlimited) as client:
        yield client


@contextmanager
def on_ollama(settings, **script):
    """A scripted Ollama, an application that answers with its model, and a client."""
    with (
        ScriptedOllama(**script) as ollama,
        open_with_text(settings, chat_model=f"ollama:{LLAMA.name}", ollama_host=ollama.url) as opened,
        client_of(opened) as client,
    ):
        yield ollama, opened, client


@contextmanager
def on_tavily(settings):
    """A scripted search with one page, an application that may ask it, and a client."""
    with (
        TavilyServer(results=[PAGE]) as tavily,
        open_with_text(settings, tavily_api_key="tvly-x", tavily_url=tavily.url) as opened,
        client_of(opened) as client,
    ):
        yield tavily, opened, client


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def token_of_ann(application, scopes=("ask",)):
    """The headers with a token of an account."""
    account = application.accounts.log_in(Identity("idp", "ann", "ann@example.org", "Ann")).id
    return bearer(application.for_user(account).api_tokens.make("Ann's", scopes)[1])
