"""Notes: kept in the chat, changed and removed on their page."""

from __future__ import annotations

import pytest

from tests.pages.conftest import click, said

PAGE = "pages/notes/page.py"


def choose(app, key, label):
    """Choose from a menu, whose options are written with their icon."""
    menu = next(one for one in app.get("menu_button") if one.key.startswith(key))
    menu.set_value(next(option for option in menu.options if label in option)).run()
    assert not app.exception


@pytest.fixture
def kept(asked, services):
    """The page of notes after an answer was kept in the chat."""
    choose(asked, "more-", "Keep as a note")
    return asked.switch_page(PAGE).run()


def test_an_answer_is_kept_from_its_menu(kept):
    assert said(kept, "How often is the espresso machine descaled?")
    assert said(kept, "citric acid")
    assert any("Brewing notes" in button.label for button in kept.button)


def test_a_note_is_written_beside_the_conversation(asked, services):
    asked.session_state["sidebar_view"] = "Notes"
    asked.run()
    asked.text_area(key="new_note").set_value("Buy acid\nbefore May")
    click(asked, "Add note")
    assert asked.text_area(key="new_note").value == ""
    (note,) = services.notes.list()
    assert (note.title, note.text) == ("Buy acid", "before May")
    assert note.conversation_id == services.conversations.list()[0].id
    click(asked, "Add note")
    assert [one.value for one in asked.toast] == ["A note needs text\\. Write some and try again\\."]


def test_the_source_of_a_note_opens_while_its_document_is_there(kept, services):
    (note,) = services.notes.list()
    key = f"source-{note.id}-1"
    kept.button(key=key).click().run()
    assert said(kept, ":yellow-background[")
    services.library.remove([note.sources[0].source_id])
    kept.button(key=key).click().run()
    assert not kept.exception
    assert not said(kept, ":yellow-background[")


def test_the_beginning_of_a_note_is_shown_without_markdown(asked, services):
    services.notes.add("Lehman\nOn **15 September 2008** it filed. [1]", services.conversations.list()[0].id)
    asked.session_state["sidebar_view"] = "Notes"
    asked.run()
    assert "On 15 September 2008 it filed\\." in [one.value for one in asked.caption]


def test_a_note_is_changed_removed_and_brought_back(kept, services):
    (note,) = services.notes.list()
    choose(kept, "menu-", "Edit")
    kept.text_input[-1].set_value("Descaling")
    click(kept, "Save")
    assert services.notes.list()[0].title == "Descaling"
    choose(kept, "menu-", "Remove")
    assert services.notes.list() == []
    assert said(kept, "Removed “Descaling”")
    click(kept, "Undo")
    assert [one.id for one in services.notes.list()] == [note.id]


def test_an_empty_list_says_how_an_answer_is_kept(chat, services):
    chat.switch_page(PAGE).run()
    assert said(chat, "To keep an answer")
    services.notes.add("Buy beans")
    assert not said(chat.run(), "To keep an answer")


def test_many_notes_are_drawn_in_parts(chat, services):
    for number in range(120):
        services.notes.add(f"Note number {number}")
    chat.switch_page(PAGE).run()

    def count_drawn():
        return sum("Note number" in one.value for one in chat.markdown)

    assert (count_drawn(), said(chat, "120 notes")) == (50, True)
    click(chat, "Show more")
    assert count_drawn() == 100
    click(chat, "Show more")
    assert count_drawn() == 120
    assert "Show more" not in [button.label for button in chat.button]


def test_many_notes_of_a_conversation_are_drawn_in_parts(asked, services):
    (conversation,) = services.conversations.list()
    for number in range(60):
        services.notes.add(f"Note number {number}", conversation.id)
    asked.session_state["sidebar_view"] = "Notes"
    asked.run()

    def count_drawn():
        return sum(str(one.key).startswith("note-") for one in asked.button)

    assert count_drawn() == 50
    click(asked, "Show more")
    assert count_drawn() == 60
