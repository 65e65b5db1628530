"""Correction on the chat page: consent, overrides and versions."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from crag.options import RunOptions
from crag.types import Thresholds
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say
from tests.pages.conftest import (
    ROOT,
    UNANSWERED,
    ask,
    labels,
    last_run,
    restart_application,
    said,
    until,
    wait_for_consent,
)
from tests.waiting import PATIENCE

QUESTION = "What is the espresso machine descaled with?"


def press(app, start, label=""):
    """Press the button whose key begins so or, without one, that has this label."""
    chosen = (button for button in app.button if (button.key or "").startswith(start) and label in button.label)
    return next(chosen).click().run()


def query_of(app):
    return next(area for area in app.text_area if (area.key or "").startswith("query-"))


def test_the_card_shows_the_query_and_where_it_goes(chat, tavily):
    wait_for_consent(chat)  # where there is a key, a new conversation asks first
    assert not chat.exception
    assert "Web: ask" in labels(chat)
    assert query_of(chat).value == UNANSWERED
    assert query_of(chat).max_chars == 400
    assert said(chat, "not found in your documents")
    assert said(chat, f"Sends this query and nothing else to {tavily.url.removeprefix('http://')}.")
    assert said(chat, "Written from your question, never from your documents.")
    assert any(step.label.startswith("Search the web :small[:gray[waiting for you") for step in chat.sidebar.expander)
    query_of(chat).set_value("  ").run()
    press(chat, "send-")
    assert any("The query is empty" in toast.value for toast in chat.toast)
    assert said(chat, "Allow this search?")
    assert tavily.requests == []


def test_the_card_says_that_whole_pages_are_fetched_too(chat, tavily):
    chat.run()
    chat.button(key="chip_options").click().run()
    chat.toggle(key="option_fetch_pages").set_value(True).run()
    del chat.session_state["dialog"]
    wait_for_consent(chat)
    assert said(chat, "Then the full pages found are fetched from their sites.")
    assert not said(chat, "nothing else")


def test_nobody_is_asked_again_who_does_not_want_to_be(chat, tavily, services):
    wait_for_consent(chat)
    next(box for box in chat.checkbox if (box.key or "").startswith("always-")).check().run()
    assert services.conversations.list()[0].changes.get("web", "ask") == "ask"  # ticking alone decides nothing
    press(chat, "send-")
    until(chat, lambda: said(chat, "from the web"))
    assert services.conversations.list()[0].changes["web"] == "auto"
    assert "Web: on" in labels(chat)


def test_who_declines_gets_an_honest_refusal_and_may_think_again(chat, tavily):
    wait_for_consent(chat)
    press(chat, "keep-")
    until(chat, lambda: said(chat, "Nearest passages:"))  # the text is there before the answer stands for good
    assert said(chat, "I found no answer in your documents.")
    assert said(chat, "You chose to answer from your documents only.")
    press(chat, "web-", "Allow web search")
    until(chat, lambda: said(chat, "Allow this search?"))
    assert said(chat, "Version 2 of 2")
    assert tavily.requests == []


def test_the_card_and_its_draft_survive_a_restart(chat, tavily):
    wait_for_consent(chat)
    query_of(chat).set_value("2024 NBA champion").run()
    conversation = chat.query_params["c"]
    restart_application()
    reopened = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    reopened.query_params["c"] = conversation
    reopened.run()
    assert query_of(reopened).value == "2024 NBA champion"
    press(reopened, "send-")
    until(reopened, lambda: said(reopened, "from the web"))
    assert tavily.queries == ["2024 NBA champion"]
    assert said(reopened, "Sent to Tavily: “2024 NBA champion”")


def test_overruling_answers_again_beside_the_old_answer(asked, services):
    press(asked, "source-")
    press(asked, "drop-")
    until(asked, lambda: "Show version 1" in labels(asked))
    assert not asked.exception
    assert said(asked, "Version 2 of 2 · you left out “Brewing notes”")
    assert said(asked, "Without the passages you left out, I found no answer.")
    assert said(asked, "you left out 1 of 1 passage")
    assert any(":red-badge[:material/person_remove: left out by you]" in label for label in labels(asked))
    press(asked, "nearest-")
    assert said(asked, "The grader says relevant.")
    assert any(label == "Use anyway and answer again" for label in labels(asked))
    asked.session_state["source"] = None
    del asked.session_state["source"]
    press(asked, "version-")
    assert said(asked, "Version 1 of 2 · first answer")
    assert said(asked, "six weeks")
    assert services.runs.trace(last_run(services)).change == ""


def test_again_makes_a_version_and_no_new_messages(asked, services):
    run_id = last_run(services)
    menu = next(menu for menu in asked.get("menu_button") if menu.key == f"again-{run_id}")
    menu.set_value("Same settings").run()
    until(asked, lambda: "Show version 1" in labels(asked))
    assert len(asked.chat_message) == 2
    assert len(services.runs.versions(run_id)) == 2


def test_the_second_settings_are_chosen_in_a_drawer(asked, services):
    asked.session_state["compared_options"] = RunOptions()
    asked.session_state["dialog"] = ("compare with other options", (last_run(services), RunOptions()))
    asked.run()
    start = next(button for button in asked.button if button.label == "Answer and compare")
    assert start.disabled
    asked.selectbox(key="compared_policy").set_value("off").run()
    start = next(button for button in asked.button if button.label == "Answer and compare")
    assert not start.disabled
    assert asked.session_state["compared_options"] == RunOptions(policy="off")
    assert services.conversations.list()[0].changes == {}  # the conversation keeps its own


def test_thresholds_are_set_for_a_conversation_and_given_back(chat, notes, services):
    chat.run()
    chat.button(key="chip_options").click().run()
    automatic = chat.slider(key="option_thresholds").value
    assert said(chat, "from the second on it is relevant: default thresholds.")
    chat.slider(key="option_thresholds").set_value((0.1, 0.95)).run()
    assert said(chat, "set by you")
    ask(chat, QUESTION)
    assert services.runs.trace(last_run(services)).thresholds == Thresholds(0.1, 0.95)
    assert said(chat, "relevant from 0.95, not relevant below 0.10 · set by you")
    chat.button(key="option_forget-thresholds").click().run()
    assert chat.slider(key="option_thresholds").value == automatic
    assert services.conversations.list()[0].changes.get("thresholds") is None


def test_unsupported_sentences_are_marked_and_can_be_searched(chat, tavily, monkeypatch):
    answer = "The machine is descaled every six weeks [1]. The moon is made of green cheese from Gouda."

    def script(asked):
        return Say(answer if asked.writes else answer_like_a_little_model(asked))

    with ScriptedOllama(script=script) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        restart_application()
        chat.run()
        ask(chat, QUESTION)
        assert said(chat, "from Gouda. :orange-badge[:material/link_off: no source]")
        assert said(chat, "The model server counted")
        press(chat, "look-", "Search the web for the sentence without a source")
        until(chat, lambda: said(chat, "Allow this search?"))
    assert query_of(chat).value == "The moon is made of green cheese from Gouda."
    assert said(chat, "so it may contain words from your documents. Check it before you send it.")


def test_a_prompt_that_the_server_cut_raises_an_alarm(chat, notes, monkeypatch):
    def script(asked):
        return Say(answer_like_a_little_model(asked), prompt_tokens=20 if asked.writes else None)

    with ScriptedOllama(script=script) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        restart_application()
        chat.run()
        ask(chat, QUESTION)
    assert said(chat, ":orange[:material/warning:] The model server read 20 of about")
    assert said(chat, ":orange[:material/warning:] The model server counted 20.")
