"""The widgets that export and import conversations."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from crag.options import RunOptions
from crag.text.formatting import export_file_name
from tests.applications import wait
from tests.waiting import PATIENCE


@pytest.fixture
def answered(services):
    """A conversation with one answer, and the run that it came from."""
    conversation = services.conversations.create().id
    run = services.runs.start(conversation, "What of ../whales:*?", RunOptions(model="builtin"))
    wait(run)
    return conversation, run.id


def exporting(conversation):
    from pages.parts import sharing

    sharing.draw_export_dialog(conversation)


def answer(run):
    from pages.parts import sharing

    sharing.draw_share_dialog(run)


def taking_in():
    import streamlit as st

    from pages.parts import sharing

    def done(taken):
        st.session_state.taken = taken.id

    if "taken" not in st.session_state:
        sharing.draw_import_dialog(done)


def drawn(function, *args):
    app = AppTest.from_function(function, args=args, default_timeout=PATIENCE).run()
    assert not app.exception
    return app


def test_a_conversation_is_handed_over_in_each_format(answered):
    app = drawn(exporting, answered[0])
    assert [one.label for one in app.get("download_button")] == ["Web page", "Markdown", "JSON"]


def test_an_answer_is_exported_alone_or_with_its_conversation(answered):
    assert len(drawn(answer, answered[1]).get("download_button")) == 4


def test_what_is_gone_is_said_and_not_handed_over(answered, services):
    services.delete_conversation(answered[0])
    for app in (drawn(exporting, answered[0]), drawn(answer, answered[1])):
        assert not app.get("download_button")
        assert "no longer exists" in app.markdown[0].value


def test_a_file_is_taken_in_or_refused_in_words(answered, services):
    app = drawn(taking_in)
    app.file_uploader[0].upload("broken.json", b"{").run()
    assert "not a conversation" in app.error[0].value
    app.file_uploader[0].upload("it.json", services.sharing.json(answered[0])).run()
    assert not app.exception
    assert app.session_state.taken in [one.id for one in services.conversations.list()]


def test_file_names_are_good_everywhere():
    assert export_file_name("When does it give up?", "html") == "When does it give up.html"
    assert export_file_name("../../etc/passwd\u202e\x00:*?<>|", "md") == "etc passwd.md"
    assert export_file_name("CON", "json") == "conversation CON.json"
    assert export_file_name("nul.txt", "md") == "conversation nul.txt.md"
    assert export_file_name("  ...  ", "md") == "conversation.md"
    assert len(export_file_name("鲸" * 300, "json").encode()) <= 255
