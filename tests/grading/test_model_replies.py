"""Replies of graders that do not keep to the form, over real HTTP: one retry, then unknown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crag.cancellation import Cancellation
from crag.grading.explained import ExplainedGrader
from crag.grading.listwise import ListwiseGrader
from crag.grading.model_replies import UNREADABLE
from crag.grading.score import ScoreGrader
from crag.models.chat_client import MAX_ATTEMPTS_WHEN_BUSY
from crag.models.chat_models import open_chat_model
from crag.protocols import ChatModel, Grader
from crag.settings import Settings
from crag.types import Grade
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import Say
from tests.grading.passages import ENGLISH, passages

GRADERS: dict[str, tuple[Callable[[ChatModel], Grader], str]] = {
    "score": (ScoreGrader, '{"verdict": "yes"}'),
    "explained": (ExplainedGrader, '{"sentence": "", "reason": "It says so.", "verdict": "yes"}'),
    "listwise": (ListwiseGrader, '{"1": 9}'),
}
REPLIES = {
    "another word": '{"score": "maybe"}',
    "thought": "<think>Yes? The lighthouse is named, so yes",
    "spaces": " " * 10_000,
    "half a JSON": '{"verdict"',
}


def judge(ollama: ScriptedOllama, grader: str) -> Grade:
    model = open_chat_model("ollama:llama3.1:8b", Settings(ollama_host=ollama.url))
    question = "Who built the Halden lighthouse?"
    ((_, grade),) = GRADERS[grader][0](model).grade(question, passages(ENGLISH[:1]), Cancellation())
    return grade


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("grader", GRADERS)
def test_after_one_more_try_the_verdict_is_unknown(ollama: ScriptedOllama, grader: str, reply: str) -> None:
    ollama.script = lambda asked: Say(reply)
    grade = judge(ollama, grader)
    assert (grade.score, grade.reason) == (None, UNREADABLE.reason)
    assert len(ollama.chats) == 2
    assert grade.usage is not None
    assert grade.usage.prompt_tokens or grade.usage.finish_reason == "repetition"  # ended before the server counted


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("grader", GRADERS)
def test_the_second_try_counts(ollama: ScriptedOllama, grader: str, reply: str) -> None:
    ollama.script = lambda asked: Say(GRADERS[grader][1] if "could not be read" in asked.prompt else reply)
    assert judge(ollama, grader).score == pytest.approx(1.0, abs=0.02)
    assert len(ollama.chats) == 2
    assert ollama.chats[1].schema
    assert len({chat.body["options"]["num_ctx"] for chat in ollama.chats}) == 1


@pytest.mark.parametrize("grader", ["score", "explained"])
def test_a_bare_yes_is_read(ollama: ScriptedOllama, grader: str) -> None:
    ollama.script = lambda asked: Say("Yes.")
    assert judge(ollama, grader).score == pytest.approx(1.0, abs=0.02)
    assert len(ollama.chats) == 1


def test_a_bare_yes_says_nothing_of_a_list(ollama: ScriptedOllama) -> None:
    ollama.script = lambda asked: Say("Yes.")
    assert judge(ollama, "listwise").score is None


@pytest.mark.parametrize("grader", GRADERS)
def test_a_thought_before_the_reply_is_left_out(ollama: ScriptedOllama, grader: str) -> None:
    ollama.script = lambda asked: Say(f"<think>No, no, no.</think>{GRADERS[grader][1]}")
    assert judge(ollama, grader).score == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("grader", GRADERS)
def test_a_server_that_stays_busy_leaves_it_unknown(
    ollama: ScriptedOllama, grader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crag.models.chat_client.FIRST_HALF_PAUSE", 0.01)
    ollama.fail_next(MAX_ATTEMPTS_WHEN_BUSY, 503)
    grade = judge(ollama, grader)
    assert grade.score is None
    assert "busy" in grade.reason
