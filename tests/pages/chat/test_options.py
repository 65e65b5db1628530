"""The options of a conversation in its drawer; very long questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.options import OPTIONS, RunOptions
from pages.chat import question_editor
from pages.parts.services import shared_application
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say
from tests.pages.conftest import NOTES, add, ask, click, labels, said

QUESTION = "What is the espresso machine descaled with?"


@pytest.fixture
def drawer(chat, notes):
    """The chat with the drawer of its conversation open."""
    chat.run()
    chat.button(key="chip_options").click().run()
    return chat


def badges(chat, badge):
    """The names of the settings that have this badge."""
    return [item.value.partition(" :")[0] for item in chat.markdown if f"badge[{badge}]" in item.value]


def test_every_setting_says_where_its_value_comes_from(drawer, services):
    services.preferences.save("k", 6)
    drawer.run()
    assert badges(drawer, "saved") == ["Passages to grade"]
    assert "Strictness" in badges(drawer, "default")
    assert "Context window" in badges(drawer, "default")
    assert badges(drawer, "this conversation") == []


def test_an_option_in_a_section_of_its_own_is_drawn(chat, notes, monkeypatch):
    added = replace(OPTIONS["thinking"], section="Documents", title="Something new")
    monkeypatch.setitem(OPTIONS, "thinking", added)
    chat.run()
    chat.button(key="chip_options").click().run()
    assert "Something new" in badges(chat, "default")


def test_a_value_of_the_conversation_is_taken_back(drawer, services):
    services.preferences.save("k", 6)
    drawer.run()
    drawer.slider(key="option_k").set_value(2).run()
    drawer.select_slider(key="option_answering.window").set_value(4096).run()
    assert badges(drawer, "this conversation") == ["Passages to grade", "Context window"]
    assert "Balanced · 2 passages · 2 changes" in labels(drawer.run())
    drawer.button(key="option_forget-k").click().run()
    assert drawer.slider(key="option_k").value == 6
    assert badges(drawer, "this conversation") == ["Context window"]
    drawer.button(key="forget_all").click().run()
    assert "Balanced · 6 passages" in labels(drawer.run())


def test_a_new_conversation_begins_with_what_holds_for_the_home(drawer):
    drawer.slider(key="option_k").set_value(2).run()
    ask(drawer, QUESTION)
    assert "Balanced · 2 passages · 1 change" in labels(drawer)
    click(drawer, "New")
    assert "Balanced · 4 passages" in labels(drawer)


def test_a_preset_is_used_saved_and_offered_again(drawer, services):
    menu(drawer, "chosen_preset").set_value("langgraph-js").run()
    assert "LangGraph\\.js · 4 passages" in labels(drawer.run())
    assert "Preset: LangGraph\\.js" in [menu.label for menu in drawer.get("menu_button")]
    assert drawer.selectbox(key="option_policy").value == "none"
    drawer.slider(key="option_k").set_value(9).run()  # no longer that preset
    assert "Lenient · 9 passages" in " ".join(labels(drawer.run()))
    drawer.text_input(key="new_preset").set_value("Nine")
    click(drawer, "Save")
    assert services.preferences.presets()["Nine"]["k"] == 9
    assert "Nine" in menu(drawer.run(), "chosen_preset").options


def menu(chat, key):
    return next(menu for menu in chat.get("menu_button") if menu.key == key)


def test_a_name_of_a_known_variant_is_refused_in_words(drawer, services):
    drawer.text_input(key="new_preset").set_value("paper")
    click(drawer, "Save")
    assert any("built\\-in preset" in toast.value for toast in drawer.toast)
    assert services.preferences.options() == RunOptions()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One line?", "One line?"),
        ("a\nb\nc", "a\nb\nc"),
        ("x" * 701, "x" * 700 + " …"),
        ("\n".join("abcdefghij"), "a\nb\nc\nd\ne\nf\ng\nh …"),
    ],
)
def test_the_beginning_of_a_question(text, shown):
    assert question_editor.shorten_question(text) == shown


def test_a_question_too_long_is_folded_and_names_what_was_cut(chat, monkeypatch):
    filler = "The kitchen has a kettle, a grinder and many cups. " * 800
    with ScriptedOllama(script=lambda request: Say(answer_like_a_little_model(request))) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        add(shared_application(), "brewing.md", NOTES)
        chat.query_params["c"] = shared_application().conversations.create({"policy": "off"}).id
        chat.run()
        long = f"{QUESTION}\n{filler}\n{QUESTION}"
        ask(chat, long)
    assert any(fold.label == f"Show all {len(long):,} characters" for fold in chat.expander)
    assert max(len(item.value) for item in chat.markdown) < 2_000
    assert said(chat, "from the middle, were left out")
    assert any("tokens of your question left out" in bar.text for bar in chat.get("progress"))
