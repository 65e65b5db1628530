"""How the fault tests ask, and what must hold after each fault."""

from __future__ import annotations

from collections.abc import Callable

from crag.app.application import Application
from crag.options import RunOptions
from crag.runs.trace import Trace
from tests.applications import wait
from tests.doubles import ollama_values
from tests.doubles.little_model import answer_like_a_little_model, embed_words
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Asked, Say

LLAMA = "ollama:llama3.1:8b"
QUESTION = "When is a fragment blacklisted?"
OTHER_QUESTION = "How often is the espresso machine descaled?"
ANSWER = "After two failed recordings the fragment is blacklisted, which means it is never recorded again. [1]"
TWENTY = " ".join(["After two failed recordings the fragment is blacklisted [1],", *(f"word{n}" for n in range(11))])

Script = Callable[[Asked], Say]


def start(application: Application, question: str = QUESTION, conversation: str | None = None, **options):
    """A run that Llama answers, unless the options say otherwise."""
    return application.runs.start(conversation, question, RunOptions(**{"model": LLAMA} | options))


def ask(application: Application, question: str = QUESTION, conversation: str | None = None, **options) -> Trace:
    return wait(start(application, question, conversation, **options))


def when_writing(ollama: ScriptedOllama, *replies: Say, for_ever: bool = False) -> None:
    """These replies come instead of answers, then the usual ones; `for_ever` the last of them again and again."""
    _instead(ollama, lambda asked: asked.writes, replies, for_ever)


def when_grading(ollama: ScriptedOllama, *replies: Say, for_ever: bool = False) -> None:
    """As `when_writing`, for what graders and refiners ask."""
    _instead(ollama, lambda asked: not asked.writes, replies, for_ever)


def _instead(ollama: ScriptedOllama, wanted: Callable[[Asked], bool], replies: tuple[Say, ...], for_ever: bool) -> None:
    usual, left = ollama.script, list(replies)

    def script(asked: Asked) -> Say:
        if not left or not wanted(asked):
            return usual(asked)
        return left[0] if for_ever and len(left) == 1 else left.pop(0)

    ollama.script = script


def mend(ollama: ScriptedOllama) -> None:
    """The server is in good order again."""
    ollama.script = lambda asked: Say(answer_like_a_little_model(asked))
    ollama.models, ollama.embed = [ollama_values.LLAMA, ollama_values.NOMIC], embed_words
    ollama.version = ScriptedOllama.version
    ollama.next_replies.clear()


def assert_all_is_well(application: Application, ollama: ScriptedOllama, conversation: str | None = None) -> None:
    """The next question is answered as ever, by a server that is in order again."""
    mend(ollama)
    trace = ask(application, OTHER_QUESTION, conversation)
    assert (trace.state, trace.outcome, trace.error) == ("done", "documents", "")
    assert "six weeks" in trace.text
