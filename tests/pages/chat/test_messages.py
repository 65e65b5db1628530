"""Actions on earlier questions and answers: edit, switch branches, rate, copy, follow up."""

from collections import deque

import pytest

from crag.events import AnswerChecked, AnswerWritten, NodeStarted, PassagesFound, RunStarted, VersionBegun, WebQuerySent
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.types import Citation, Feedback, Passage, Support, Usage
from pages.chat import answer_actions
from pages.parts import markdown, source_drawer
from tests.pages.conftest import QUESTION, add, ask, click, said, until

STEPS = " ".join(f"Step {n} takes about {n} minutes, a soft cloth and some patience at the end." for n in range(1, 16))
GUIDE = f"""# Coffee guide

## Espresso machine
The espresso machine in the kitchen is descaled every six weeks with citric acid. {STEPS}

## Grinder care
The burr grinder is cleaned on Fridays with a dry brush and never with water. {STEPS}
"""
OTHER = "When is the grinder cleaned?"
NEXT_QUESTION = "When is the burr grinder cleaned?"


def shown_messages(services):
    return services.conversations.messages(services.conversations.list()[0].id)


def edit(app, services, question):
    app.session_state["edited"] = {services.conversations.list()[0].id: shown_messages(services)[-2].id}
    app.run()
    app.text_area[0].set_value(question)
    click(app, "Ask")
    until(app, lambda: "stop" not in {button.key for button in app.button})


def test_an_edited_question_starts_a_branch_beside_the_old_one(asked, services):
    edit(asked, services, OTHER)
    assert [message.text for message in shown_messages(services) if message.role == "user"] == [OTHER]
    assert said(asked, "Question 2 of 2")
    assert said(asked, "on Fridays")
    assert not asked.session_state["edited"]
    click(asked, "Previous question")
    assert said(asked, "Question 1 of 2")
    assert shown_messages(services)[0].text == QUESTION
    questions = shown_messages(services)[0].branches
    runs = [services.conversations.find_answer_run(question) for question in questions]
    assert [services.runs.trace(run_id).question for run_id in runs] == [QUESTION, OTHER]
    assert next(button for button in asked.button if button.label == "Previous question").disabled
    next(button for button in asked.button if button.key == f"compare-branches-{questions[0]}").click().run()
    assert [title.value for title in asked.title] == ["Two questions"]


def test_an_earlier_answer_shows_links_and_all_actions(asked, services):
    run_id = shown_messages(services)[-1].run_id
    ask(asked, OTHER)
    drawn = {button.key for button in asked.button}
    assert not drawn & {f"source-{run_id}-1", f"trace-of-{run_id}"}
    assert said(asked, "[:blue[**1**] :material/description:")
    assert {f"again-{run_id}", f"more-{run_id}"} <= {menu.key for menu in asked.get("menu_button")}
    assert f"thumbs-{run_id}" in {thumbs.key for thumbs in asked.feedback}


def test_the_title_of_a_source_is_shown_whole_on_hover_where_it_is_cut(chat, services):
    title = "Maintenance of boilers and pumps in the cellars of our houses in the long winter of 2024"
    add(services, "boiler.md", f"# {title}\n\nThe boiler is inspected in March.")
    chat.run()
    ask(chat, "When is the boiler inspected?")
    source = next(button for button in chat.button if (button.key or "").startswith("source-"))
    assert title not in source.label
    assert source.help == title


def test_forty_messages_and_more_are_shown_with_all_actions(asked, services):
    conversation = services.conversations.list()[0].id
    for number in range(25):
        run = services.runs.start(conversation, f"How often is machine {number} descaled?", RunOptions(model="builtin"))
        deque(run.follow(), maxlen=0)
    asked.run()
    questions = [text.value for text in asked.markdown if text.value.startswith("How often")]
    assert questions == [f"How often is machine {number} descaled?" for number in range(3, 25)]
    menus = [menu.key for menu in asked.get("menu_button")]
    assert len(asked.feedback) == sum(key.startswith("again-") for key in menus) == len(questions)
    click(asked, "Show earlier messages")
    assert said(asked, QUESTION)
    assert "Show earlier messages" not in {button.label for button in asked.button}


def test_an_empty_edit_is_refused_and_nothing_is_lost(asked, services):
    edit(asked, services, "   ")
    assert not asked.exception
    assert [toast.value for toast in asked.toast] == ["The question is empty\\. Write one, then send it\\."]
    assert asked.text_area
    click(asked, "Cancel")
    assert [message.text for message in shown_messages(services) if message.role == "user"] == [QUESTION]


def test_feedback_is_shown_again_changed_and_taken_back(asked, services):
    run_id = shown_messages(services)[-1].run_id
    asked.feedback[0].set_value(0).run()
    asked.text_area[0].set_value("It missed the filter")
    click(asked, "Save")
    assert services.conversations.feedback(run_id) == Feedback(helpful=False, reason="It missed the filter")
    assert said(asked, "You said: “It missed the filter”")
    asked.button(key=f"why-{run_id}").click().run()
    assert asked.text_area[0].value == "It missed the filter"
    del asked.session_state["dialog"]
    asked.feedback[0].set_value(None).run()
    assert services.conversations.feedback(run_id) is None


def test_a_question_to_ask_next_is_asked_and_not_offered_again(chat, services):
    add(services, "guide.md", GUIDE)
    chat.run()
    ask(chat, QUESTION)
    assert offered(chat) == [NEXT_QUESTION]
    next(group for group in chat.button_group if NEXT_QUESTION in group.options).set_value(NEXT_QUESTION).run()
    until(chat, lambda: len(shown_messages(services)) == 4 and "stop" not in {button.key for button in chat.button})
    assert [message.text for message in shown_messages(services)][2] == NEXT_QUESTION
    assert NEXT_QUESTION not in offered(chat)


