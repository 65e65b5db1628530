"""The settings page: sections, search, origin of values, saving, reset, overrides of a conversation."""

from __future__ import annotations

import pytest

from crag.options import SAVED_OPTIONS
from pages.parts.services import shared_application
from pages.settings.sections import all_sections
from tests.doubles.ollama_values import LLAMA
from tests.pages.conftest import labels, open_settings, said, until
from tests.waiting import PATIENCE

SAVED, DEFAULT = ":blue-badge[saved]", ":gray-badge[default]"


def control(page, name):
    """The control of a setting."""
    kinds = (page.selectbox, page.slider, page.select_slider, page.toggle, page.button_group, page.number_input)
    return next(item for kind in kinds for item in kind if item.key == f"setting-{name}")


def type_into(page, name, text):
    """Type what is not in the list of a control."""
    box = control(page, name)
    box.options.append(text)  # the test runner knows no other way
    box.set_value(text).run()


def headers(page):
    return [header.value for header in page.header]


def test_every_option_that_can_be_saved_has_a_row():
    words = "\n".join(row.words for section in all_sections() for row in section.rows)
    assert [name for name, option in SAVED_OPTIONS.items() if f"{option.title} {option.help}" not in words] == []


def search(page, words):
    page.text_input(key="settings_search").set_value(words).run()
    assert not page.exception


def test_the_folder_comes_from_the_environment_and_is_told(chat, tmp_path):
    page = open_settings(chat, "library")
    assert said(page, "Folder :violet-badge[:material/lock: environment]")
    shown = [text.value for text in page.text]
    assert str((tmp_path / "home").resolve()) in shown
    assert "100 MB per file" in shown


