"""Command that fits grading thresholds to a collection (calibrate), and its report."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from crag.app.application import Application
from crag.app.reports import Json
from crag.cancellation import Cancellation
from crag.cli.arguments import FAILED, OK, AddCommand, parse_count, parse_text, whole_number
from crag.cli.terminal import pad_cell, print_failure, print_result, progress_line
from crag.errors import BadRequest
from crag.evaluation.calibration_probes import read_provided_questions
from crag.evaluation.calibrator import MAX_PROBES, CalibrationPlan
from crag.evaluation.threshold_proposal import (
    MIN_QUESTIONS_OF_EACH,
    ActionShares,
    Calibration,
    ProbeKind,
    ReplayResult,
    ShareEstimate,
    ThresholdFigures,
    describe_calibration_error,
    estimate_calibration_error,
    measure_thresholds,
    score_histograms,
    score_separation,
)
from crag.inspection.run_labels import ACTION_BADGES
from crag.options import GRADERS, RunOptions
from crag.text.formatting import format_count
from crag.translation import N_, _, translate_text
from crag.types import Action, Thresholds

CURVE_SCORES = tuple(step / 10 for step in range(1, 10))
_PROBE_KIND_TEXT: dict[ProbeKind, str] = {
    "passage": N_("made from passages"),
    "hidden": N_("with their document hidden"),
    "swapped": N_("with a fact of another passage"),
    "elsewhere": N_("from other collections"),
    "given": N_("given"),
    "ruling": N_("with verdicts you changed"),
}
_BAR_WIDTH = 24
_ACTIONS: tuple[Action, ...] = get_args(Action)
_HISTOGRAM_BINS = 10
_MAX_REPLAYS_SHOWN = 10


def calibration_json(measured: Calibration, past: Sequence[ReplayResult], applied: bool) -> Json:
    """Return the document of `calibrate`."""
    proposed = measured.proposal.thresholds
    return {
        "collection": measured.collection,
        "grader": measured.grader,
        "made_at": measured.made_at,
        "own": asdict(measured.own),
        "proposed": asdict(proposed) if proposed else None,
        "remarks": list(measured.proposal.remarks),
        "auc": score_separation(measured.scored),
        "calibration_error": estimate_calibration_error(measured.scored, measured.own),
        "figures": {
            "own": asdict(measure_thresholds(measured.scored, measured.own)),
            "proposed": asdict(measure_thresholds(measured.scored, proposed)) if proposed else None,
        },
        "curve": [
            {"score": at, **asdict(measure_thresholds(measured.scored, Thresholds(at, at)))} for at in CURVE_SCORES
        ],
        "scores": [asdict(one) for one in measured.scored],
        "past": [asdict(one) | {"changes": one.changes} for one in past],
        "applied": applied,
    }


def calibration_text(measured: Calibration, past: Sequence[ReplayResult], applied: bool) -> str:
    """Return the report as text."""
    lines = [*_heading_lines(measured), "", *_histogram_lines(measured), ""]
    if proposed := measured.proposal.thresholds:
        lines += [
            *_proposal_lines(proposed, measured),
            "",
            *_action_lines(proposed, measured),
            "",
            *_replay_lines(past),
        ]
        note = (
            _("Saved. The grader uses these thresholds from now on.")
            if applied
            else _("Not saved. Use --apply to save them.")
        )
        return "\n".join([*lines, note])
    return "\n".join([*lines, _("No thresholds can be proposed."), *map(translate_text, measured.proposal.remarks)])


def _heading_lines(measured: Calibration) -> list[str]:
    where = f"“{measured.collection}”" if measured.collection else _("the whole library")
    kinds = Counter(one.kind for one in measured.scored)
    origins = ", ".join(f"{kinds[kind]} {_(words)}" for kind, words in _PROBE_KIND_TEXT.items() if kinds[kind])
    return [
        _("{grader} on {where}").format(grader=measured.grader, where=where),
        f"{format_count(len(measured.scored), 'question')}: {origins}",
    ]


def _histogram_lines(measured: Calibration) -> list[str]:
    """Return ten lines: the number of questions of each kind whose best score falls in each tenth."""
    answered, unanswered = score_histograms(measured.scored, _HISTOGRAM_BINS)
    most = max(1, *answered, *unanswered)
    rows = enumerate(zip(answered, unanswered, strict=True))
    heads = pad_cell(_("best score"), 11), pad_cell(_("answerable"), _BAR_WIDTH + 6), _("not answerable")
    return ["".join(heads)] + [
        f"{at / 10:.1f}–{(at + 1) / 10:.1f}    {_format_bar(above, most)}{_format_bar(below, most)}".rstrip()
        for at, (above, below) in rows
    ]


def _format_bar(count: int, most: int) -> str:
    return f"{'█' * round(_BAR_WIDTH * count / most)} {count or ''}".ljust(_BAR_WIDTH + 6)


def _proposal_lines(proposed: Thresholds, measured: Calibration) -> list[str]:
    figures, own = measure_thresholds(measured.scored, proposed), measured.own
    return [
        _("relevant from {score:g} (default {own:g}): {share} of those can be answered").format(
            score=proposed.upper, own=own.upper, share=_format_share(figures.correct)
        ),
        _("not relevant below {score:g} (default {own:g}): {share} of those cannot be answered").format(
            score=proposed.lower, own=own.lower, share=_format_share(figures.incorrect)
        ),
        translate_text(describe_calibration_error(measured.scored, measured.own)),
        *map(translate_text, measured.proposal.remarks),
    ]


def _format_share(share: ShareEstimate) -> str:
    if share.value is None:
        return _("none (n={n})").format(n=share.n)
    return f"{share.value:.0%} (95%: {share.low:.0%}–{share.high:.0%}, n={share.n})"


def _action_lines(proposed: Thresholds, measured: Calibration) -> list[str]:
    """Return the resulting actions for each kind of question, under the grader's own and the proposed thresholds."""
    lines = [" " * 26 + "".join(pad_cell(_action_word(action), 23, right=True) for action in _ACTIONS)]
    for name, thresholds in ((_("default"), measured.own), (_("proposed"), proposed)):
        figures: ThresholdFigures = measure_thresholds(measured.scored, thresholds)
        lines += [
            _action_row(_("{name}: answerable").format(name=name), figures.answerable),
            _action_row(_("{name}: not answerable").format(name=name), figures.unanswerable),
        ]
    return lines


