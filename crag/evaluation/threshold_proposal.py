"""Two thresholds proposed from the scores of answerable and unanswerable questions (pure).

The rule has three steps:

- *Between* is the score that separates both kinds best (Youden 1950). Of all scores within one standard error of the
  best, the one nearest to the grader's own thresholds is taken, so that thresholds move only as far as the scores
  require.
- *Upper* is the lowest score from there on at or above which at least `TARGET_PRECISION` of the questions are
  answerable, with both kinds weighted as equally frequent.
- *Lower* is the highest score up to *between* below which at most `MAX_LOST_SHARE` of the answerable questions fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from crag.evaluation.statistics import (
    auc,
    bootstrap_interval,
    expected_calibration_error,
    histogram,
    ratio_statistic,
)
from crag.types import Action, Thresholds, VerdictWord

# Answerable: made from a passage, or given. Unanswerable: with its passage hidden, with a fact swapped, made from
# another collection, or given. Rulings are labels of single passages.
ProbeKind = Literal["passage", "hidden", "swapped", "elsewhere", "given", "ruling"]


@dataclass(frozen=True, slots=True)
class ProvidedQuestion:
    """A question from the user's file, and whether the collection answers it."""

    question: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class ProbeScore:
    """The best passage score of a question (of a ruling: its passage's score), and whether it is answerable."""

    question: str
    kind: ProbeKind
    answerable: bool
    score: float


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share in 0..1 of `n` questions, with its 95 % bootstrap interval; None if undefined."""

    value: float | None
    n: int
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class ActionShares:
    """Share of each action among questions of one kind; all 0 without questions."""

    n: int
    shares: dict[Action, float]


@dataclass(frozen=True, slots=True)
class ThresholdFigures:
    """Effect of thresholds on each kind of question, and the precision of both decisions.

    Precision weights both kinds as equally frequent, however many of each were tried.
    """

    answerable: ActionShares
    unanswerable: ActionShares
    correct: ShareEstimate
    incorrect: ShareEstimate


@dataclass(frozen=True, slots=True)
class ThresholdProposal:
    """The proposed thresholds, None if the scores do not support any; `remarks` explain the result."""

    thresholds: Thresholds | None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """One measurement of a grader on a collection ("": the whole library). `made_at` is in seconds since the epoch."""

    collection: str
    grader: str
    own: Thresholds
    scored: Sequence[ProbeScore]
    proposal: ThresholdProposal
    made_at: float


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A past question with the action it led to and the action it would lead to now."""

    run_id: str
    question: str
    best: float | None
    then: Action | None
    now: Action | None

    @property
    def changes(self) -> bool:
        """Whether the action would be different."""
        return self.then != self.now


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Masks = NDArray[np.bool_]
else:
    Floats = Masks = Any  # numpy is slow to import

TARGET_PRECISION = 0.8
MAX_LOST_SHARE = 0.1
# Possible thresholds: hundredths, and finer steps at both ends, where model probabilities crowd.
THRESHOLD_GRID = (0.0, 0.001, 0.002, 0.005, *(step / 100 for step in range(1, 100)), 0.995, 0.998, 0.999)
MIN_QUESTIONS_OF_EACH = 20  # with fewer of a kind, a single question moves a threshold far
_MIN_REACHING_SHARE = 0.25  # share of answerable questions; an upper threshold above most scores is useless
MAX_CALIBRATION_ERROR = 0.05  # above it, the shares that a calibration reports should not be relied on
_FOLDS = 5


