"""Models that think aloud: the thought is told apart from the answer, has tokens of its own, and is never a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.models.chat_models import THINKING_TOKENS, open_chat_model
from crag.models.reply_reader import ThoughtSplitter
from crag.options import ModelParameters
from crag.protocols import ReplyPiece
from crag.settings import Settings
from crag.types import Prompt
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import LLAMA, Model, Say

ASK = [Prompt("user", "What is the capital of France?")]
QWEN = Model("qwen3:8b", "qwen3", thinks=True, digest="e" * 64)
SCHEMA = {"type": "object"}


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThoughtSplitter()
    told = [*(splitter.split(piece) for piece in pieces), splitter.rest()]
    return "".join(text for text, _ in told), "".join(thought for _, thought in told)


@pytest.mark.parametrize(
    ("reply", "text", "thought"),
    [
        ("<think>Hm, France. </think> Paris.", "Paris.", "Hm, France. "),
        ("\n<think>\nHm</think>\n\n<think>more</think>\nParis </think>.", "Paris </think>.", "\nHmmore"),
        ("<think>never ends, or </thi", "", "never ends, or </thi"),
        ("<think></think>", "", ""),
        ("The tag <think> opens a thought.", "The tag <think> opens a thought.", ""),
        ("<thin ice", "<thin ice", ""),
        ("  <th", "<th", ""),
        (" \n ", "", ""),
        ("a < b", "a < b", ""),
        ("</think>\n\nParis.", "Paris.", ""),
        ("</th", "</th", ""),
    ],
)
def test_a_leading_thought_is_told_apart_however_it_comes(reply: str, text: str, thought: str) -> None:
    for size in (1, 2, 3, 7, 100):
        assert split(*(reply[at : at + size] for at in range(0, len(reply), size))) == (text, thought)


def streamed(
    settings: Settings, name: str, *, thinking: bool, tuning: ModelParameters = ModelParameters()
) -> list[ReplyPiece]:
    model = open_chat_model(f"ollama:{name}", settings, tuning=tuning, thinking=thinking)
    return list(model.stream(ASK, Cancellation()))


def told(pieces: list[ReplyPiece]) -> tuple[str, str]:
    return "".join(piece.text for piece in pieces), "".join(piece.thought for piece in pieces)


def test_what_a_model_thinks_comes_first_and_beside_its_answer(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("It is Paris.", thought="Hm, let me see.")
    pieces = streamed(settings, "qwen3:8b", thinking=True)
    assert told(pieces) == ("It is Paris.", "Hm, let me see.")
    assert len([piece for piece in pieces if piece.thought]) > 1
    assert ollama.chats[0].body["think"] is True


def test_thoughts_have_tokens_of_their_own_within_the_window(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.models = [QWEN, replace(QWEN, name="tiny:1b", context_length=2048)]
    for name, expected in (("qwen3:8b", 1024 + THINKING_TOKENS), ("tiny:1b", 1024 + 2048 // 4)):
        streamed(settings, name, thinking=True)
        assert ollama.chats[-1].body["options"]["num_predict"] == expected
        assert open_chat_model(f"ollama:{name}", settings, thinking=True).answer_limit == expected
    assert streamed(settings, "qwen3:8b", thinking=False)
    assert ollama.chats[-1].body["options"]["num_predict"] == 1024


def test_what_is_not_wanted_is_left_out(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("<think>Hm.</think>Paris.", thought="Hm, let me see.")
    assert told(streamed(settings, "qwen3:8b", thinking=False)) == ("Paris.", "")
    assert ollama.chats[0].body["think"] is False


def test_a_thought_in_the_text_is_told_where_it_is_wanted(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.script = lambda asked: Say("<think>Hm, France.</think> It is Paris.")
    assert told(streamed(settings, "llama3.1:8b", thinking=True)) == ("It is Paris.", "Hm, France.")


@pytest.mark.parametrize("model", [LLAMA, replace(LLAMA, capabilities=())], ids=["cannot", "does not tell"])
def test_a_model_that_cannot_think_is_not_asked_to(ollama: ScriptedOllama, settings: Settings, model: Model) -> None:
    """A real server answers 400 to such a wish."""
    ollama.models = [model]
    ollama.script = lambda asked: Say("Paris.")
    assert told(streamed(settings, "llama3.1:8b", thinking=True)) == ("Paris.", "")
    assert ollama.chats[0].body["think"] is False
    assert ollama.chats[0].body["options"]["num_predict"] == 1024


def test_verdicts_are_given_without_thinking(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say('{"score": 1}' if asked.schema else "Yes", thought="No, not at all.")
    model = open_chat_model("ollama:qwen3:8b", settings, thinking=True)
    assert model.complete(ASK, Cancellation(), schema=SCHEMA).text == '{"score": 1}'
    assert model.first_token(ASK, Cancellation()).text == "Yes"
    assert [asked.body["think"] for asked in ollama.chats] == [False, False]


def test_a_model_that_only_thought_has_written_nothing(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("Paris.", thought=" ".join(f"Hm{n}." for n in range(5_000)))
    pieces = streamed(settings, "qwen3:8b", thinking=True, tuning=ModelParameters(answer_limit=100))
    assert told(pieces)[0] == ""
    assert pieces[-1].usage is not None
    assert pieces[-1].usage.finish_reason == "thought"


def test_a_thought_that_goes_round_in_circles_is_ended(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.models = [QWEN]
    ollama.script = lambda asked: Say("Paris.", thought="But wait. " * 900, unlimited=True)
    pieces = streamed(settings, "qwen3:8b", thinking=True)
    assert pieces[-1].usage is not None
    assert (told(pieces)[0], pieces[-1].usage.finish_reason, pieces[-1].repeated) == ("", "repetition", 0)
    assert len(told(pieces)[1]) < 800
