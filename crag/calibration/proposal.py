"""From the scores of questions that are answered, and of those that are not, to two thresholds: pure functions.

The rule: *between* is the score that separates both kinds best (Youden 1950); of all within one standard error of the
best it is the one nearest to the grader's own thresholds, so that these move only as far as the scores ask for. *Upper*
is the lowest score from there on at or above which at least `PRECISION` of the questions are answered, were both kinds
equally frequent. *Lower* is the highest score up to there below which at most `LOST` of the answered questions fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crag.calibration.values import Figures, Outcomes, Proposal, Scored, Share
from crag.histograms import histogram
from crag.options import Thresholds
from crag.types import Action

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Masks = NDArray[np.bool_]
else:
    Floats = Masks = Any  # numpy is slow to import

PRECISION = 0.8
LOST = 0.1
# Where thresholds can lie: hundredths, and finer steps at both ends, where the probabilities of models crowd.
GRID = (0.0, 0.001, 0.002, 0.005, *(step / 100 for step in range(1, 100)), 0.995, 0.998, 0.999)
LEAST = 20  # of each kind: with fewer, one question more or less moves a threshold far
_LEAST_REACHED = 0.25  # of the answered questions: an upper threshold that hardly any reaches serves nobody
_SAMPLES = 500
_TRUST = (2.5, 97.5)


def propose(scored: Sequence[Scored], own: Thresholds) -> Proposal:
    """The thresholds of the rule above, or none where there are too few questions or their scores tell nothing."""
    import numpy as np

    answered, unanswered = split(scored)
    if refusal := _refusal(answered, unanswered):
        return Proposal(None, (refusal,))
    grid = np.array(GRID)
    kept, passed = _reaching(answered, grid), _reaching(unanswered, grid)
    error = np.sqrt(kept * (1 - kept) / answered.size + passed * (1 - passed) / unanswered.size)
    between = _between(grid, kept - passed, error, (own.lower + own.upper) / 2)
    upper, remark = _upper(answered, unanswered, between)
    lower = max(at for at in range(between + 1) if 1 - kept[at] <= LOST)
    remarks = [remark] if remark else []
    if passed[lower] == 1:
        remarks.append("No question without an answer lies below the lower threshold: hardly any will be refused.")
    return Proposal(Thresholds(GRID[lower], GRID[upper]), tuple(remarks))


def split(scored: Sequence[Scored]) -> tuple[Floats, Floats]:
    """The scores of the answerable questions and those of the unanswerable ones."""
    import numpy as np

    return (
        np.array([one.score for one in scored if one.answerable], dtype=float),
        np.array([one.score for one in scored if not one.answerable], dtype=float),
    )


def measure(scored: Sequence[Scored], thresholds: Thresholds) -> Figures:
    """What these thresholds do to the questions."""
    answered, unanswered = split(scored)
    return Figures(
        _outcomes(answered, thresholds),
        _outcomes(unanswered, thresholds),
        _precision(answered >= thresholds.upper, unanswered >= thresholds.upper),
        _precision(unanswered < thresholds.lower, answered < thresholds.lower),
    )


def histograms(scored: Sequence[Scored], bins: int) -> tuple[list[int], list[int]]:
    """How many answerable and how many unanswerable questions scored within each of `bins` equal parts of 0..1."""
    answered, unanswered = (histogram(own, bins) for own in split(scored))
    return answered, unanswered


def separation(scored: Sequence[Scored]) -> float | None:
    """The chance that an answerable question scores above an unanswerable one (AUC); None without both."""
    answered, unanswered = split(scored)
    if not answered.size or not unanswered.size:
        return None
    above = (answered[:, None] > unanswered).mean() + (answered[:, None] == unanswered).mean() / 2
    return float(above)


def _refusal(answered: Floats, unanswered: Floats) -> str:
    if min(answered.size, unanswered.size) < LEAST:
        return (
            f"Of questions with an answer there are {answered.size}, of those without one {unanswered.size}; at least"
            f" {LEAST} of each are needed to place thresholds. Add documents, or give questions of your own."
        )
    if max(answered.max(), unanswered.max()) == min(answered.min(), unanswered.min()):
        return "Every question got the same score, so no threshold can tell any from another."
    if answered.mean() <= unanswered.mean():
        return "Questions without an answer score as high as those with one: this grader does not tell them apart here."
    return ""


def _reaching(scores: Floats, grid: Floats) -> Floats:
    """The share of the scores at or above each point of the grid."""
    import numpy as np

    shares: Floats = 1 - np.searchsorted(np.sort(scores), grid) / scores.size
    return shares


def _between(grid: Floats, gain: Floats, error: Floats, middle: float) -> int:
    """Where on the grid both kinds are separated about as well as anywhere, nearest to `middle`."""
    best = int(gain.argmax())
    as_good = [at for at in range(len(grid)) if gain[at] >= gain[best] - error[best]]
    return min(as_good, key=lambda at: abs(float(grid[at]) - middle))


def _upper(answered: Floats, unanswered: Floats, between: int) -> tuple[int, str]:
    """Where on the grid the upper threshold lies, and what is to be said where none is as precise as wanted."""
    import numpy as np

    grid = np.array(GRID)
    kept, passed = _reaching(answered, grid), _reaching(unanswered, grid)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.nan_to_num(kept / (kept + passed))
        spread = np.sqrt((1 - kept) / (kept * answered.size) + (1 - passed) / (passed * unanswered.size))
        error = np.nan_to_num(precision * (1 - precision) * spread)
    usable = [at for at in range(between, len(grid)) if kept[at] >= _LEAST_REACHED] or [between]
    if precise := [at for at in usable if precision[at] >= PRECISION]:
        return precise[0], ""
    best = max(usable, key=lambda at: float(precision[at]))
    chosen = next(at for at in usable if precision[at] >= precision[best] - error[best])
    return chosen, (
        f"No score that a quarter of the answered questions reach is {PRECISION:.0%} precise. The upper threshold is"
        f" the lowest that is about as precise as any, {precision[chosen]:.0%}."
    )


def _outcomes(scores: Floats, thresholds: Thresholds) -> Outcomes:
    correct = float((scores >= thresholds.upper).mean()) if scores.size else 0.0
    incorrect = float((scores < thresholds.lower).mean()) if scores.size else 0.0
    rest = max(0.0, 1 - correct - incorrect) if scores.size else 0.0
    shares: dict[Action, float] = {"correct": correct, "ambiguous": rest, "incorrect": incorrect}
    return Outcomes(int(scores.size), shares)


def _precision(right: Masks, wrong: Masks) -> Share:
    """The share that is right of what was told so, both kinds weighing the same; `right` and `wrong` are masks."""
    import numpy as np

    told = int(right.sum() + wrong.sum())
    if not told or not right.size or not wrong.size:
        return Share(None, told)
    chance = np.random.default_rng(0)
    ours = chance.binomial(right.size, right.mean(), _SAMPLES) / right.size
    theirs = chance.binomial(wrong.size, wrong.mean(), _SAMPLES) / wrong.size
    both = (ours + theirs) > 0
    samples = ours[both] / (ours + theirs)[both]
    low, high = (float(edge) for edge in np.percentile(samples, _TRUST))
    value = float(right.mean() / (right.mean() + wrong.mean()))
    return Share(value, told, low, high)
