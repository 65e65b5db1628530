"""The dialog of watched folders, drawn by the real services."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.library.watched_folders import FolderWorker
from pages.documents.watched_folders import FOLDERS_DIALOG
from tests.pages.conftest import click, labels, said, until
from tests.waiting import wait_until


@pytest.fixture
def papers(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lift.txt").write_text("The lift is serviced in March by Otis.")
    (folder / "~$lift.docx").write_text("x")
    return folder


@pytest.fixture
def look(services):
    """Makes the looks that the worker of the server makes in the background."""
    worker = FolderWorker(services.database, services.library, services.jobs, 10**6)

    def look(times=2):
        for _ in range(times):
            for state in worker._states.values():
                state.due = 0.0
            worker.run(Cancellation())

    yield look
    worker.close()


@pytest.fixture
def dialog(chat):
    """The documents page with the dialog open."""
    chat.switch_page("pages/documents/page.py").run()
    chat.session_state["dialog"] = (FOLDERS_DIALOG, None)
    chat.run()
    assert not chat.exception
    return chat


def field(app, label):
    return next(one for one in app.text_input if one.label == label)


def watch(app, folder):
    field(app, "Folder of this machine").set_value(str(folder))
    field(app, "Except these names").set_value("old, *.md")
    click(app, "Watch")


def test_a_folder_is_previewed_applied_paused_and_removed(dialog, services, papers, look):
    watch(dialog, papers)
    assert field(dialog, "Folder of this machine").value == ""
    (added,) = services.watched_folders.list()
    assert added.exclude == ("old", "*.md")
    look()
    until(dialog, lambda: said(dialog, "Changes found"))  # by the worker of the application, if it was first
    assert [one.label for one in dialog.expander if "new" in one.label] == ["1 new, 1 ignored"]
    dialog.session_state[f"preview-{added.id}"] = True
    dialog.run()
    assert said(dialog, "lift.txt")
    assert said(dialog, "Temporary file")
    assert services.library.sources() == []
    click(dialog, "Apply 1 change")
    look(1)
    wait_until(lambda: not services.jobs.active)
    look(3)
    until(dialog, lambda: said(dialog, "Up to date"))
    assert said(dialog, "1 file in")
    click(dialog, "Pause")
    assert said(dialog, "Paused")
    assert "Resume" in labels(dialog)
    assert len(services.library.sources()) == 1


def test_a_path_that_is_no_folder_is_refused_with_a_reason(dialog, services, papers):
    watch(dialog, papers / "missing")
    assert said(dialog, "There is no folder")
    assert services.watched_folders.list() == []


def test_a_server_that_others_can_reach_offers_no_folders(chat, monkeypatch):
    monkeypatch.setenv("CRAG_PUBLIC_URL", "https://example.org")
    chat.switch_page("pages/documents/page.py").run()
    assert not any("Watched" in label for label in labels(chat))


def test_the_button_counts_the_changes_that_wait(chat, services, papers, look):
    services.watched_folders.add(str(papers))
    look()
    chat.switch_page("pages/documents/page.py").run()
    assert "Watched folders (1)" in labels(chat)
