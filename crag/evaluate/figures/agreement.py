"""Agreement of scorers with human labels, and the score cutoffs fitted to those labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from crag.evaluate.figures.statistics import bootstrap, cohen_kappa
from crag.evaluate.figures.verdicts import right
from crag.evaluate.values import Cutoffs, Result

if TYPE_CHECKING:
    from crag.evaluate.figures.statistics import Array, Statistic

Scorer = Literal["judge", "text"]
SCORERS: tuple[Scorer, ...] = ("judge", "text")
_PARTS = 10
# Questions labelled right, and as many labelled wrong, before a cutoff moves: one of each kind per fold.
LEAST_OF_EACH = _PARTS
_CANDIDATES = tuple(step / 20 for step in range(1, 20))  # every second one falls between two points of a judge


@dataclass(frozen=True, slots=True)
class Agreement:
    """A scorer's agreement with human labels on `n` answers that have both; `agree` is the share of equal verdicts.

    Cohen's `kappa` corrects for agreement by chance; `low` to `high` is its 95 % bootstrap interval over questions. All
    three are None if all labels are the same, since agreement by chance is then undefined.
    """

    scorer: Scorer
    title: str
    kappa: float | None
    agree: float
    n: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class _Labelled:
    """One answer with a label and a scorer's verdict; `verdicts` are those at each candidate cutoff."""

    question: str
    label: bool
    verdict: bool
    verdicts: tuple[bool, ...]


def agreement(results: Sequence[Result], cutoffs: Cutoffs) -> list[Agreement]:
    """Return the agreement of each judge model, then of text comparison; scorers without labelled answers are left out.

    With cutoffs fitted to the same labels, the result is slightly optimistic.
    """
    judges = dict.fromkeys(one.judged.model for one in results if one.judged and one.judged.score is not None)
    found = []
    for model in judges:
        own = [one for one in results if one.judged and one.judged.model == model]
        found.append(_agreement("judge", f"Judge {model.partition('@')[0]}", _labelled(own, "judge", cutoffs)))
    found.append(_agreement("text", "Comparing texts", _labelled(results, "text", cutoffs)))
    return [one for one in found if one.n]


def fit_cutoffs(results: Sequence[Result]) -> Cutoffs:
    """Return the cutoffs that agree best with human labels; each keeps its default unless another is clearly better.

    A cutoff moves if at least ten questions were labelled right and ten wrong, and if ten-fold cross-validation shows
    better agreement (Cohen's kappa) than the default; fitted and evaluated on the same labels, any cutoff would look
    better. Among equally good ones, the nearest to the default wins. All judge models share one cutoff.
    """
    usual = Cutoffs()
    return Cutoffs(
        judge=_fit(_labelled(results, "judge", usual), usual.judge),
        text=_fit(_labelled(results, "text", usual), usual.text),
    )


def _labelled(results: Sequence[Result], scorer: Scorer, cutoffs: Cutoffs) -> list[_Labelled]:
    found = []
    for result in results:
        verdict = _verdict(result, scorer, cutoffs)
        if result.label is not None and verdict is not None:
            tried = (right(_alone(result, scorer), Cutoffs(cutoff, cutoff)) for cutoff in _CANDIDATES)
            found.append(_Labelled(result.example.key, result.label, verdict, tuple(map(bool, tried))))
    return found


def _verdict(result: Result, scorer: Scorer, cutoffs: Cutoffs) -> bool | None:
    if scorer == "judge" and (result.judged is None or result.judged.score is None):
        return None
    return right(_alone(result, scorer), cutoffs)


def _alone(result: Result, scorer: Scorer) -> Result:
    return result if scorer == "judge" else replace(result, judged=None)


def _agreement(scorer: Scorer, title: str, labelled: Sequence[_Labelled]) -> Agreement:
    labels, verdicts = [one.label for one in labelled], [one.verdict for one in labelled]
    agree = sum(one.label == one.verdict for one in labelled) / max(1, len(labelled))
    value = cohen_kappa(labels, verdicts) if len(set(labels)) == 2 else None
    low, high = (None, None) if value is None else _interval(labelled)
    return Agreement(scorer, title, value, agree, len(labelled), low, high)


def _interval(labelled: Sequence[_Labelled]) -> tuple[float, float]:
    """Resample questions, not answers, since repetitions of one question are similar."""
    places = {question: place for place, question in enumerate(dict.fromkeys(one.question for one in labelled))}
    kappa = _weighted_kappa(labelled, [places[one.question] for one in labelled])
    found = bootstrap(kappa, len(places), bounds=(-1.0, 1.0))
    return found.low, found.high


def _weighted_kappa(labelled: Sequence[_Labelled], owners: Sequence[int]) -> Statistic:
    import numpy as np

    label = np.array([one.label for one in labelled], dtype=float)
    verdict = np.array([one.verdict for one in labelled], dtype=float)

    def figure(weights: Array) -> Array:
        weight = weights[:, list(owners)]
        weight = weight / weight.sum(axis=1, keepdims=True)
        agreed = weight @ (label == verdict)
        of_label, of_verdict = weight @ label, weight @ verdict
        by_chance = of_label * of_verdict + (1 - of_label) * (1 - of_verdict)
        found: Array = (agreed - by_chance) / (1 - by_chance)
        return found

    return figure


def _fit(labelled: Sequence[_Labelled], usual: float) -> float:
    fewest = min(len({one.question for one in labelled if one.label is kind}) for kind in (True, False))
    if fewest < LEAST_OF_EACH:
        return usual
    labels = [one.label for one in labelled]
    before, after = (
        cohen_kappa(labels, verdicts) or 0.0
        for verdicts in ([one.verdict for one in labelled], _crossed(labelled, usual))
    )
    return _CANDIDATES[_best(labelled, usual)] if after > before else usual


def _crossed(labelled: Sequence[_Labelled], usual: float) -> list[bool]:
    """Return the verdict on each answer by the cutoff fitted without its fold of the questions."""
    by_kind = dict.fromkeys(one.question for one in sorted(labelled, key=lambda one: one.label))
    part = {question: place % _PARTS for place, question in enumerate(by_kind)}
    fitted = [_best([one for one in labelled if part[one.question] != own], usual) for own in range(_PARTS)]
    return [one.verdicts[fitted[part[one.question]]] for one in labelled]


def _best(labelled: Sequence[_Labelled], usual: float) -> int:
    """Return the index of the candidate cutoff with the best agreement."""
    labels = [one.label for one in labelled]

    def rank(place: int) -> tuple[float, float]:
        kappa = cohen_kappa(labels, [one.verdicts[place] for one in labelled]) or 0.0
        return kappa, -abs(_CANDIDATES[place] - usual)

    return max(range(len(_CANDIDATES)), key=rank)