def propose_thresholds(scored: Sequence[ProbeScore], own: Thresholds) -> ThresholdProposal:
    """Propose thresholds by the rule above, or none if there are too few questions or the scores do not separate."""
    import numpy as np

    answered, unanswered = split_scores(scored)
    if refusal := _refusal_reason(answered, unanswered):
        return ThresholdProposal(None, (refusal,))
    grid = np.array(THRESHOLD_GRID)
    kept, passed = _shares_reaching(answered, grid), _shares_reaching(unanswered, grid)
    error = np.sqrt(kept * (1 - kept) / answered.size + passed * (1 - passed) / unanswered.size)
    between = _separating_index(grid, kept - passed, error, (own.lower + own.upper) / 2)
    upper, remark = _upper_index(answered, unanswered, between)
    lower = max(at for at in range(between + 1) if 1 - kept[at] <= MAX_LOST_SHARE)
    remarks = [remark] if remark else []
    if passed[lower] == 1:
        remarks.append("No unanswerable question scores below the lower threshold, so hardly any will be declined.")
    return ThresholdProposal(Thresholds(THRESHOLD_GRID[lower], THRESHOLD_GRID[upper]), tuple(remarks))


def split_scores(scored: Sequence[ProbeScore]) -> tuple[Floats, Floats]:
    """Return the scores of the answerable and of the unanswerable questions."""
    import numpy as np

    return (
        np.array([one.score for one in scored if one.answerable], dtype=float),
        np.array([one.score for one in scored if not one.answerable], dtype=float),
    )


def measure_thresholds(scored: Sequence[ProbeScore], thresholds: Thresholds) -> ThresholdFigures:
    """Measure the effect of these thresholds on the questions."""
    answered, unanswered = split_scores(scored)
    return ThresholdFigures(
        _action_shares(answered, thresholds),
        _action_shares(unanswered, thresholds),
        _balanced_precision(answered >= thresholds.upper, unanswered >= thresholds.upper),
        _balanced_precision(unanswered < thresholds.lower, answered < thresholds.lower),
    )


def score_histograms(scored: Sequence[ProbeScore], bins: int) -> tuple[list[int], list[int]]:
    """Count answerable and unanswerable questions in each of `bins` equal parts of 0..1."""
    answered, unanswered = (histogram(own, bins) for own in split_scores(scored))
    return answered, unanswered


def describe_calibration_error(scored: Sequence[ProbeScore], own: Thresholds) -> str:
    """Return a sentence on how well the reported shares hold for other questions; empty if that is not known."""
    error = estimate_calibration_error(scored, own)
    if error is None:
        return ""
    sentence = f"On other questions these shares are off by {100 * error:.1f} points on average (cross-validated)."
    return sentence if error <= MAX_CALIBRATION_ERROR else " ".join((sentence, "Do not rely on them."))


def score_separation(scored: Sequence[ProbeScore]) -> float | None:
    """Return the AUC: the chance that an answerable question scores above an unanswerable one; None without both."""
    return auc([one.score for one in scored], [one.answerable for one in scored])


def estimate_calibration_error(scored: Sequence[ProbeScore], own: Thresholds) -> float | None:
    """Return the expected calibration error of calibrated verdicts on other questions, by cross-validation.

    Thresholds, and the share of answerable questions behind each verdict, are fitted without a fifth of the questions
    and predict whether those are answerable. All probes of one question are in one fold. None if there are too few.
    """
    import numpy as np

    questions = list(dict.fromkeys(one.question for one in scored))
    # Kinds of probes alternate, so folds in their order would differ in kind.
    number = dict(zip(questions, np.random.default_rng(0).permutation(len(questions)).tolist(), strict=True))
    predicted: list[float] = []
    actual: list[bool] = []
    for fold in range(_FOLDS):
        held_out = [one for one in scored if number[one.question] % _FOLDS == fold]
        rest = [one for one in scored if number[one.question] % _FOLDS != fold]
        thresholds = propose_thresholds(rest, own).thresholds
        if thresholds is None:
            return None
        overall = _answerable_share(rest)
        behind = {
            word: _answerable_share([one for one in rest if thresholds.verdict_for(one.score) == word], overall)
            for word in get_args(VerdictWord)
        }
        predicted += (behind[thresholds.verdict_for(one.score)] for one in held_out)
        actual += (one.answerable for one in held_out)
    return expected_calibration_error(predicted, actual)


