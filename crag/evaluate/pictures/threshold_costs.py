"""What other thresholds would have refused, answered and sent to the web, from stored scores."""

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
    """The scores, in 0..1, that decide the route of each question.

    `better_answered` and `better_refused` hold the best score of each question of that kind: a question is refused if
    its best score is below the lower threshold. A question is answered from the documents alone if its score in
    `deciding` reaches the upper threshold; otherwise a web search is wanted. That is the best score, or the lowest
    under the policy `any`.
    """

    better_answered: tuple[float, ...]
    better_refused: tuple[float, ...]
    deciding: tuple[float, ...]

    def refused_wrongly(self, lower: float) -> float | None:
        """Return the share of the questions better answered that are refused; None without any."""
        return _share_below(self.better_answered, lower)

    def answered_wrongly(self, lower: float) -> float | None:
        """Return the share of the questions better refused that are answered; None without any."""
        below = _share_below(self.better_refused, lower)
        return None if below is None else 1 - below

    def sent_to_web(self, upper: float) -> float | None:
        """Return the share of all questions for which a web search is wanted; None without any."""
        return _share_below(self.deciding, upper)


def threshold_costs(results: Sequence[Result], policy: PolicyName, cutoffs: Cutoffs) -> ThresholdCosts:
    """Compute the costs from the results of one variant under this policy.

    Better refused are unanswerable questions and those answered wrongly. All other graded questions count as better
    answered.
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
    """Return the lowest score among the passages; one that could not be graded is never relevant."""
    return min((grade.score or 0.0 for grade in result.scored.grades), default=result.scored.best or 0.0)


def _share_below(scores: Sequence[float], threshold: float) -> float | None:
    return sum(score < threshold for score in scores) / len(scores) if scores else None
