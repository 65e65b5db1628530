"""What thresholds would refuse, answer and send to the web, had they lain elsewhere: from the scores that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.evaluate.figures.verdicts import right
from crag.evaluate.pictures.distributions import once
from crag.evaluate.scorers.routes import is_answerable
from crag.evaluate.values import Cutoffs, Result
from crag.options import PolicyName


@dataclass(frozen=True, slots=True)
class ThresholdCosts:
    """The scores, in 0..1, that decide on each question.

    `better_answered` and `better_refused` hold the best scores of the questions of either kind: a question is refused
    where its best score is below the lower threshold. `deciding`: it is answered from the documents alone where this
    score reaches the upper one; else the web is wanted. That is the best one, under the policy `any` the lowest.
    """

    better_answered: tuple[float, ...]
    better_refused: tuple[float, ...]
    deciding: tuple[float, ...]

    def refused_wrongly(self, lower: float) -> float | None:
        """The share of the questions better answered that are refused; None where there is no such question."""
        return _share_below(self.better_answered, lower)

    def answered_wrongly(self, lower: float) -> float | None:
        """The share of the questions better refused that are answered."""
        below = _share_below(self.better_refused, lower)
        return None if below is None else 1 - below

    def sent_to_web(self, upper: float) -> float | None:
        """The share of all questions for which the web is wanted."""
        return _share_below(self.deciding, upper)


def threshold_costs(results: Sequence[Result], policy: PolicyName, cutoffs: Cutoffs) -> ThresholdCosts:
    """Of the results of one variant under this policy.

    Better refused is what cannot be answered, and what was answered and not right; all that was graded else is better
    answered, as long as it is not known otherwise.
    """
    graded = [one for one in once(results) if one.scored.best is not None]
    refusable = [_is_better_refused(one, cutoffs) for one in graded]
    best = [one.scored.best or 0.0 for one in graded]
    return ThresholdCosts(
        tuple(score for score, refuse in zip(best, refusable, strict=True) if not refuse),
        tuple(score for score, refuse in zip(best, refusable, strict=True) if refuse),
        tuple(_lowest(one) for one in graded) if policy == "any" else tuple(best),
    )


def _is_better_refused(result: Result, cutoffs: Cutoffs) -> bool:
    if is_answerable(result.example) is False:
        return True
    return result.scored.outcome != "not_answered" and right(result, cutoffs) is False


def _lowest(result: Result) -> float:
    """The score of the passage that is graded lowest; one that could not be judged is never relevant."""
    return min((grade.score or 0.0 for grade in result.scored.grades), default=result.scored.best or 0.0)


def _share_below(scores: Sequence[float], threshold: float) -> float | None:
    return sum(score < threshold for score in scores) / len(scores) if scores else None
