"""Refusals kept for the next draw."""

from streamlit.testing.v1 import AppTest


def _page() -> None:
    from crag.errors import BadRequest
    from crag.translation import use_language
    from pages.parts import dialogs

    with use_language("ko"):
        with dialogs.catch_refusals():
            raise BadRequest("The query is empty.", "Write one, or answer from your documents only.")
        dialogs.show_notice()


def test_a_refusal_is_shown_once_in_the_language_of_the_screen():
    page = AppTest.from_function(_page).run()
    assert [toast.value.isascii() for toast in page.toast] == [False]
