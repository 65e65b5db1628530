"""A question three times as long as the window: cuts are reported, and the question itself reaches the model.

The server counts each prompt itself, in tokens of Llama with the marks of its chat format.
"""

from __future__ import annotations

from itertools import count

import pytest

from crag.errors import BadRequest
from crag.models.token_counts import load_llama_tokenizer
from crag.options import ModelParameters
from tests.doubles.ollama_values import Asked, Model, Say
from tests.doubles.timed_ollama import rendered
from tests.faults.asking import ANSWER, QUESTION, ask, start

ASKS = {
    "english": "How often is the espresso machine in the kitchen descaled?",
    "korean": "주방에 있는 에스프레소 기계는 얼마나 자주 석회를 제거하나요?",
    "chinese": "厨房里的浓缩咖啡机多久除垢一次？",
}
FILLER = {
    "english": "In town {} the harbour was opened by an engineer in the spring of that year. ",
    "korean": "{}번째 도시의 항구는 그해 봄에 한 기술자가 열었다고 한다. ",
    "chinese": "第{}座城市的港口是那年春天由一位工程师开放的。",
}
MANUAL = " ".join(
    f"Step {n}: the espresso machine in the kitchen is descaled with {n} grams of citric acid." for n in range(60)
)
YES = '{"verdict": "yes", "reason": "It says so.", "sentence": "", "keep": [1], "1": 9, "2": 9, "3": 9, "4": 9}'


@pytest.fixture(params=[2048, 8192], ids=lambda window: f"window-{window}")
def window(request):
    return request.param


@pytest.fixture
def library(application, ollama):
    """The application with a document whose passages are long, and a server that finds all of them of use."""
    application.library.pipeline.add_bytes("manual.md", MANUAL.encode())
    ollama.script = say_yes
    return application


def say_yes(asked: Asked) -> Say:
    """Every passage is relevant; the answer, which the manual does not hold, is covered only in part."""
    text = ANSWER if asked.writes else YES if asked.schema else "Yes"
    return Say(text, prompt_tokens=len(rendered(asked.body)))


def long_question(language: str, window: int, ask_at: str) -> str:
    """Three windows of text by the count of the server, with what is asked at its beginning or at its end."""
    tokens, sentences = 0, []
    for number in count():
        sentences.append(FILLER[language].format(number))
        tokens += load_llama_tokenizer().count(sentences[-1])
        if tokens >= 3.3 * window:  # joined, they are somewhat fewer
            break
    text = "".join(sentences).strip()
    return f"{ASKS[language]} {text}" if ask_at == "beginning" else f"{text} {ASKS[language]}"


def tuned(window: int) -> dict[str, ModelParameters]:
    tuning = ModelParameters(window=window)
    return {"answering": tuning, "grading": tuning, "rewriting": tuning}


def assert_nothing_was_cut(ollama, asked_for: str, window: int) -> None:
    """Each prompt and its reply fit the window as the server counts, and each holds what is asked."""
    assert ollama.chats
    for chat in ollama.chats:
        options = chat.body["options"]
        assert options["num_ctx"] == window
        assert len(rendered(chat.body)) + options["num_predict"] <= window
        assert asked_for in chat.prompt


def assert_it_is_told(trace, question: str, window: int) -> None:
    """By the meter and by the note, with figures that agree."""
    assert trace.shortened.tokens >= 3 * window
    assert 0 < trace.shortened.left_out < trace.shortened.tokens
    whole, left_out = f"{trace.shortened.tokens:,}", f"{trace.shortened.left_out:,}"
    assert (
        f"Your question is long: {left_out} of its {whole} tokens, from the middle, were left out "
        "to make room for passages. To search all of it, add it as a document."
    ) in trace.notes
    assert trace.question == question, "it is kept whole"
    assert trace.prompt.window == window
    assert 0 < trace.prompt.tokens < window
    dropped = [note for note in trace.notes if "excerpt" in note and "left out" in note]
    assert bool(dropped) == bool(trace.prompt.left_out)


@pytest.mark.parametrize("ask_at", ["beginning", "end"])
@pytest.mark.parametrize("language", ASKS)
def test_three_times_the_window(library, ollama, language, ask_at, window):
    question = long_question(language, window, ask_at)
    trace = ask(library, question, grader="score", **tuned(window))
    assert (trace.state, trace.outcome, trace.text) == ("done", "documents_partly", ANSWER)
    assert_nothing_was_cut(ollama, ASKS[language], window)
    assert_it_is_told(trace, question, window)
    assert not trace.usage.prompt_cut


