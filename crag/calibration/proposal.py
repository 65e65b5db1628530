"""Two thresholds proposed from the scores of answerable and unanswerable questions (pure).

The rule: *between* is the score that separates both kinds best (Youden 1950). Of all scores within one standard error
of the best, the one nearest to the grader's own thresholds is taken, so that thresholds move only as far as the scores
require. *Upper* is the lowest score from there on at or above which at least `TARGET_PRECISION` of the questions are
answerable, with both kinds weighted as equally frequent. *Lower* is the highest score up to *between* below which at
most `MAX_LOST_SHARE` of the answerable questions fall.
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
# Possible thresholds: hundredths, and finer steps at both ends, where model probabilities crowd.
GRID = (0.0, 0.001, 0.002, 0.005, *(step / 100 for step in range(1, 100)), 0.995, 0.998, 0.999)
LEAST = 20  # with fewer of a kind, a single question moves a threshold far
_LEAST_REACHED = 0.25  # share of answerable questions; an upper threshold above most scores is useless
_SAMPLES = 500
_TRUST = (2.5, 97.5)


def propose(scored: Sequence[Scored], own: Thresholds) -> Proposal:
    """Propose thresholds by the rule above, or none if there are too few questions or the scores do not separate."""
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
    """Return the scores of the answerable and of the unanswerable questions."""
    import numpy as np

    return (
        np.array([one.score for one in scored if one.answerable], dtype=float),
        np.array([one.score for one in scored if not one.answerable], dtype=float),
    )


def measure(scored: Sequence[Scored], thresholds: Thresholds) -> Figures:
    """Measure the effect of these thresholds on the questions."""
    answered, unanswered = split(scored)
    return Figures(
        _outcomes(answered, thresholds),
        _outcomes(unanswered, thresholds),
        _precision(answered >= thresholds.upper, unanswered >= thresholds.upper),
        _precision(unanswered < thresholds.lower, answered < thresholds.lower),
    )


def histograms(scored: Sequence[Scored], bins: int) -> tuple[list[int], list[int]]:
    """Count answerable and unanswerable questions in each of `bins` equal parts of 0..1."""
    answered, unanswered = (histogram(own, bins) for own in split(scored))
    return answered, unanswered


def separation(scored: Sequence[Scored]) -> float | None:
    """Return the AUC: the chance that an answerable question scores above an unanswerable one; None without both."""
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
    """Return the share of the scores at or above each point of the grid."""
    import numpy as np

    shares: Floats = 1 - np.searchsorted(np.sort(scores), grid) / scores.size
    return shares


def _between(grid: Floats, gain: Floats, error: Floats, middle: float) -> int:
    """Return the grid index nearest to `middle` among those that separate both kinds about as well as the best."""
    best = int(gain.argmax())
    as_good = [at for at in range(len(grid)) if gain[at] >= gain[best] - error[best]]
    return min(as_good, key=lambda at: abs(float(grid[at]) - middle))


def _upper(answered: Floats, unanswered: Floats, between: int) -> tuple[int, str]:
    """Return the grid index of the upper threshold, and a remark if no score is precise enough."""
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
    """Return the precision of one decision, both kinds weighted equally.

    `right` and `wrong` are masks of the questions so decided, rightly and wrongly.
    """
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
