"""Agreement of scorers with human labels, and the score cutoffs fitted to those labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from crag.evaluation.metrics import is_answer_right
from crag.evaluation.statistics import bootstrap_interval, cohen_kappa
from crag.evaluation.types import Cutoffs, EvaluationResult

if TYPE_CHECKING:
    from crag.evaluation.statistics import Array, Statistic


Scorer = Literal["judge", "text"]
_FOLDS = 10
# Questions labelled right, and as many labelled wrong, before a cutoff moves: one of each kind per fold.
MIN_LABELS_OF_EACH = _FOLDS
_CANDIDATE_CUTOFFS = tuple(step / 20 for step in range(1, 20))  # every second one falls between two points of a judge


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
class _LabelledAnswer:
    """One answer with a label and a scorer's verdict; `verdicts` are those at each candidate cutoff."""

    question: str
    label: bool
    verdict: bool
    verdicts: tuple[bool, ...]


def measure_agreement(results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> list[Agreement]:
    """Return the agreement of each judge model, then of text comparison; scorers without labelled answers are left out.

    With cutoffs fitted to the same labels, the result is slightly optimistic.
    """
    judges = dict.fromkeys(one.judged.model for one in results if one.judged and one.judged.score is not None)
    found = []
    for model in judges:
        own = [one for one in results if one.judged and one.judged.model == model]
        found.append(
            _scorer_agreement("judge", f"Judge {model.partition('@')[0]}", _labelled_answers(own, "judge", cutoffs))
        )
    found.append(_scorer_agreement("text", "Comparing texts", _labelled_answers(results, "text", cutoffs)))
    return [one for one in found if one.n]


def fit_cutoffs(results: Sequence[EvaluationResult]) -> Cutoffs:
    """Return the cutoffs that agree best with human labels; each keeps its default unless another is clearly better.

    A cutoff moves if at least ten questions were labelled right and ten wrong, and if ten-fold cross-validation shows
    better agreement (Cohen's kappa) than the default; fitted and evaluated on the same labels, any cutoff would look
    better. Among equally good ones, the nearest to the default wins. All judge models share one cutoff.
    """
    default = Cutoffs()
    return Cutoffs(
        judge=_fit_cutoff(_labelled_answers(results, "judge", default), default.judge),
        text=_fit_cutoff(_labelled_answers(results, "text", default), default.text),
    )


def _labelled_answers(results: Sequence[EvaluationResult], scorer: Scorer, cutoffs: Cutoffs) -> list[_LabelledAnswer]:
    found = []
    for result in results:
        verdict = _scorer_verdict(result, scorer, cutoffs)
        if result.label is not None and verdict is not None:
            tried = (
                is_answer_right(_keep_scorer_only(result, scorer), Cutoffs(cutoff, cutoff))
                for cutoff in _CANDIDATE_CUTOFFS
            )
            found.append(_LabelledAnswer(result.example.key, result.label, verdict, tuple(map(bool, tried))))
    return found


def _scorer_verdict(result: EvaluationResult, scorer: Scorer, cutoffs: Cutoffs) -> bool | None:
    if scorer == "judge" and (result.judged is None or result.judged.score is None):
        return None
    return is_answer_right(_keep_scorer_only(result, scorer), cutoffs)


def _keep_scorer_only(result: EvaluationResult, scorer: Scorer) -> EvaluationResult:
    return replace(result, label=None, judged=result.judged if scorer == "judge" else None)


def _scorer_agreement(scorer: Scorer, title: str, labelled: Sequence[_LabelledAnswer]) -> Agreement:
    labels, verdicts = [one.label for one in labelled], [one.verdict for one in labelled]
    agree = sum(one.label == one.verdict for one in labelled) / max(1, len(labelled))
    value = cohen_kappa(labels, verdicts) if len(set(labels)) == 2 else None
    low, high = (None, None) if value is None else _kappa_interval(labelled)
    return Agreement(scorer, title, value, agree, len(labelled), low, high)


def _kappa_interval(labelled: Sequence[_LabelledAnswer]) -> tuple[float, float]:
    """Resample questions, not answers, since repetitions of one question are similar."""
    places = {question: index for index, question in enumerate(dict.fromkeys(one.question for one in labelled))}
    kappa = _kappa_statistic(labelled, [places[one.question] for one in labelled])
    found = bootstrap_interval(kappa, len(places), bounds=(-1.0, 1.0))
    return found.low, found.high


def _kappa_statistic(labelled: Sequence[_LabelledAnswer], groups: Sequence[int]) -> Statistic:
    import numpy as np

    label = np.array([one.label for one in labelled], dtype=float)
    verdict = np.array([one.verdict for one in labelled], dtype=float)

    def figure(weights: Array) -> Array:
        weight = weights[:, list(groups)]
        weight = weight / weight.sum(axis=1, keepdims=True)
        agreed = weight @ (label == verdict)
        of_label, of_verdict = weight @ label, weight @ verdict
        by_chance = of_label * of_verdict + (1 - of_label) * (1 - of_verdict)
        found: Array = (agreed - by_chance) / (1 - by_chance)
        return found

    return figure


def _fit_cutoff(labelled: Sequence[_LabelledAnswer], default: float) -> float:
    fewest = min(len({one.question for one in labelled if one.label is kind}) for kind in (True, False))
    if fewest < MIN_LABELS_OF_EACH:
        return default
    labels = [one.label for one in labelled]
    before, after = (
        cohen_kappa(labels, verdicts) or 0.0
        for verdicts in ([one.verdict for one in labelled], _cross_validated_verdicts(labelled, default))
    )
    return _CANDIDATE_CUTOFFS[_best_candidate(labelled, default)] if after > before else default


def _cross_validated_verdicts(labelled: Sequence[_LabelledAnswer], default: float) -> list[bool]:
    """Return the verdict on each answer by the cutoff fitted without its fold of the questions."""
    by_kind = dict.fromkeys(one.question for one in sorted(labelled, key=lambda one: one.label))
    part = {question: index % _FOLDS for index, question in enumerate(by_kind)}
    fitted = [_best_candidate([one for one in labelled if part[one.question] != own], default) for own in range(_FOLDS)]
    return [one.verdicts[fitted[part[one.question]]] for one in labelled]


def _best_candidate(labelled: Sequence[_LabelledAnswer], default: float) -> int:
    """Return the index of the candidate cutoff with the best agreement."""
    labels = [one.label for one in labelled]

    def rank(index: int) -> tuple[float, float]:
        kappa = cohen_kappa(labels, [one.verdicts[index] for one in labelled]) or 0.0
        return kappa, -abs(_CANDIDATE_CUTOFFS[index] - default)

    return max(range(len(_CANDIDATE_CUTOFFS)), key=rank)
