"""Report of `calibrate`: both score distributions, the proposal with its precision, and past questions replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from crag import amounts
from crag.calibration.proposal import histograms, measure, separation
from crag.calibration.values import Calibration, Figures, Outcomes, Past, ProbeKind, Share
from crag.options import Thresholds
from crag.reports import Json

CURVE = tuple(step / 10 for step in range(1, 10))
_KINDS: dict[ProbeKind, str] = {
    "passage": "made from passages",
    "hidden": "with their document hidden",
    "swapped": "with a fact of another passage",
    "elsewhere": "from other collections",
    "given": "given",
    "ruling": "ruled on by you",
}
_BAR = 24
_TENTHS = 10
_PAST_SHOWN = 10


def as_json(measured: Calibration, past: Sequence[Past], applied: bool) -> Json:
    """Return the document of `calibrate`."""
    proposed = measured.proposal.thresholds
    return {
        "collection": measured.collection,
        "grader": measured.grader,
        "made_at": measured.made_at,
        "own": asdict(measured.own),
        "proposed": asdict(proposed) if proposed else None,
        "remarks": list(measured.proposal.remarks),
        "auc": separation(measured.scored),
        "figures": {
            "own": asdict(measure(measured.scored, measured.own)),
            "proposed": asdict(measure(measured.scored, proposed)) if proposed else None,
        },
        "curve": [{"score": at, **asdict(measure(measured.scored, Thresholds(at, at)))} for at in CURVE],
        "scores": [asdict(one) for one in measured.scored],
        "past": [asdict(one) | {"changes": one.changes} for one in past],
        "applied": applied,
    }


def as_text(measured: Calibration, past: Sequence[Past], applied: bool) -> str:
    """Return the report as text."""
    lines = [*_head(measured), "", *_distributions(measured), ""]
    if proposed := measured.proposal.thresholds:
        lines += [*_proposal(proposed, measured), "", *_actions(proposed, measured), "", *_past(past)]
        note = "Kept: this grader judges by them from now on." if applied else "Not kept; --apply keeps them."
        return "\n".join([*lines, note])
    return "\n".join([*lines, "No thresholds can be proposed.", *measured.proposal.remarks])


def _head(measured: Calibration) -> list[str]:
    where = f"“{measured.collection}”" if measured.collection else "the whole library"
    kinds = Counter(one.kind for one in measured.scored)
    origins = ", ".join(f"{kinds[kind]} {words}" for kind, words in _KINDS.items() if kinds[kind])
    return [f"{measured.grader} on {where}", f"{amounts.count(len(measured.scored), 'question')}: {origins}"]


def _distributions(measured: Calibration) -> list[str]:
    """Return ten lines: the number of questions of each kind whose best score falls in each tenth."""
    answered, unanswered = histograms(measured.scored, _TENTHS)
    most = max(1, *answered, *unanswered)
    rows = enumerate(zip(answered, unanswered, strict=True))
    return [f"{'best score':<11}{'answered':<{_BAR + 6}}not answered"] + [
        f"{at / 10:.1f}–{(at + 1) / 10:.1f}    {_bar(above, most)}{_bar(below, most)}".rstrip()
        for at, (above, below) in rows
    ]


def _bar(count: int, most: int) -> str:
    return f"{'█' * round(_BAR * count / most)} {count or ''}".ljust(_BAR + 6)


def _proposal(proposed: Thresholds, measured: Calibration) -> list[str]:
    figures, own = measure(measured.scored, proposed), measured.own
    return [
        f"relevant from {proposed.upper:g} (own {own.upper:g}): {_share(figures.correct)} of those are answered",
        f"irrelevant below {proposed.lower:g} (own {own.lower:g}): {_share(figures.incorrect)} of those have no answer",
        *measured.proposal.remarks,
    ]


def _share(share: Share) -> str:
    if share.value is None:
        return f"none (n={share.n})"
    return f"{share.value:.0%} (95 %: {share.low:.0%}–{share.high:.0%}, n={share.n})"


def _actions(proposed: Thresholds, measured: Calibration) -> list[str]:
    """Return the resulting actions for each kind of question, under the grader's own and the proposed thresholds."""
    lines = [f"{'':26}{'correct':>10}{'ambiguous':>12}{'refused':>10}"]
    for name, thresholds in (("own", measured.own), ("proposed", proposed)):
        figures: Figures = measure(measured.scored, thresholds)
        lines += [_row(f"{name}: answered", figures.answerable), _row(f"{name}: not answered", figures.unanswerable)]
    return lines


def _row(name: str, outcomes: Outcomes) -> str:
    correct, ambiguous, refused = (outcomes.shares[action] for action in ("correct", "ambiguous", "incorrect"))
    return f"{name:26}{correct:>10.1%}{ambiguous:>12.1%}{refused:>10.1%}"


def _past(past: Sequence[Past]) -> list[str]:
    changed = [one for one in past if one.changes]
    if not past:
        return ["No past question was judged by this grader here."]
    lines = [f"{len(changed)} of the last {amounts.count(len(past), 'question')} would go another way."]
    lines += [f"  {one.then} → {one.now}: {one.question[:90]}" for one in changed[:_PAST_SHOWN]]
    return lines + ([f"  and {len(changed) - _PAST_SHOWN} more"] if len(changed) > _PAST_SHOWN else [])