def offered(app):
    """The questions to ask next."""
    return [option for group in app.get("button_group") for option in group.options if "?" in option]


def test_what_each_sentence_rests_on_leads_to_its_place():
    trace = answered()
    assert [(cited.n, cited.quote) for cited in trace.citations_of(trace.sentences[0])] == [
        (1, "Descaled every six weeks.")
    ]
    assert [(cited.n, cited.quote) for cited in trace.citations_of(trace.sentences[1])] == [
        (1, "Cited for this."),
        (2, "From the web."),
    ]


def test_an_answer_is_copied_with_its_sources():
    assert answer_actions.answer_with_sources(answered()) == (
        "> How often?\n\nEvery six weeks [1]. Or not [1][2].\n\n"
        "[1] Notes · p. 3  \n[2] Descaling, https://example.org/descaling  "
    )


def test_hovering_over_a_citation_shows_what_it_rests_on():
    cited = Citation(1, 1, "s", 'Notes "x" [a](b)', "/n", 3, "word " * 60, "library")
    drawn = markdown.sanitize_answer("Yes [1].", {1: cited}, "run")
    title = drawn.partition(' "')[2].rpartition('")')[0]
    assert title.startswith('Notes \\"x\\"')
    assert "word word" in title
    assert len(title) < 230
    assert '"' not in title.replace('\\"', "")
    assert markdown.escape_sentence("- Every six weeks [1][2].") == "Every six weeks\\."


def test_a_web_page_was_fetched_when_its_search_ran(services, monkeypatch):
    first, second = Trace(), Trace()
    first.apply_all([RunStarted("q", RunOptions(), 1_000_000.0), NodeStarted("web_search", 5.0)])
    first.apply(WebQuerySent("q", "Tavily"))
    second.apply_all([RunStarted("q", RunOptions(), 2_000_000.0), VersionBegun("first", "again", kept=True)])
    second.apply(NodeStarted("web_search", 7.0))
    traces = {"first": first, "second": second, "none": Trace()}
    monkeypatch.setattr(services.runs, "trace", traces.__getitem__)
    assert source_drawer.web_fetch_time("first") == source_drawer.web_fetch_time("second") == 1_000_005.0
    assert source_drawer.web_fetch_time("none") is None


def answered():
    """The trace of an answer of two sentences, one source in the library and one on the web."""
    passages = (
        Passage(1, "s", "Notes", "/n", "Descaled every six weeks. Cited for this.", "", 3),
        Passage(-1, "", "Descaling", "https://example.org/descaling", "From the web.", "", origin="web"),
    )
    citations = (
        Citation(1, 1, "s", "Notes", "/n", 3, "Cited for this.", "library"),
        Citation(2, -1, "", "Descaling", "https://example.org/descaling", None, "From the web.", "web"),
    )
    sentences = (
        Support("Every six weeks [1].", "supported", (1,), "Descaled every six weeks."),
        Support("Or not [1][2].", "weak", (1, 2), "Words of neither."),
    )
    text = "Every six weeks [1]. Or not [1][2]."
    return Trace().apply_all(
        [
            RunStarted("How often?", RunOptions(), 0.0),
            PassagesFound("library", passages, 2),
            AnswerWritten(text, citations, "documents_and_web", Usage()),
            AnswerChecked(sentences),
        ]
    )


@pytest.mark.parametrize("press", ["thumb", "version"])
def test_what_another_tab_deleted_meanwhile_is_told_in_words(asked, services, press):
    before = shown_messages(services)[-1]
    list(services.runs.regenerate(before.run_id, RunOptions(web="off")).follow())
    asked.run()
    services.conversations.delete(before.conversation_id)
    services.conversations.purge()
    if press == "thumb":
        asked.feedback[0].set_value(0).run()
    else:
        click(asked, "Show version 1")
    assert said(asked, "There is no such conversation here.")
    assert "dialog" not in asked.session_state


def test_small_talk_about_an_empty_library_leads_to_the_documents(chat):
    chat.run()
    ask(chat, "Hello")
    next(button for button in chat.button if (button.key or "").startswith("add-")).click().run()
    assert not chat.exception
    assert [title.value for title in chat.title] == ["Documents"]


def test_files_without_a_question_are_listed_with_their_results(chat, services):
    chat.run()
    ask(chat, "Hello")
    jobs = {
        services.jobs.submit_bytes(name, text): name
        for name, text in {"a.md": b"# A\n\nTea.", "b.pdf": b"%PDF-1.7 cut"}.items()
    }
    chat.session_state["unasked_files"] = jobs
    until(chat, lambda: said(chat, "Your next question is asked with these files"))
    assert said(chat, "a.md ·] :gray[Added: 1 passage]")
    assert said(chat, "b.pdf ·] :red[")


def test_small_talk_has_no_badge_and_no_sources(chat, notes):
    chat.run()
    ask(chat, "Thanks!")
    assert said(chat, "You’re welcome.")
    assert not said(chat, "your documents**")
    assert not said(chat, "-badge[")
    assert not [button for button in chat.button if button.key and button.key.startswith(("trace-of-", "nearest-"))]


def choose_more(app, action):
    """Choose in the menu under the answer."""
    menu = next(menu for menu in app.get("menu_button") if menu.label == "More")
    menu.set_value(next(option for option in menu.options if option.endswith(action))).run()


def test_the_menu_under_an_answer_acts_at_once(asked, services):
    choose_more(asked, "Keep as a note")
    assert [note.title for note in services.notes.list()] == [QUESTION]
    choose_more(asked, "Copy with sources")
    assert asked.session_state["dialog"][0] == answer_actions.COPY_DIALOG
