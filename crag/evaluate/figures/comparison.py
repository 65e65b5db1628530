"""Paired comparison of two variants over the same questions: what differs, broke or was fixed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from crag.evaluate.figures.gathering import Shares, gather, statistic
from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.statistics import bootstrap, value_of
from crag.evaluate.figures.verdicts import right
from crag.evaluate.values import ChangedExample, Cutoffs, Difference, Result

if TYPE_CHECKING:
    from crag.evaluate.figures.statistics import Array


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` in the order of `METRICS`; `changed` lists broken questions first, the greatest change first.

    `examples` is the number of shared questions. `unjudged` says that judgements were ignored, because the two sides
    had different judges.
    """

    differences: Sequence[Difference] = ()
    changed: Sequence[ChangedExample] = ()
    examples: int = 0
    unjudged: bool = False


def compare(before: Sequence[Result], after: Sequence[Result], cutoffs: Cutoffs = Cutoffs()) -> Comparison:  # noqa: B008 — it is frozen
    """Compare two variants, of one evaluation or of two, over the questions that both have.

    Both answers to a question are resampled together, so that its difficulty does not blur the difference. Judgements
    count only if the same model judged both sides.
    """
    if unjudged := _judges(before) != _judges(after):
        before, after = _unjudged(before), _unjudged(after)
    gathered = gather(before, cutoffs), gather(after, cutoffs)
    names = [name for name in METRICS if name in gathered[0] and name in gathered[1]]
    differences = (_difference(name, gathered[0][name], gathered[1][name]) for name in names)
    pairs = _pairs(before, after)
    changes = [change for old, new in pairs if (change := _change(old, new, cutoffs))]
    changes.sort(key=lambda one: (one.what == "mended", -abs(one.after - one.before)))
    return Comparison([one for one in differences if one], changes, len(pairs), unjudged)


def _judges(results: Sequence[Result]) -> set[str]:
    return {result.judged.model for result in results if result.judged}


def _unjudged(results: Sequence[Result]) -> list[Result]:
    return [replace(result, judged=None) for result in results]


def _difference(metric: str, before: Mapping[str, Shares], after: Mapping[str, Shares]) -> Difference | None:
    """Return the difference in one metric; None without a shared example with data."""
    keys = [key for key, one in before.items() if key in after and (one.tells or after[key].tells)]
    old, new = statistic(metric, [before[key] for key in keys]), statistic(metric, [after[key] for key in keys])
    if not (old and new):
        return None

    def difference(weights: Array) -> Array:
        return new(weights) - old(weights)

    bounds = (-1.0, 1.0) if METRICS[metric].unit == "share" else None
    interval = bootstrap(difference, len(keys), bounds)
    values = value_of(old, len(keys)), value_of(new, len(keys))
    return Difference(metric, *values, len(keys), interval.low, interval.high)


Pair = tuple[list[Result], list[Result]]


def _pairs(before: Sequence[Result], after: Sequence[Result]) -> list[Pair]:
    """Return the answers of both sides to each shared question."""
    found: dict[str, Pair] = defaultdict(lambda: ([], []))
    for side, results in enumerate((before, after)):
        for result in results:
            found[result.example.key][side].append(result)
    return [pair for pair in found.values() if all(pair)]


def _change(old: Sequence[Result], new: Sequence[Result], cutoffs: Cutoffs) -> ChangedExample | None:
    """Average over repetitions; the runs returned are examples, one right and one not."""
    before, after = _share(old, cutoffs), _share(new, cutoffs)
    if before is None or after is None or before == after:
        return None
    broken = after < before
    runs = _run(old, max if broken else min, cutoffs), _run(new, min if broken else max, cutoffs)
    return ChangedExample(new[0].example, "broken" if broken else "mended", before, after, *runs)


def _share(results: Sequence[Result], cutoffs: Cutoffs) -> float | None:
    shares = [share for _, share in _told(results, cutoffs)]
    return sum(shares) / len(shares) if shares else None


def _run(results: Sequence[Result], pick: Callable[..., tuple[str, float]], cutoffs: Cutoffs) -> str:
    return pick(_told(results, cutoffs), key=itemgetter(1))[0]


def _told(results: Sequence[Result], cutoffs: Cutoffs) -> list[tuple[str, float]]:
    """Return run id and rightness of each answer whose rightness is known."""
    shares = ((result.run_id, _came_right(result, cutoffs)) for result in results)
    return [(run, share) for run, share in shares if share is not None]


def _came_right(result: Result, cutoffs: Cutoffs) -> float | None:
    """Return whether the answer is right if a right one is known, else whether answering or refusing was right.

    If only right passages are known, return the share of them that was retrieved.
    """
    verdict = right(result, cutoffs)
    if verdict is not None:
        return float(verdict)
    if result.example.answerable is None:
        known = result.example.sources or result.example.phrases
        return (result.scored.scores.get("recall", 0.0) if result.state == "done" else 0.0) if known else None
    return float(result.state == "done" and result.scored.scores.get("refusal_right") == 1.0)