def _answerable_share(scored: Sequence[ProbeScore], default: float = 0.0) -> float:
    return sum(one.answerable for one in scored) / len(scored) if scored else default


def _refusal_reason(answered: Floats, unanswered: Floats) -> str:
    if min(answered.size, unanswered.size) < MIN_QUESTIONS_OF_EACH:
        return (
            f"There are {answered.size} questions with an answer and {unanswered.size} without one; setting thresholds"
            f" takes at least {MIN_QUESTIONS_OF_EACH} of each. Add documents, or questions of your own."
        )
    if max(answered.max(), unanswered.max()) == min(answered.min(), unanswered.min()):
        return "Every question got the same score, so no threshold can separate them."
    if answered.mean() <= unanswered.mean():
        return "Unanswerable questions score as high as answerable ones, so this grader cannot separate them here."
    return ""


def _shares_reaching(scores: Floats, grid: Floats) -> Floats:
    """Return the share of the scores at or above each point of the grid."""
    import numpy as np

    shares: Floats = 1 - np.searchsorted(np.sort(scores), grid) / scores.size
    return shares


def _separating_index(grid: Floats, gain: Floats, error: Floats, middle: float) -> int:
    """Return the grid index nearest to `middle` among those that separate both kinds about as well as the best."""
    best = int(gain.argmax())
    as_good = [at for at in range(len(grid)) if gain[at] >= gain[best] - error[best]]
    return min(as_good, key=lambda at: abs(float(grid[at]) - middle))


def _upper_index(answered: Floats, unanswered: Floats, between: int) -> tuple[int, str]:
    """Return the grid index of the upper threshold, and a remark if no score is precise enough."""
    import numpy as np

    grid = np.array(THRESHOLD_GRID)
    kept, passed = _shares_reaching(answered, grid), _shares_reaching(unanswered, grid)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.nan_to_num(kept / (kept + passed))
        spread = np.sqrt((1 - kept) / (kept * answered.size) + (1 - passed) / (passed * unanswered.size))
        error = np.nan_to_num(precision * (1 - precision) * spread)
    usable = [at for at in range(between, len(grid)) if kept[at] >= _MIN_REACHING_SHARE] or [between]
    if precise := [at for at in usable if precision[at] >= TARGET_PRECISION]:
        return precise[0], ""
    best = max(usable, key=lambda at: float(precision[at]))
    chosen = next(at for at in usable if precision[at] >= precision[best] - error[best])
    return chosen, (
        f"No score that a quarter of the answered questions reach has a precision of {TARGET_PRECISION:.0%}."
        f" The upper threshold is the lowest score with about the best precision, {precision[chosen]:.0%}."
    )


def _action_shares(scores: Floats, thresholds: Thresholds) -> ActionShares:
    correct = float((scores >= thresholds.upper).mean()) if scores.size else 0.0
    incorrect = float((scores < thresholds.lower).mean()) if scores.size else 0.0
    rest = max(0.0, 1 - correct - incorrect) if scores.size else 0.0
    shares: dict[Action, float] = {"correct": correct, "ambiguous": rest, "incorrect": incorrect}
    return ActionShares(int(scores.size), shares)


def _balanced_precision(right: Masks, wrong: Masks) -> ShareEstimate:
    """Return the precision of one decision, both kinds weighted equally.

    `right` and `wrong` are masks of the questions so decided, rightly and wrongly.
    """
    rightly, wrongly = int(right.sum()), int(wrong.sum())
    decided = rightly + wrongly
    if not decided or not right.size or not wrong.size:
        return ShareEstimate(None, decided)
    weights = [1 / right.size] * rightly + [1 / wrong.size] * wrongly
    precision = ratio_statistic([*weights[:rightly], *[0.0] * wrongly], weights)
    interval = bootstrap_interval(precision, decided, (0.0, 1.0))
    return ShareEstimate(interval.value, decided, interval.low, interval.high)
