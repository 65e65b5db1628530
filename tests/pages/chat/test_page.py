"""The chat page drawn by the real services on the built-in engine."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from crag.options import ModelParameters, RunOptions
from crag.text.routes import parse_summary_request
from crag.translation import _, list_languages, use_language
from pages.chat.answer_actions import regenerate_choices
from pages.parts.services import shared_application
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say
from tests.pages.conftest import NOTES, add, ask, click, labels, said, until

QUESTION = "What is the espresso machine descaled with?"


def test_an_empty_library_starts_with_what_this_is(chat):
    chat.run()
    assert not chat.exception
    assert chat.title[0].value == "Ask your documents"
    for name in ("Built-in engine", "Llama 3 on Ollama", "Nomic embeddings", "Web search"):
        assert said(chat, name)
    legend = [step.label for step in chat.sidebar.expander]
    assert legend[0].startswith("Find passages")
    assert len(legend) == 8
    assert r"Built\-in engine" in labels(chat)


def test_with_documents_it_starts_with_questions(chat, notes):
    chat.run()
    assert said(chat, "1 document, 1 passage")
    suggested = [button for button in chat.button if (button.key or "").startswith("suggested-")]
    assert suggested
    suggested[0].click().run()
    assert chat.chat_message


def test_documents_without_questions_are_offered_as_summaries(chat, services):
    walk = " ".join(f"We walked on past hill {n}, and nobody spoke until the rain began." for n in range(90))
    services.library.pipeline.add_bytes("walk.md", f"# A long walk\n\n{walk}".encode())
    services.library.pipeline.add_bytes("prices.md", b"# Prices\n\nRye 3.80\n\nOats 2.10\n")
    assert services.library.suggest_questions() == []
    chat.run()
    suggested = [button for button in chat.button if (button.key or "").startswith("suggested-")]
    assert [button.label for button in suggested] == ["Summarize “A long walk”"]
    suggested[0].click().run()
    until(chat, lambda: said(chat, "quoted from your documents"))


@pytest.mark.parametrize("language", list_languages())
def test_an_offered_summary_is_understood_as_one(language):
    with use_language(language):
        request = parse_summary_request(_("Summarize “{title}”").format(title="Bakery prices"))
    assert request.scope == "Bakery prices"


def test_an_answer_says_where_it_comes_from_and_shows_its_trace(chat, notes, services):
    chat.run()
    ask(chat, QUESTION)
    assert chat.query_params["c"] == services.conversations.list()[0].id
    assert not chat.exception
    assert said(chat, "from your documents")
    assert said(chat, "cites 1 of 1 passage")
    assert said(chat, "six weeks")
    steps = [step.label for step in chat.sidebar.expander]
    for name in ("Find passages", "Grade", "Decide", "Keep excerpts", "Write", "Check"):
        assert any(step.startswith(name) for step in steps)
    assert any(":green-badge[:material/check_circle: relevant" in label for label in labels(chat))
    assert any("in total" in caption.value for caption in chat.sidebar.caption)


def test_the_trace_of_a_run_that_ended_between_two_draws_is_shown(asked, services):
    list(
        services.runs.start(services.conversations.list()[0].id, "When is the grinder cleaned?", RunOptions()).follow()
    )
    asked.run()
    assert "When is the grinder cleaned?" in [caption.value for caption in asked.sidebar.caption]


def test_a_source_opens_in_the_drawer(asked):
    next(button for button in asked.button if (button.key or "").startswith("source-")).click().run()
    assert not asked.exception
    assert said(asked, ":gray-badge[:material/content_cut: left out] :gray[~~")
    assert said(asked, ":green-badge[:material/check: kept]")
    click(asked, "Only this document")
    assert "Only Brewing notes" in labels(asked)


def test_text_around_a_passage_is_grey_in_every_paragraph(chat, services):
    add(services, "boiler.md", "\n\n".join(f"Boiler number {n} is checked in room {n}. " * 30 for n in range(8)))
    chat.run()
    ask(chat, "Where is boiler number 4 checked?")
    next(button for button in chat.button if (button.key or "").startswith("source-")).click().run()
    around = "\n".join(item.value for item in chat.markdown if item.value.startswith(":gray[Boiler"))
    grey = [line.strip() for line in around.split("\n") if line.strip()]
    assert len(grey) > 1
    assert all(line.startswith(":gray[") and line.endswith("]") for line in grey)


def test_an_answer_cut_at_its_limit_says_so_once(chat, monkeypatch):
    with ScriptedOllama(script=lambda asked: Say(answer_like_a_little_model(asked), end="length")) as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        add(shared_application(), "brewing.md", NOTES)
        chat.run()
        ask(chat, QUESTION)
    assert [said.value for said in chat.caption if "length limit" in said.value] == [
        r":material/info: The answer reached its length limit\."
    ]


def test_asking_again_offers_no_model_twice(chat, notes):
    assert not any(choice.startswith("With Built") for choice in regenerate_choices(RunOptions()))
    assert not any(choice.startswith("With Built") for choice in regenerate_choices(RunOptions(model="builtin")))


def test_what_the_documents_do_not_hold_is_not_made_up(chat, notes):
    chat.run()
    ask(chat, "Who won the 2024 NBA finals?")
    assert said(chat, "not found in your documents")
    assert said(chat, "I found no answer in your documents.")
    assert any(step.label.startswith("Search the web") for step in chat.sidebar.expander)
    assert "Add documents" in labels(chat)
    assert "Allow web search and try again" not in labels(chat)  # there is no key


def test_what_some_documents_do_not_hold_is_offered_to_be_looked_for_in_all(chat, notes, services):
    board = add(services, "minutes.md", "# Minutes\n\nThe board met in May and approved the budget of the museum.")
    chat.session_state["new_changes"] = {"source_ids": (board,)}
    chat.run()
    ask(chat, QUESTION)
    assert said(chat, "not found in the documents searched")
    assert said(chat, "I found no answer in the document searched.")
    click(chat, "Search all documents")
    until(chat, lambda: said(chat, "from your documents"))


def test_the_conversation_is_in_the_address_and_comes_back(asked, services):
    conversation = services.conversations.list()[0]
    assert asked.query_params["c"] == conversation.id
    asked.session_state["sidebar_view"] = "History"
    asked.run()
    opened = next(button for button in asked.button if button.key == f"open-{conversation.id}")
    assert "espresso machine" in opened.label
    click(asked, "New")
    assert asked.title[0].value == "Ask your documents"
    asked.query_params["c"] = conversation.id
    asked.run()
    assert said(asked, "six weeks")


def test_the_open_one_of_two_conversations_with_the_same_title_is_bold(chat, notes, services):
    chat.run()
    ask(chat, QUESTION)
    click(chat, "New")
    ask(chat, QUESTION)
    for one in services.conversations.list():
        services.conversations.rename(one.id, "What was the income of the harbour in the first half, and who …")
    chat.session_state["sidebar_view"] = "History"
    chat.run()
    label = next(button.label for button in chat.button if button.key == f"open-{chat.query_params['c']}")
    assert "**" in label
    assert "*" not in re.sub("<[^>]*>", "", MarkdownIt().render(label))


def test_every_drawing_names_the_chosen_view_of_the_sidebar(chat):
    """The browser may see only the second of two runs in quick succession."""
    for _drawing in range(2):
        chat.run()
        shown = next(one.proto for one in chat.get("button_group") if one.proto.label == "Show")
        assert shown.set_value
        assert list(shown.raw_values) == ["Trace"]


def test_an_address_without_a_conversation_says_so_and_offers_the_latest(chat, notes, services):
    chat.query_params["c"] = "nothing"
    chat.run()
    assert not chat.exception
    assert said(chat, "There is no such conversation here.")
    assert "Open the latest conversation" not in labels(chat)
    conversation = services.conversations.create()
    list(services.runs.start(conversation.id, QUESTION, RunOptions()).follow())
    chat.run()
    click(chat, "Open the latest conversation")
    assert chat.query_params["c"] == conversation.id
    assert said(chat, "six weeks")


def test_an_empty_question_is_refused_in_words(chat, notes):
    chat.run()
    chat.chat_input[0].set_value("\u200b\x00").run()
    assert not chat.exception
    assert not chat.chat_message
    assert ["The question is empty" in toast.value for toast in chat.toast] == [True]


@pytest.mark.parametrize("question", ["???", "…", "🙂"])
def test_a_question_without_words_is_not_answered_from_a_document(chat, notes, question):
    chat.run()
    ask(chat, question)
    assert not said(chat, "six weeks")


def test_options_belong_to_the_conversation(chat, notes, services):
    chat.run()
    chat.button(key="chip_options").click().run()
    chat.selectbox(key="option_policy").set_value("off").run()
    chat.slider(key="option_k").set_value(2).run()
    chat.select_slider(key="option_grading.window").set_value(4096).run()
    del chat.session_state["dialog"]
    ask(chat, QUESTION)
    assert services.conversations.list()[0].changes == {"policy": "off", "k": 2, "grading.window": 4096, "preset": ""}
    assert "Grading off · 2 passages · 3 changes" in labels(chat)
    trace = services.runs.trace(services.conversations.messages(services.conversations.list()[0].id)[-1].run_id)
    assert trace.options == RunOptions(policy="off", k=2, grading=ModelParameters(window=4096))


@pytest.mark.parametrize("name", ["<img src=x onerror=1>.md", "![x](http:⁄⁄a).md", ":material~home: $x$ **b**.md"])
def test_names_of_files_are_only_text(chat, services, name):
    add(services, name, "The boiler of the house is checked every autumn by a plumber from Lyon.")
    chat.run()
    ask(chat, "Who checks the boiler of the house?")
    assert not chat.exception
    for label in labels(chat):
        assert not re.search(r"(?<!\\)(<img|\]\(|\$x|\*\*b)", label)


def test_the_builtin_engine_names_itself_and_a_better_one(asked):
    assert said(asked, "These sentences match the words of your question")
    next(button for button in asked.button if button.label.startswith("How to")).click().run()
    assert said(asked, "ollama pull llama3.1")


def test_web_search_cannot_be_switched_on_without_a_key(chat, notes):
    chat.run()
    chat.session_state["sidebar_view"] = "Trace"
    menu = next(menu for menu in chat.get("menu_button") if menu.key == "chip_web")
    menu.select(menu.options[1]).run() if hasattr(menu, "select") else menu.set_value(menu.options[1]).run()
    assert any("TAVILY" in toast.value for toast in chat.toast)
    assert "Web: off" in labels(chat)


def test_a_file_sent_with_a_question_is_read_first(chat, services):
    chat.run()
    box = chat.chat_input[0]
    box.upload("boiler.md", b"The boiler is checked every autumn by a plumber from Lyon.")
    box.set_value("Who checks the boiler?").run()
    until(chat, lambda: said(chat, "from your documents"))
    assert [source.title for source in services.library.sources()] == ["boiler.md"]


def choose(chat, conversation_id, choice):
    """Choose in the menu of the conversation that is open."""
    menu = next(menu for menu in chat.get("menu_button") if menu.key == f"edit-{conversation_id}")
    menu.set_value(choice).run()


def test_a_conversation_is_found_renamed_pinned_and_deleted(asked, services):
    conversation = services.conversations.list()[0]
    asked.session_state["sidebar_view"] = "History"
    asked.run()
    asked.text_input(key="conversation_search").set_value("nothing of the kind").run()
    assert said(asked, "No conversations found.")
    asked.text_input(key="conversation_search").set_value("espresso").run()
    assert f"open-{conversation.id}" in {button.key for button in asked.button}
    choose(asked, conversation.id, ":material/edit: Rename")
    next(field for field in asked.text_input if field.label == "Title").set_value("Kitchen")
    click(asked, "Rename")
    assert services.conversations.get(conversation.id).title == "Kitchen"
    choose(asked, conversation.id, ":material/keep: Pin")
    assert services.conversations.get(conversation.id).pinned
    assert said(asked, "Pinned")
    choose(asked, conversation.id, ":material/delete: Delete")
    assert services.conversations.list() == []
    asked.query_params["c"] = conversation.id  # as Back does
    asked.run()
    assert said(asked, "Deleted “Kitchen”")
    click(asked, "Undo")
    assert services.conversations.list() == [services.conversations.get(conversation.id)]
    assert asked.session_state["selected_c"] == conversation.id
    assert not asked.exception


def test_another_conversation_opens_without_drawer_or_waiting_files(asked):
    asked.button(key="chip_options").click().run()
    assert "Calibrate thresholds" in labels(asked)
    asked.session_state["unasked_files"] = {"job": "notes.md"}
    click(asked, "New")
    assert "Calibrate thresholds" not in labels(asked)
    assert "unasked_files" not in asked.session_state


def test_the_example_document_is_added_and_answers_what_is_suggested(chat, services):
    chat.run()
    click(chat, "Add the example document")
    until(chat, lambda: services.library.counts()[0] and any("open?" in label for label in labels(chat)))
    next(button for button in chat.button if "open?" in button.label).click().run()
    until(chat, lambda: said(chat, "from your documents"))
    assert said(chat, "7:30")


def test_without_a_network_the_example_posts_lead_to_the_example_document(chat, services, monkeypatch):
    monkeypatch.setattr(services, "example_urls", ("https://127.0.0.1:9/",), raising=False)
    chat.run()
    click(chat, "Add three example posts")
    assert said(chat, "No connection, so the posts cannot be fetched now")
    assert services.jobs.jobs() == []


def test_finished_jobs_leave_the_start_page_once_a_conversation_was_seen(chat, services):
    chat.run()
    services.jobs.submit_bytes("brewing.md", NOTES.encode())
    until(chat, lambda: said(chat, "Added 1 document"))
    ask(chat, QUESTION)
    click(chat, "New")
    assert chat.title[0].value == "Ask your documents"
    assert not said(chat, "Added 1 document")
