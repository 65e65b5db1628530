"""The settings page: what is in force, and where it comes from."""

from __future__ import annotations

from tests.ui.conftest import said


def test_it_tells_what_is_in_force_and_who_set_it(chat, tmp_path):
    chat.run()
    chat.switch_page("pages/settings/page.py").run()
    assert not chat.exception
    assert said(chat, "Answering :gray-badge[default]")
    assert said(chat, "Folder :violet-badge[:material/lock: environment]")
    shown = [text.value for text in chat.text]
    assert str((tmp_path / "home").resolve()) in shown
    assert "Built-in engine" in shown
    assert "100 MB a file" in shown


def test_it_never_shows_a_key(chat, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret-key")
    chat.run()
    chat.switch_page("pages/settings/page.py").run()
    shown = [item.value for item in [*chat.text, *chat.markdown, *chat.caption]]
    assert "Key present" in shown
    assert not any("secret" in text for text in shown)


def test_a_backup_can_be_made(chat, services):
    services.library.add_bytes("notes.md", b"The lift is serviced in March.")
    chat.run()
    chat.switch_page("pages/settings/page.py").run()
    assert not chat.exception
    (button,) = chat.get("download_button")
    assert button.label.startswith("Download a backup (at most ")
    assert services.exchange.backup_bytes().startswith(b"PK")