def test_it_never_shows_a_key(chat, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret-key")
    monkeypatch.setenv("CRAG_TAVILY_URL", "https://me:secret@search.example:8443/v1")
    page = open_settings(chat, "web-search")
    shown = [item.value for item in [*page.text, *page.markdown, *page.caption]]
    assert "Tavily, search.example:8443" in shown
    assert not any("secret" in text for text in shown)


def test_a_backup_can_be_made(chat, services):
    services.library.pipeline.add_bytes("notes.md", b"The lift is serviced in March.")
    page = open_settings(chat, "backup")
    (button,) = page.get("download_button")
    assert button.label.startswith("Download a backup (at most ")
    assert services.exchange.backup_bytes().startswith(b"PK")


@pytest.mark.parametrize(
    ("name", "section", "value", "title"),
    [
        ("k", "grading", 9, "Passages to grade"),
        ("policy", "grading", "any", "Strictness"),
        ("refine", "answers", False, "Keep excerpts"),
        ("answering.window", "model-parameters", 16_384, "Context window"),
        ("answering.temperature", "model-parameters", 0.7, "Temperature"),
    ],
)
def test_a_change_is_saved_at_once_and_the_default_comes_back(chat, services, name, section, value, title):
    page = open_settings(chat, section)
    before = services.preferences.effective(name).value
    assert said(page, f"{title} {DEFAULT}")
    control(page, name).set_value(value).run()
    assert services.preferences.effective(name).value == value
    assert said(page, f"{title} {SAVED}")
    page.button(key=f"reset-{name}").click().run()
    assert services.preferences.effective(name).value == before
    assert said(page, f"{title} {DEFAULT}")
    assert control(page, name).value == before


def test_a_time_is_typed_in_seconds_and_a_bad_one_refused(chat, services):
    page = open_settings(chat, "model-parameters")
    type_into(page, "answering.keep_alive", "900")
    assert services.preferences.effective("answering.keep_alive").value == 900
    assert "15 minutes (900 s)" in control(page, "answering.keep_alive").options
    type_into(page, "answering.keep_alive", "for ages")
    assert not page.exception
    assert said(page, "Answering: keep loaded cannot be “for ages”. Choose a number from -1 to 86,400.")
    assert services.preferences.effective("answering.keep_alive").value == 900


def test_each_role_is_tuned_by_itself(chat, services):
    page = open_settings(chat, "model-parameters")
    page.button_group(key="tuned_role").set_value("grading").run()
    control(page, "grading.window").set_value(4096).run()
    options = services.preferences.options()
    assert (options.answering.window, options.grading.window, options.rewriting.window) == (8192, 4096, 8192)


def test_what_the_environment_sets_is_locked(chat, monkeypatch):
    monkeypatch.setenv("CRAG_CHAT_MODEL", "ollama:llama3.1:8b")
    page = open_settings(chat, "models")
    assert said(page, "Answering model :violet-badge[:material/lock: environment]")
    assert said(page, "Set by CRAG_CHAT_MODEL. Change it there.")
    assert control(page, "model").disabled
    assert not control(page, "grader_model").disabled


def test_search_finds_titles_help_choices_and_variables(chat):
    page = open_settings(chat, "models")
    for words, found in {
        "OLLAMA_NUM_PARALLEL": ["Model parameters"],
        "strict": ["Grading"],
        "citric": [],
        "upload limit": ["Library"],
        "crag_embedder": ["Embeddings"],
        "take back": ["Privacy"],
        "reasons before": ["Models"],
    }.items():
        search(page, words)
        assert headers(page)[: len(found)] == found, words
    search(page, "citric acid")
    assert said(page, "No settings match “citric acid”.")
    search(page, "excerpts")
    assert said(page, "Keep excerpts"), "only the rows that fit"
    assert not said(page, "Wider context")
    search(page, "")
    assert headers(page)[0] == "Models"


def test_the_overrides_of_the_conversation_are_shown_and_cleared(chat, services):
    services.preferences.save("k", 6)
    conversation = services.conversations.create({"k": 12})
    chat.session_state["selected_c"] = conversation.id
    page = open_settings(chat, "grading")
    assert said(page, f"Passages to grade {SAVED}")
    assert said(page, ":orange-badge[this conversation: 12]")
    assert control(page, "k").value == 6
    page.button(key="forget-k").click().run()
    assert services.conversations.get(conversation.id).changes == {}
    assert not said(page, "this conversation")


def test_a_section_is_reached_by_the_sidebar_and_by_its_address(chat):
    page = open_settings(chat, "models")
    page.button(key="section-keyboard").click().run()
    assert headers(page) == ["Keyboard"]
    assert page.query_params["section"] == "keyboard"
    assert said(page, "Shift")


def test_a_remote_model_is_used_only_after_consent(chat, services):
    page = open_settings(chat, "models")
    type_into(page, "model", "openai:gpt-4o-mini")
    assert services.preferences.effective("model").value == "auto"
    assert said(page, "runs on another machine, at **openai**. Your question, the conversation so far and the passages")
    assert {"Allow and use", "Cancel"} <= set(labels(page))
    page.button[labels(page).index("Cancel")].click().run()
    assert services.preferences.effective("model").value == "auto"
    assert services.preferences.allowed_models() == []
    type_into(page, "model", "openai:gpt-4o-mini")
    page.button[labels(page).index("Allow and use")].click().run()
    assert services.preferences.effective("model").value == "openai:gpt-4o-mini"
    assert said(page, "leaves this machine")
    page.button(key="section-privacy").click().run()
    page.button(key="forbid-openai:gpt-4o-mini").click().run()
    assert not services.preferences.may_send_to("openai:gpt-4o-mini")


def test_a_model_of_ollama_is_chosen_by_what_was_typed(ollama, chat):
    page = open_settings(chat, "models")
    until(page, lambda: any("4.9 GB" in option for option in control(page, "model").options))
    assert any(option.startswith("llama3.1:8b — Ollama, 4.9 GB") for option in control(page, "model").options)
    type_into(page, "grader_model", "llama3.2:3b")
    assert shared_application().preferences.options().grader_model == "ollama:llama3.2:3b"
    assert said(page, "not on Ollama yet")
    page.button(key="get-ollama:llama3.2:3b-grader_model").click().run()
    assert shared_application().downloads.wait("ollama:llama3.2:3b", PATIENCE)
    until(page, lambda: not said(page, "not on Ollama yet"))


def test_words_that_a_browser_still_shows_are_no_new_model(ollama, chat):
    ollama.models = []
    page = open_settings(chat, "models")
    until(page, lambda: control(page, "model").options[0] == "Automatic, now Built-in engine")
    ollama.models = [LLAMA]
    until(page, lambda: control(page, "model").options[0] == "Automatic, now Llama 3.1 8B")
    type_into(page, "model", "Automatic, now Built-in engine")
    assert shared_application().preferences.effective("model").origin == "default"


def test_a_preset_is_saved_used_and_deleted(chat, services):
    services.preferences.save("k", 7)
    page = open_settings(chat, "presets")
    assert said(page, "**LangGraph.js**")
    assert not said(page, "**langgraph")
    page.text_input(key="preset_name").set_value("paper")
    page.button[labels(page).index("Save")].click().run()
    assert said(page, "“paper” is the name of a built-in preset.")
    page.text_input(key="preset_name").set_value("Careful")
    page.button[labels(page).index("Save")].click().run()
    assert said(page, "Careful")
    services.preferences.reset("k")
    page.get("menu_button")[-1].set_value("As default").run()
    assert services.preferences.options().k == 7
    page.get("menu_button")[-1].set_value("In the open conversation").run()
    page.button(key="use-langgraph-js").click().run()
    assert any("The next question uses “LangGraph\\.js”" in toast.value for toast in page.toast)
    page.button(key="delete-Careful").click().run()
    [button for button in page.button if button.label == "Delete"][-1].click().run()
    assert "Careful" not in services.preferences.presets()


@pytest.mark.parametrize("language", ["en", "ko", "zh_Hant", "zh_Hans"])
def test_the_same_sections_are_shown_in_every_language(chat, services, language):
    services.preferences.save_language(language)
    page = open_settings(chat, "models")
    shown = [button.key.removeprefix("section-") for button in page.button if (button.key or "").startswith("section-")]
    assert shown == [section.slug for section in all_sections() if section.name != "Account"]
