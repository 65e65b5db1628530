"""Models on the chat page: waits, remedies for failures and partial answers, thoughts, external hosts."""

from __future__ import annotations

import pytest

from crag.cancellation import Wait
from crag.text.sanitization import WORD_JOINER
from pages.chat import live_run
from pages.chat.answer_actions import regenerate_choices
from pages.chat.live_run import describe_wait
from pages.parts.services import shared_application
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import LLAMA, NOMIC, Model, Say
from tests.faults.asking import TWENTY
from tests.pages.conftest import NOTES, add, ask, labels, said, until
from tests.waiting import PATIENCE, wait_until

QUESTION = "What is the espresso machine descaled with?"
ANSWER = "It is descaled with citric acid [1]."
CLOUD = Model("gpt-oss:120b-cloud", digest="d" * 64, remote_host="https://ollama.com:443")
THINKER = Model("deepseek-r1:8b", digest="e" * 64, thinks=True)

THOUGHT = " ".join(f"The notes name an acid in line {number}, which I weigh." for number in range(8))

KEPT_QUESTION, KEPT_TEXT = "Your question is kept.", "The text so far is kept."


@pytest.fixture
def ollama(monkeypatch):
    with ScriptedOllama(models=[LLAMA, NOMIC, CLOUD, THINKER]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        add(shared_application(), "brewing.md", NOTES)
        yield server


def saying(say):
    """The little model, except that its answers are these."""
    return lambda asked: say if asked.writes else Say(answer_like_a_little_model(asked))


def asked_with(chat, **changes):
    """Ask the question in a conversation with these changes."""
    chat.query_params["c"] = shared_application().conversations.create(changes).id
    chat.run()
    ask(chat, QUESTION)
    return chat


def press(chat, start):
    next(button for button in chat.button if (button.key or "").startswith(start)).click().run()


def answered(chat):
    until(chat, lambda: said(chat, "from your documents") and "stop" not in {button.key for button in chat.button})


def message():
    """The last message as it is kept."""
    return shared_application().conversations.messages(shared_application().conversations.list()[0].id)[-1]


@pytest.mark.parametrize(
    ("kind", "loaded", "seconds", "place", "words"),
    [
        ("answering", False, 12.4, 0, "Llama 3\\.1 8B is loading, 12 s so far"),
        ("answering", False, 0.5, 0, ""),
        ("answering", True, 4.9, 0, "Llama 3\\.1 8B is reading the prompt, 4 s so far"),
        ("answering", True, 1.5, 0, ""),
        ("answering", None, 30.0, 0, "Llama 3\\.1 8B has not started answering, 30 s so far"),
        ("queued", True, 1.0, 1, "1 question before yours"),
        ("queued", True, 1.0, 14, "14 questions before yours"),
        ("queued", True, 0.1, 1, ""),
    ],
)
def test_a_wait_in_words(kind, loaded, seconds, place, words):
    assert describe_wait(Wait(kind, "ollama:llama3.1:8b", 0.0, place), loaded, seconds) == words


@pytest.mark.parametrize(
    ("seconds", "left", "words"),
    [
        (0.0, 8.2, "3 questions before yours, about 9 s"),
        (6.0, 2.0, "3 questions before yours, about 2 s"),
        (0.0, 0.3, ""),
        (0.4, 0.3, "3 questions before yours, about 1 s"),
    ],
)
def test_an_expected_wait_in_words(seconds, left, words):
    wait = Wait("queued", "processor", 0.0, 3, seconds_left=left)
    assert describe_wait(wait, None, seconds) == words


def test_a_retry_in_words():
    wait = Wait("retrying", "ollama:llama3.1:8b", 0.0, attempt=2)
    assert describe_wait(wait, True, 0.0) == "Llama 3\\.1 8B was busy. Trying again (attempt 2)"


def test_a_silent_model_can_be_replaced_by_the_builtin_engine(chat, ollama, monkeypatch):
    ollama.script = saying(Say(ANSWER, first_token_after=3600))
    chat.run().chat_input[0].set_value(QUESTION).run()
    until(chat, lambda: ollama.chats and ollama.chats[-1].writes)
    assert "Answer with the built-in engine" not in labels(chat)
    monkeypatch.setattr(live_run, "_SILENT_SECONDS", 0.0)
    until(chat, lambda: "Answer with the built-in engine" in labels(chat))
    assert said(chat, "Nothing from the model yet.")
    press(chat, "builtin-")
    answered(chat)
    assert said(chat, "Version 2 of 2 · model Built-in engine")
    assert "citric acid" in message().text
    assert not said(chat, "Nothing from the model yet.")
    wait_until(lambda: ollama.chats[-1].outcome == "dropped")


def test_a_model_that_has_begun_to_answer_is_left_alone(chat, ollama, monkeypatch):
    monkeypatch.setattr(live_run, "_SILENT_SECONDS", 0.0)
    ollama.script = saying(Say("It is descaled with", end="hang"))
    chat.run().chat_input[0].set_value(QUESTION).run()
    until(chat, lambda: said(chat, "It is descaled with"))
    assert "Answer with the built-in engine" not in labels(chat.run())
    press(chat, "stop")


def test_a_change_of_engine_is_said_above_the_first_answer_of_the_other(chat, ollama):
    add(shared_application(), "brewing.md", NOTES)
    chat.run()
    ask(chat, QUESTION)
    installed, ollama.models = ollama.models, []
    gone = "Ollama has no Llama 3 model, so the built-in engine answers. Get one with `ollama pull llama3.1`."
    shared_application().invalidate_model_choice()
    for question in ("When is the grinder cleaned?", "Where are the beans ordered from?"):
        ask(chat, question)
        assert captions(chat, gone) == 1
    ollama.models = installed
    shared_application().invalidate_model_choice()
    ask(chat, "How long does descaling take?")
    assert captions(chat, gone) == captions(chat, "Llama 3.1 8B answers again.") == 1


def captions(chat, words):
    """How many captions say this."""
    return sum(words in caption.value.replace(WORD_JOINER, "") for caption in chat.caption)


def test_an_answer_that_was_cut_is_gone_on_with(chat, ollama):
    ollama.script = saying(Say("It is descaled with", end="length"))
    asked_with(chat)
    assert "Try again" not in labels(chat)
    ollama.script = saying(Say("with citric acid [1]."))
    press(chat, "go-on-")
    until(chat, lambda: said(chat, "Version 2 of 2 · continued"))
    answered(chat)
    assert message().text == ANSWER
    assert "Continue" not in labels(chat)


def test_an_answer_that_broke_off_is_kept_and_marked(chat, ollama):
    ollama.script = saying(Say("It is descaled with citric", end="reset"))
    asked_with(chat)
    assert said(chat, "incomplete")
    assert said(chat, "The answer is incomplete")
    assert said(chat, "It is descaled with citric")
    assert {"Continue", "Try again", "Answer with the built-in engine"} <= set(labels(chat))


def test_nothing_goes_elsewhere_before_it_is_allowed(chat, ollama):
    ollama.script = saying(Say(ANSWER))
    asked_with(chat, model=f"ollama:{CLOUD.name}")
    assert said(chat, "Questions and passages would go to ollama.com; you are asked first")
    assert said(chat, "Allow this to leave your machine?")
    assert said(chat, "at ollama.com. Your question and passages of your documents would go there")
    assert ollama.chats == []
    press(chat, "allow-")
    answered(chat)
    assert said(chat, "Questions and passages go to ollama.com")
    assert {asked.body["model"] for asked in ollama.chats} == {CLOUD.name}


def test_remote_models_are_marked_in_the_choice(chat, ollama):
    chat.run()
    until(chat, lambda: any("Cloud" in option for option in model_chip(chat).options))
    for offered in (model_chip(chat).options, regenerate_choices(shared_application().preferences.options())):
        assert any("Gpt Oss 120B Cloud" in option and "runs at ollama" in option for option in offered)
        assert not any("Llama 3" in option and "runs at" in option for option in offered)


def model_chip(chat):
    return next(menu for menu in chat.get("menu_button") if menu.key == "chip_model")


def test_a_missing_model_is_got_in_place_and_asked_again(chat, ollama):
    ollama.models = [NOMIC]
    asked_with(chat, model="ollama:llama3.1:8b")
    assert said(chat, "The model is not available")
    press(chat, "get-")
    assert shared_application().downloads.wait("ollama:llama3.1:8b", PATIENCE).state == "done"
    until(chat, lambda: "Try again" in labels(chat) and not any(label.startswith("Get ") for label in labels(chat)))
    press(chat, "retry-")
    answered(chat)


def test_thoughts_are_folded_and_no_part_of_the_answer(chat, ollama):
    ollama.script = saying(Say(ANSWER, thought=THOUGHT, per_token=0.015))
    asked_with(chat, model=f"ollama:{THINKER.name}", thinking=True)
    assert any(fold.label.startswith("Reasoned for") for fold in chat.expander)
    assert message().text == ANSWER
    assert not said(chat, "The notes name an acid")


@pytest.mark.parametrize(
    ("reply", "words", "ways"),
    [
        pytest.param(
            Say(status=500, error="model requires more system memory (9.1 GiB) than is available (4.2 GiB)"),
            [
                "Not enough memory for the model",
                "it needs 9.1 GiB, and 4.2 GiB are free",
                "choose a smaller model",
                KEPT_QUESTION,
            ],
            {"Try again", "Answer with the built-in engine"},
            id="59-out-of-memory",
        ),
        pytest.param(
            Say(TWENTY, end="bad_line"),
            [
                "Ollama sent a reply that could not be read.",
                "Continue from the text so far, or ask again.",
                KEPT_TEXT,
                "word9",
            ],
            {"Continue", "Try again"},
            id="62-a-line-that-is-not-json",
        ),
    ],
)
def test_a_fault_is_drawn_with_its_remedy_and_its_ways_out(chat, monkeypatch, reply, words, ways):
    with ScriptedOllama() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        add(shared_application(), "brewing.md", NOTES)
        ollama.script = lambda asked: reply if asked.writes else Say(answer_like_a_little_model(asked))
        chat.run()
        ask(chat, "What is the espresso machine descaled with?")
        assert [missing for missing in words if not said(chat, missing)] == []
        assert ways <= set(labels(chat))
        assert not said(chat, "Traceback")
        assert not said(chat, "<h")
        assert not chat.exception
