"""What is drawn for a fault: its title, what happened, what mends it and what was kept; nothing of its inside."""

from __future__ import annotations

import pytest

from pages.parts.services import application
from tests.doubles.little_model import answer_like_a_little_model
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say
from tests.faults.asking import TWENTY
from tests.pages.conftest import NOTES, add, ask, labels, said

KEPT_QUESTION, KEPT_TEXT = "Your question is kept.", "The text so far is kept."


@pytest.mark.parametrize(
    ("reply", "words", "ways"),
    [
        pytest.param(
            Say(status=500, error="model requires more system memory (9.1 GiB) than is available (4.2 GiB)"),
            [
                "The model does not fit",
                "it needs 9.1 GiB, and 4.2 GiB are free",
                "choose a smaller model",
                KEPT_QUESTION,
            ],
            {"Try again", "Answer with the built-in engine"},
            id="59-out-of-memory",
        ),
        pytest.param(
            Say(status=404, body=b"<h1>Not Found</h1>"),
            ["does not act like Ollama", "Set OLLAMA_HOST to the address of your Ollama server.", KEPT_QUESTION],
            {"Try again", "Answer with the built-in engine"},
            id="another-web-server",
        ),
        pytest.param(
            Say(TWENTY, end="bad_line"),
            [
                "Ollama sent a reply that cannot be read.",
                "Continue from what had come, or ask again.",
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
        add(application(), "brewing.md", NOTES)
        ollama.script = lambda asked: reply if asked.writes else Say(answer_like_a_little_model(asked))
        chat.run()
        ask(chat, "What is the espresso machine descaled with?")
        assert [missing for missing in words if not said(chat, missing)] == []
        assert ways <= set(labels(chat))
        assert not said(chat, "Traceback")
        assert not said(chat, "<h")
        assert not chat.exception
