"""Addresses of files: signed for the browser of the session that drew them, or of no use."""

from types import SimpleNamespace

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from crag.server.browser_identity import headers_of
from crag.server.download_guard import sign_address
from pages.parts import media_files

SESSION = "dontcare"  # Streamlit's, where no script runs
HEADERS = headers_of("k" * 64, downloads="d" * 64)


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> MediaFileManager:
    """Streamlit's own, which signs addresses until the end of the test."""
    for name in ("add", "execute_deferred"):
        monkeypatch.setattr(MediaFileManager, name, getattr(MediaFileManager, name))
    media_files.sign_media_addresses()
    return MediaFileManager(MemoryMediaFileStorage("/media"))


def connect(monkeypatch: pytest.MonkeyPatch, **headers: dict[str, str]) -> None:
    """Let these sessions be connected, each with the headers of its browser."""
    clients = {
        name: SimpleNamespace(client_context=SimpleNamespace(headers=[*one.items()])) for name, one in headers.items()
    }
    monkeypatch.setattr(media_files, "get_instance", lambda: SimpleNamespace(get_client=clients.get))


@pytest.mark.parametrize(("session", "is_open"), [(SESSION, True), ("another", False)])
def test_a_download_is_signed_for_the_session_that_drew_its_button(monkeypatch, manager, session, is_open):
    file_id = manager.add_deferred(lambda: "private", "text/csv", "1.2", "notes.csv")
    connect(monkeypatch, **{session: HEADERS})
    address = manager.execute_deferred(file_id)
    file, _, signature = address.partition("?")
    assert file.startswith("/media/")
    assert (address == sign_address(file, HEADERS)) == is_open
    assert bool(signature) == is_open


def test_only_the_icon_of_the_page_opens_without_a_cookie(monkeypatch, manager):
    connect(monkeypatch, **{SESSION: HEADERS})
    icon, picture = (manager.add(b"png", "image/png", place) for place in ("favicon", "1.2"))
    file = icon.partition("?")[0]
    assert icon == sign_address(file, {})
    assert picture == file, "no script draws it"
