"""Questions that wait on the chat page: their rows, and what a reload keeps."""

from streamlit.testing.v1 import AppTest

from tests.pages.chat.test_consent import press
from tests.pages.conftest import QUESTION, ROOT, click, labels, said, until, wait_for_consent
from tests.waiting import PATIENCE


def queue_two(chat, tavily):
    """A conversation that waits for consent, and two questions behind it."""
    wait_for_consent(chat)
    for question in ("When is the grinder cleaned?", "Where are the beans from?"):
        chat.chat_input[0].set_value(question).run()
    assert not chat.exception


def rows(app):
    """The questions that wait, in order."""
    wanted = ("When is the grinder cleaned?", "Where are the beans from?")
    return [item.value for item in app.markdown if item.value in wanted]


def test_every_waiting_question_has_a_row_that_can_be_moved_and_removed(chat, tavily):
    queue_two(chat, tavily)
    assert rows(chat) == ["When is the grinder cleaned?", "Where are the beans from?"]
    assert said(chat, "Waiting: decide about the web search first.")
    assert said(chat, "Waiting: asked after the question above.")
    press(chat, "queued-Move up-")
    assert rows(chat) == ["Where are the beans from?", "When is the grinder cleaned?"]
    press(chat, "queued-Remove-")
    assert rows(chat) == ["When is the grinder cleaned?"]
    assert not {"Move up", "Move down"} & {*labels(chat)}


def test_a_sent_question_brings_the_trace_into_the_sidebar_whether_it_waits_or_not(chat, tavily):
    chat.run().session_state["sidebar_view"] = "History"
    wait_for_consent(chat)
    assert chat.session_state["sidebar_view"] == "Trace"
    chat.session_state["sidebar_view"] = "History"
    chat.run().chat_input[0].set_value("When is the grinder cleaned?").run()
    assert said(chat, "Waiting: decide about the web search first.")
    assert chat.session_state["sidebar_view"] == "Trace"
    assert any(step.label.startswith("Search the web") for step in chat.sidebar.expander)


def test_waiting_questions_are_there_after_a_reload_and_can_be_edited(chat, tavily):
    queue_two(chat, tavily)
    press(chat, "queued-Edit-")
    reopened = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    reopened.query_params["c"] = chat.query_params["c"]
    reopened.run()
    editor = next(area for area in reopened.text_area if area.value == "When is the grinder cleaned?")
    editor.set_value("Who cleans the grinder?")
    click(reopened, "Save")
    assert said(reopened, "Who cleans the grinder?")
    assert rows(reopened) == ["Where are the beans from?"]


def test_a_question_sent_while_another_is_answered_waits_for_it(chat, ollama, notes):
    usual = ollama.script

    def hold_answers(asked):
        ollama.per_token = 3600.0 if asked.writes else 0.0
        return usual(asked)

    ollama.script = hold_answers
    chat.run().chat_input[0].set_value(QUESTION).run()
    until(chat, lambda: ollama.chats and ollama.chats[-1].writes)
    chat.chat_input[0].set_value("When is the grinder cleaned?").run()
    assert said(chat, "Waiting: asked when this answer is done.")
    ollama.script, ollama.per_token = usual, 0.0
    until(chat, lambda: len(chat.chat_message) == 4 and "stop" not in {button.key for button in chat.button})
    assert said(chat, "on Fridays")
    assert not said(chat, "Waiting:")
