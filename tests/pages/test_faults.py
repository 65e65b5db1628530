"""What fails on a page is said in the application's words, and what was typed is kept."""

from contextlib import contextmanager
from itertools import product

import pytest
from streamlit.runtime import caching
from streamlit.runtime.state import session_state

from crag.errors import HomeFault
from pages.parts.routes import Page
from pages.parts.services import shared_application
from tests.pages.conftest import click, said, until

QUESTION = "How often is the espresso machine descaled?"


@contextmanager
def home_moved_away(services):
    away = services.library.home.rename(services.library.home.with_name("away"))
    try:
        yield
    finally:
        away.rename(services.library.home)


def test_a_question_that_cannot_be_saved_is_kept_and_sent_again(chat, services, notes):
    chat.run()
    with home_moved_away(services):
        chat.chat_input[0].set_value(QUESTION).run()
        assert said(chat, QUESTION)
        assert said(chat, "**Not sent.** The data folder is gone or was replaced")
        assert not chat.exception
    chat.button("resend-0").click().run()
    until(chat, lambda: said(chat, "every six weeks"))
    assert not said(chat, "Not sent.")


def test_an_unsent_question_can_be_discarded(chat, services):
    chat.run()
    with home_moved_away(services):
        chat.chat_input[0].set_value(QUESTION).run()
        chat.button("discard-0").click().run()
        assert not said(chat, QUESTION)


@contextmanager
def uploads_unwritable(services):
    """A file in place of the folder in which uploads are kept until they are read."""
    folder = services.library.home / "incoming"
    if folder.exists():
        folder.rename(folder.with_name("away"))
    folder.touch()
    yield
    folder.unlink()


def test_files_that_cannot_be_saved_are_kept_and_added_again(chat, services):
    chat.switch_page("pages/documents/page.py").run()
    with uploads_unwritable(services):
        chat.file_uploader[0].upload("lift.md", b"The lift is serviced in March.").run()
        assert said(chat, "**Not added.** The data folder cannot be written to.")
        chat.button("refresh-unsaved-uploader").click().run()
        assert said(chat, "**Not added.**")
    chat.button("refresh-unsaved-uploader").click().run()
    until(chat, lambda: said(chat, "Added 1 document"))
    assert not said(chat, "Not added.")


@pytest.mark.parametrize("page", [Page.CHAT, Page.DOCUMENTS])
def test_a_file_outlasts_a_home_that_is_gone_for_a_while(chat, services, page):
    chat.switch_page(page.path).run()
    with home_moved_away(services):
        chat.file_uploader[0].upload("lift.md", b"The lift is serviced in March.").run()
        chat.switch_page(Page.GAPS.path).run()
        assert said(chat, "lift.md")
        assert said(chat, "**Not added.** The data folder is gone or was replaced")
        chat.button("refresh-unsaved-fault").click().run()
    chat.switch_page(Page.DOCUMENTS.path).run()
    assert said(chat, "lift.md")
    chat.button("refresh-unsaved-uploader").click().run()
    until(chat, lambda: said(chat, "Added 1 document"))
    assert not said(chat, "Not added.")


def test_a_file_that_cannot_be_saved_can_be_discarded(chat, services):
    chat.run()
    with uploads_unwritable(services):
        for name in ("lift.md", "stairs.md"):
            chat.file_uploader[0].upload(name, b"It is serviced in March.").run()
        assert said(chat, "lift.md")
        assert said(chat, "stairs.md")
    chat.button("delete-unsaved-uploader").click().run()
    assert not said(chat, "lift.md")
    assert not said(chat, "Not added.")
    assert services.jobs.jobs() == []


def test_a_new_title_that_cannot_be_saved_stays_in_its_dialog(asked, services):
    conversation = services.conversations.list()[0]
    asked.session_state["dialog"] = ("rename a conversation", conversation.id)
    asked.run()
    asked.text_input[-1].set_value("Kitchen")
    with home_moved_away(services):
        click(asked, "Rename")
    assert asked.session_state["dialog"][0] == "rename a conversation"


ERRORS = {
    "The disk is full": HomeFault("The disk is full, so nothing was saved.", "Free some space."),
    "Something went wrong": RuntimeError("a secret at /some/path"),
}


@pytest.mark.parametrize("page", Page)
def test_a_button_that_fails_says_so_and_leaves_the_page(chat, page, notes, monkeypatch):
    failed = []
    chat.switch_page(page.path).run()
    before = [title.value for title in chat.title]
    buttons = [button for button in chat.button if not button.disabled]
    for key, words in product([button.key for button in buttons if button.key][:3], ERRORS):

        def fail(_, widget, error=ERRORS[words]):
            failed.append(widget)
            raise error

        failed.clear()
        with monkeypatch.context() as patched:
            patched.setattr(session_state.WStates, "call_callback", fail)
            chat.button(key).click().run()
        assert not chat.exception
        assert not failed or any(words in toast.value for toast in chat.toast)
        assert [title.value for title in chat.title] == before


# Compare shows nothing of the home until there are answers to compare.
@pytest.mark.parametrize("page", [page for page in Page if page is not Page.COMPARE])
def test_a_page_without_its_home_says_so(chat, page, services, notes):
    with home_moved_away(services):
        chat.switch_page(page.path).run()
        assert not chat.exception
        assert said(chat, "The data folder is gone or was replaced")


def test_a_browser_that_clears_the_caches_does_not_open_a_second_application(chat):
    chat.run()
    before = shared_application()
    caching.cache_resource.clear()  # what the server does on a message that any browser may send
    chat.run()
    assert shared_application() is before
