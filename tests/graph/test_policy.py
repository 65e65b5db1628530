"""From verdicts to action: the whole table."""

import pytest

from crag.graph.policy import choose_action
from crag.types import Thresholds, Verdict

THRESHOLDS = Thresholds(0.31, 0.59)


def verdicts(*scores: float | None) -> list[Verdict]:
    return [Verdict(n, THRESHOLDS.verdict_for(score), score, "") for n, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("policy", "scores", "action", "wants_web"),
    [
        ("paper", (0.94, 0.46, 0.07), "correct", False),
        ("paper", (0.59,), "correct", False),
        ("paper", (0.58, 0.31), "ambiguous", True),
        ("paper", (0.30, 0.0), "incorrect", True),
        ("paper", (0.31, 0.0), "ambiguous", True),
        ("paper", (None, 0.0), "ambiguous", True),
        ("paper", (None, None), "ambiguous", True),
        ("paper", (None, 0.9), "correct", False),
        ("paper", (), "incorrect", True),
        ("any", (0.9, 0.8), "correct", False),
        ("any", (0.9, 0.1), "ambiguous", True),
        ("any", (0.9, None), "ambiguous", True),
        ("any", (0.1, 0.2), "incorrect", True),
        ("any", (), "incorrect", True),
        ("none", (0.9, 0.1, 0.0), "correct", False),
        ("none", (0.4, 0.1), "ambiguous", True),
        ("none", (0.1,), "incorrect", True),
        ("off", (), None, False),
        ("off", (0.1,), None, False),
    ],
)
def test_action_and_route(policy, scores, action, wants_web):
    decision = choose_action(policy, verdicts(*scores), THRESHOLDS)
    assert (decision.action, decision.wants_web) == (action, wants_web)


@pytest.mark.parametrize(
    ("policy", "complete", "action"),
    [
        ("paper", False, "ambiguous"),
        ("paper", True, "correct"),
        ("paper", None, "correct"),
        ("any", False, "correct"),
        ("none", False, "correct"),
        ("off", False, None),
    ],
)
def test_only_the_papers_policy_asks_for_a_passage_that_states_everything(policy, complete, action):
    verdict = Verdict(1, "relevant", 0.9, "", complete=complete)
    assert choose_action(policy, [verdict], THRESHOLDS).action == action
    assert choose_action(policy, [verdict.with_ruling("use")], THRESHOLDS).action == (action and "correct")


@pytest.mark.parametrize(
    ("policy", "ruling", "action"),
    [("paper", None, "ambiguous"), ("paper", "use", "correct"), ("any", None, "correct"), ("none", None, "correct")],
)
def test_only_the_papers_policy_asks_whether_passages_suffice_unless_the_user_chose_one(policy, ruling, action):
    verdict = Verdict(1, "relevant", 0.9, "")
    chosen = verdict.with_ruling(ruling) if ruling else verdict
    assert choose_action(policy, [chosen], THRESHOLDS, "insufficient").action == action


def test_the_reason_says_that_no_passage_states_everything():
    decision = choose_action("paper", [Verdict(1, "relevant", 0.9, "", complete=False)], THRESHOLDS)
    assert decision.reason.startswith("1 of 1 passage is relevant, but no single sentence names everything you ask for")


@pytest.mark.parametrize(
    ("policy", "scores", "reason"),
    [
        ("paper", (0.94, 0.46, 0.1, 0.0), "1 of 4 passages is relevant, best 0.94 ≥ 0.59."),
        ("paper", (0.06, 0.0), "0 of 2 passages are relevant, best 0.06 < 0.31: no answer found in your documents."),
        ("paper", (0.46, 0.0), "Best 0.46, between 0.31 and 0.59: your documents may cover this."),
        ("paper", (), "No passages found: no answer found in your documents."),
        ("paper", (None,), "No passage could be graded, so all count as partly relevant."),
        ("paper", (None, 0.1), "0 of 2 passages are relevant, best 0.10, and some passages could not be graded"),
        ("any", (0.46, 0.0), "Best 0.46, between 0.31 and 0.59: your documents may cover this."),
        ("any", (0.9, 0.0), "1 of 2 passages is relevant, but strict grading requires all of them"),
    ],
)
def test_the_reason_holds_the_figures(policy, scores, reason):
    assert choose_action(policy, verdicts(*scores), THRESHOLDS).reason.startswith(reason)


@pytest.mark.parametrize(
    ("thresholds", "score", "reason"),
    [
        (Thresholds(0.3, 0.999), 0.9985, "Best 0.9985, between 0.30 and 0.999: your documents may cover this."),
        (Thresholds(0.3, 0.7), 0.6996, "Best 0.6996, between 0.30 and 0.70: your documents may cover this."),
        (Thresholds(0.3, 0.7), 0.2999, "0 of 1 passage is relevant, best 0.2999 < 0.30"),
        (Thresholds(0.3, 0.7), 0.7049, "1 of 1 passage is relevant, best 0.70 ≥ 0.70"),
    ],
)
def test_a_figure_stands_on_the_side_of_a_threshold_where_it_is(thresholds, score, reason):
    verdict = Verdict(1, thresholds.verdict_for(score), score, "")
    assert choose_action("paper", [verdict], thresholds).reason.startswith(reason)


def test_the_reason_says_what_the_user_overruled():
    used, other = (Verdict(n, "irrelevant", 0.1, "") for n in range(2))
    assert choose_action("paper", [used.with_ruling("use"), other], THRESHOLDS).reason == (
        "You used 1. 1 of 2 passages is relevant."
    )
    assert choose_action("paper", [used.with_ruling("drop"), other], THRESHOLDS).reason == (
        "You left out 1. 0 of 2 passages are relevant: no answer found in your documents."
    )
    assert choose_action("paper", [used.with_ruling("drop"), *verdicts(0.94)], THRESHOLDS).reason == (
        "You left out 1. 1 of 2 passages is relevant, best 0.94 ≥ 0.59."
    )