@pytest.mark.parametrize("grader", ["explained", "listwise"])
def test_with_every_grader(library, ollama, grader, monkeypatch):
    monkeypatch.setitem(FILLER, "english", "In kitchen {} the espresso machine was bought in the spring of that year. ")
    question = long_question("english", 2048, "end")
    trace = ask(library, question, grader=grader, **tuned(2048))
    assert trace.state == "done"
    assert trace.verdicts
    assert_nothing_was_cut(ollama, ASKS["english"], 2048)
    assert_it_is_told(trace, question, 2048)


def test_after_a_long_conversation(library, ollama, window):
    """The history is dropped first, in whole messages, and the answer says so."""
    conversation = library.conversations.create().id
    for number in range(3):
        ask(
            library,
            f"{QUESTION} {FILLER['english'].format(number) * 20}",
            conversation,
            grader="score",
            **tuned(window),
        )
    ollama.requests.clear()
    question = long_question("english", window, "end")
    trace = ask(library, question, conversation, grader="score", **tuned(window))
    assert (trace.state, trace.outcome) == ("done", "documents_partly")
    assert_nothing_was_cut(ollama, "", window)
    assert ASKS["english"] in ollama.chats[0].prompt
    assert_it_is_told(trace, question, window)
    assert library.conversations.messages(conversation)[-2].text == question
    remembered = len(ollama.chats[-1].body["messages"]) - 2  # the last one writes the answer
    forgotten = [note for note in trace.notes if "earlier message" in note]
    if window == 2048:
        assert remembered < 4
        left_out = f"{4 - remembered} earlier messages"
        assert forgotten == [f"{left_out} left out: the window of 2,048 tokens is full."]
    else:
        assert (remembered, forgotten) == (4, [])


@pytest.mark.parametrize("ask_at", ["beginning", "end"])
def test_it_is_graded_by_what_it_asks(application, ollama, ask_at, monkeypatch):
    """With the default grader, whose built-in part would find nothing like the whole text."""
    monkeypatch.setitem(ASKS, "english", "Who built the lighthouse at Cape Wrath?")
    application.library.pipeline.add_bytes(
        "cape.md", b"The lighthouse at Cape Wrath was built by Clara Stevenson in 1828."
    )
    question = long_question("english", 2048, ask_at)
    assert ask(application, question, model="builtin").outcome == "quoted"
    trace = ask(application, question)
    assert (trace.condensed, trace.action) == (ASKS["english"], "correct")
    assert question[:40] in ollama.chats[-1].prompt, "who writes the answer is given the text, too"


@pytest.mark.parametrize("language", ASKS)
def test_the_built_in_engine(library, ollama, language):
    """It has no window, but reads no more than so much of a question, and says so, too."""
    question = long_question(language, 8192, "end")
    trace = ask(library, question, model="builtin")
    assert (trace.state, trace.error) == ("done", "")
    assert trace.shortened.left_out
    assert trace.notes[0].startswith(
        f"Your question is long: {trace.shortened.left_out:,} of its {trace.shortened.tokens:,} tokens, "
    )
    assert ollama.chats == []


def test_a_smaller_model_for_one_role_decides(library, ollama):
    """The question is fitted to the smallest window of all that are to read it."""
    tunings = tuned(8192) | {"grading": ModelParameters(window=2048)}
    small = Model("llama3.2:1b", digest="f" * 64)
    ollama.models = [*ollama.models, small]
    question = long_question("english", 2048, "end")
    trace = ask(library, question, grader="score", grader_model="ollama:llama3.2:1b", **tunings)
    assert trace.outcome == "documents_partly"
    assert trace.shortened.left_out
    for chat in ollama.chats:
        assert len(rendered(chat.body)) <= chat.body["options"]["num_ctx"]
        assert ASKS["english"] in chat.prompt


def test_more_than_can_be_taken_is_refused_in_words(library, ollama):
    with pytest.raises(BadRequest) as refused:
        start(library, "why " * 60_000)
    assert refused.value.message == "The question has 239,999 characters; at most 200,000 can be asked."
    assert refused.value.remedy == "Shorten it, or add the long part as a document and ask about it."
    assert ollama.chats == []
