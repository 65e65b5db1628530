"""Whether passages suffice, asked of a language model: how its word is read, and what it is shown."""

from __future__ import annotations

import math

import pytest

from crag.cancellation import Cancellation
from crag.grading.sufficiency import ModelJudge, SeparateAssessor, read_choice
from crag.models.prompt_fit import fit_prompt
from crag.protocols import TokenChoice
from crag.translation import translate_text, use_language
from crag.types import Assessment, Grade, Knowledge, Turn
from tests.doubles.engine import KeepEverySecond, TableGrader, passage
from tests.doubles.scripted_model import ScriptedModel


def logs(**shares: float) -> dict[str, float]:
    return {token: math.log(share) for token, share in shares.items()}


@pytest.mark.parametrize(
    ("text", "alternatives", "choice", "share"),
    [
        ("Yes", logs(Yes=0.6, No=0.2), "sufficient", 0.75),
        ("No", logs(No=0.4, 아니=0.2, Yes=0.2), "insufficient", 0.75),
        ("Dis", logs(Dis=0.6, Yes=0.2), "conflicting", 0.75),
        ("Un", logs(Un=0.8, No=0.2), "unsure", 0.8),
        ("Yes", logs(Yes=0.4, No=0.35, Dis=0.25), "unsure", None),
        ("The", logs(The=0.9, Yes=0.05), None, None),
        ("Disagree.", {}, "conflicting", None),
        ('{"verdict": "no"}', logs(The=0.9), "insufficient", None),
        ("<think>Yes</think>Unsure", {}, "unsure", None),
        ("", {}, None, None),
    ],
)
def test_a_certainty_is_claimed_only_if_the_likely_tokens_hold_the_choices(text, alternatives, choice, share) -> None:
    meant, probability = read_choice(TokenChoice(text, alternatives))
    assert (meant, probability) == (choice, share if share is None else pytest.approx(share))


def judge(model: ScriptedModel, *numbers: int, question: str = "What holds?", **written_from: object) -> Assessment:
    graded = [(passage(n, f"Fact{n} holds. Chaff. Fact{n} lasts."), Grade(0.9, "")) for n in numbers]
    return ModelJudge(model, KeepEverySecond()).judge(question, graded, Cancellation(), **written_from)


@pytest.mark.parametrize(
    ("replies", "sufficiency", "said"),
    [
        (["Yes"], "sufficient", "certainty unknown"),
        (["The passages", "No"], "insufficient", "certainty unknown"),
        (["The passages", "Well"], None, "could not be read"),
        (["Unsure"], None, "cannot tell"),
    ],
)
def test_a_model_that_says_something_else_is_made_to_choose_once(replies, sufficiency, said) -> None:
    left = list(replies)
    model = ScriptedModel(lambda _: left.pop(0))
    assessment = judge(model, 1)
    assert (assessment.sufficiency, left, model.schemas[1:]) == (
        sufficiency,
        [],
        [{"enum": ["yes", "no", "disagree", "unsure"]}] * (len(replies) - 1),
    )
    assert said in assessment.reason


def test_the_reason_is_shown_in_the_language_of_the_screen() -> None:
    model = ScriptedModel(lambda _: "No", alternatives=lambda _: logs(No=0.9, Yes=0.1))
    reason = judge(model, 1, question="무엇이 맞습니까?").reason
    assert reason == "90% sure that the excerpts do not answer this."
    with use_language("ko"):
        assert translate_text(reason) == "발췌에 답이 없다고 90% 확신합니다."


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("history", [(), (Turn("user", "What is it?"), Turn("assistant", "A fact [1]."))])
def test_the_prompt_begins_like_that_of_the_answer(refine, history) -> None:
    model = ScriptedModel(lambda _: "Yes")
    judge(model, 1, 2, refine=refine, history=history)
    used = "Fact{0} holds.\nFact{0} lasts." if refine else "Fact{0} holds. Chaff. Fact{0} lasts."
    knowledge = [Knowledge(n, passage(n), used.format(n)) for n in (1, 2)]
    answer = fit_prompt(
        "What holds?", knowledge, history, window=8192, answer_limit=512, count_tokens=model.count_tokens
    ).prompts
    (asked,) = model.asked
    assert tuple(asked[:-1]) == answer[:-1]
    assert asked[-1].text.startswith(answer[-1].text)


def test_without_a_candidate_nothing_is_asked() -> None:
    model = ScriptedModel(lambda _: "Yes")
    assessor = SeparateAssessor(TableGrader({1: 0.1}), ModelJudge(model, KeepEverySecond()))
    assert len(list(assessor.assess("What holds?", [passage(1)], Cancellation()))) == 1
    assert model.asked == []


@pytest.mark.parametrize("said", [10, 4000])
def test_passages_and_history_are_cut_to_the_window(said) -> None:
    model = ScriptedModel(lambda _: "Yes")
    model.window = 1500
    judge(model, *range(1, 60), refine=False, history=[Turn("user", "x" * said)])
    (asked,) = model.asked
    assert sum(model.count_tokens(prompt.text) for prompt in asked) < model.window