def _action_row(name: str, outcomes: ActionShares) -> str:
    return f"{pad_cell(name, 26)}{''.join(f'{outcomes.shares[action]:>23.1%}' for action in _ACTIONS)}"


def _replay_lines(past: Sequence[ReplayResult]) -> list[str]:
    changed = [one for one in past if one.changes]
    if not past:
        return [_("This grader has not graded any question yet.")]
    lines = [
        _("{changed} of the last {questions} would get a different result.").format(
            changed=len(changed), questions=format_count(len(past), "question")
        )
    ]
    lines += [
        f"  {_action_word(one.then)} → {_action_word(one.now)}: {one.question[:90]}"
        for one in changed[:_MAX_REPLAYS_SHOWN]
    ]
    return lines + (
        ["  " + _("and {count} more").format(count=len(changed) - _MAX_REPLAYS_SHOWN)]
        if len(changed) > _MAX_REPLAYS_SHOWN
        else []
    )


def _action_word(action: Action | None) -> str:
    return ACTION_BADGES[action].word


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    parser = command("calibrate", calibrate_thresholds)
    parser.add_argument("--collection", type=parse_text, default="", help="only this collection (default: all)")
    parser.add_argument("--grader", choices=GRADERS, default="auto", help="grader to calibrate (default: %(default)s)")
    parser.add_argument(
        "--model", type=parse_text, default="auto", help="model for a grader that needs one (default: %(default)s)"
    )
    parser.add_argument(
        "-k", type=parse_count, default=4, help="number of passages to grade for each question (default: %(default)s)"
    )
    by = parser.add_mutually_exclusive_group()
    by.add_argument(
        "--questions",
        type=Path,
        metavar="FILE.jsonl",
        help='your own questions, one {"question", "answerable"} per line',
    )
    by.add_argument(
        "--probes",
        type=whole_number(MIN_QUESTIONS_OF_EACH, MAX_PROBES),
        default=0,
        metavar="N",
        help="number of questions to generate of each kind (default: automatic)",
    )
    parser.add_argument("--rules", action="store_true", help="generate questions by rules instead of with the model")
    then = parser.add_mutually_exclusive_group()
    then.add_argument("--apply", action="store_true", help="use the proposed thresholds from now on")
    then.add_argument("--forget", action="store_true", help="return to the default thresholds")


def calibrate_thresholds(application: Application, options: argparse.Namespace) -> int:
    """Measure how well a grader's scores separate answers from non-answers, and propose thresholds."""
    application.library.check_collection(options.collection)
    asked = RunOptions(model=options.model, grader=options.grader, collection=options.collection, k=options.k)
    if options.forget:
        return _forget_thresholds(application, asked, options.json)
    given = read_provided_questions(options.questions) if options.questions else []
    if options.questions and not given:
        raise BadRequest("The file contains no questions.", 'Write one {"question", "answerable"} a line.')
    try:
        measured = _run_calibration(application, asked, CalibrationPlan(given, options.probes, options.rules))
    except KeyboardInterrupt:
        print_failure("stopped", _("Stopped. Nothing was saved."), options.json)
        return FAILED
    proposed = measured.proposal.thresholds
    if options.apply and proposed:
        application.calibration.save(measured)
    past = application.calibration.replay_past_runs(measured.collection, measured.grader, proposed) if proposed else []
    applied = bool(options.apply and proposed)
    print_result(options.json, calibration_json(measured, past, applied), calibration_text(measured, past, applied))
    return OK if proposed else FAILED


def _run_calibration(application: Application, asked: RunOptions, plan: CalibrationPlan) -> Calibration:
    stop = Cancellation()
    try:
        with progress_line(_("Calibrating")) as report:
            return application.calibration.run(asked, plan, report, stop)
    except KeyboardInterrupt:
        stop.cancel()
        raise


def _forget_thresholds(application: Application, asked: RunOptions, as_document: bool) -> int:
    grader = application.grading_setup(asked).grader
    forgotten = application.calibration.saved.forget(asked.collection, grader)
    message = _("Back to the default thresholds.") if forgotten else _("There are no calibrated thresholds to remove.")
    print_result(as_document, {"collection": asked.collection, "grader": grader, "forgotten": forgotten}, message)
    return OK
