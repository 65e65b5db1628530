"""Command that fits grading thresholds to a collection: calibrate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from crag.assembly import Application
from crag.calibration import Plan
from crag.calibration.calibrator import MOST_PROBES
from crag.calibration.given import read_given
from crag.calibration.proposal import LEAST
from crag.calibration.values import Calibration
from crag.commands.arguments import FAILED, OK, AddCommand, check_collection, count, text
from crag.commands.calibration_report import as_json, as_text
from crag.commands.progress import progress_line
from crag.errors import BadRequest
from crag.options import GraderKind, RunOptions
from crag.stopping import Stop
from crag.terminal import finish, report_failure


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    parser = command("calibrate", calibrate)
    parser.add_argument("--collection", type=text, default="", help="default: the whole library")
    parser.add_argument("--grader", choices=get_args(GraderKind), default="auto")
    parser.add_argument("--model", type=text, default="auto", help="what answers, and grades where the grader asks one")
    parser.add_argument("-k", type=count, default=4, help="how many passages a question is judged by (default: 4)")
    by = parser.add_mutually_exclusive_group()
    by.add_argument(
        "--questions", type=Path, metavar="FILE.jsonl", help='questions of your own: {"question", "answerable"} a line'
    )
    by.add_argument("--probes", type=_probes, default=0, metavar="N", help="how many questions to make of either kind")
    parser.add_argument("--rules", action="store_true", help="make questions by rules alone, not with the model")
    then = parser.add_mutually_exclusive_group()
    then.add_argument("--apply", action="store_true", help="judge by what is proposed from now on")
    then.add_argument("--forget", action="store_true", help="go back to the grader's own thresholds")


def calibrate(application: Application, options: argparse.Namespace) -> int:
    """Measures where a grader's scores tell answers from none, and proposes thresholds with their precision."""
    check_collection(application, options.collection)
    asked = RunOptions(model=options.model, grader=options.grader, collection=options.collection, k=options.k)
    if options.forget:
        return _forget(application, asked, options.json)
    given = read_given(options.questions) if options.questions else []
    if options.questions and not given:
        raise BadRequest("The file holds no questions.", 'Write one {"question", "answerable"} a line.')
    try:
        measured = _measure(application, asked, Plan(given, options.probes, options.rules))
    except KeyboardInterrupt:
        report_failure("stopped", "Stopped. Nothing was kept.", options.json)
        return FAILED
    proposed = measured.proposal.thresholds
    if options.apply and proposed:
        application.calibration.save(measured)
    past = application.calibration.past(measured.collection, measured.grader, proposed) if proposed else []
    applied = bool(options.apply and proposed)
    finish(options.json, as_json(measured, past, applied), as_text(measured, past, applied))
    return OK if proposed else FAILED


def _measure(application: Application, asked: RunOptions, plan: Plan) -> Calibration:
    stop = Stop()
    try:
        with progress_line("Calibrating") as report:
            return application.calibration.run(asked, plan, report, stop)
    except KeyboardInterrupt:
        stop.request()
        raise


def _forget(application: Application, asked: RunOptions, as_document: bool) -> int:
    grader = application.judging(asked).grader
    forgotten = application.calibration.forget(asked.collection, grader)
    message = "Back to the grader's own thresholds." if forgotten else "There were no calibrated thresholds to forget."
    finish(as_document, {"collection": asked.collection, "grader": grader, "forgotten": forgotten}, message)
    return OK


def _probes(given: str) -> int:
    if not given.isascii() or not given.isdigit() or not LEAST <= int(given) <= MOST_PROBES:
        raise argparse.ArgumentTypeError(f"must be a whole number from {LEAST} to {MOST_PROBES:,}")
    return int(given)
