"""A server with the API, as the launcher puts it together, in a thread of the test."""

from __future__ import annotations

from contextlib import closing

import httpx
import pytest

from crag.api.app import create_api
from crag.app.application import open_application
from crag.settings import Settings
from tests.doubles.ollama import closed_address
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
    opened = open_application(settings)
    opened.library.pipeline.add_bytes("lighthouse.md", TEXT)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def unchanged_api(tmp_path_factory):
    """A client of a server that all tests of a file share, with one document: for what changes nothing."""
    home = tmp_path_factory.mktemp("unchanged") / "home"
    settings = Settings(home=home, chat_model="builtin", embedder="builtin", ollama_host=closed_address())
    with closing(open_application(settings)) as opened, serve(opened) as address:
        opened.library.pipeline.add_bytes("lighthouse.md", TEXT)
        headers = {"Authorization": f"Bearer {secret_of(opened)}"}
        with httpx.Client(base_url=address, headers=headers) as client:
            yield client


@pytest.fixture
def address(application):
    with serve(application) as address:
        yield address


def secret_of(application, scopes=EVERYTHING):
    return application.api_tokens.make("test", scopes)[1]


@pytest.fixture
def api(application, address):
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {secret_of(application)}"}) as client:
        yield client
