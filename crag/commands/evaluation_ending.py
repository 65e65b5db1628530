"""Final steps of an evaluation: print, export, upload, save the best settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from crag.assembly import Application
from crag.commands.arguments import FAILED, OK
from crag.commands.evaluation_arguments import output_format
from crag.commands.evaluation_report import as_text
from crag.commands.files import write_new
from crag.commands.progress import progress_line
from crag.commands.tasks import stopped_by_signals
from crag.errors import Stopped
from crag.evaluate.grid import best
from crag.evaluate.values import Cutoffs, Evaluation, Result
from crag.terminal import finish, remark


def show(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs, as_json: bool) -> None:
    """Print an evaluation as the JSON document or as text tables."""
    from crag.evaluate.exports.document import as_document

    if as_json:
        finish(True, as_document(evaluation, results, cutoffs), "")
    else:
        finish(False, {}, as_text(evaluation, results, cutoffs))


def exported(form: str, evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> str:
    """Return an evaluation in one of the export formats."""
    from crag.evaluate.exports import as_csv, as_html, as_json

    return {"csv": as_csv, "json": as_json, "html": as_html}[form](evaluation, results, cutoffs)


def conclude(application: Application, evaluation: Evaluation, options: argparse.Namespace) -> int:
    """Print the results, perform the requested outputs, and return the exit code."""
    results, cutoffs = application.evaluations.results(evaluation.id), application.evaluations.cutoffs()
    show(evaluation, results, cutoffs, options.json)
    if options.output:
        write_new(options.output, exported(output_format(options.output), evaluation, results, cutoffs))
        remark(f"Written to {options.output}.")
    is_done = evaluation.state == "done"
    if is_done and options.save_preset is not None:
        _save_best(application, evaluation, results, cutoffs, options.save_preset)
    if is_done and options.langsmith:
        _upload(application, evaluation, results)
    return OK if is_done and not evaluation.failed else FAILED


def _save_best(
    application: Application, evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs, name: str
) -> None:
    found = best(evaluation, results, cutoffs)
    if found is None:
        remark("No preset was kept: of no answer it is known whether it is right.")
        return
    application.preferences.save_preset(name, found.variant.options)
    remark(f"Kept as the preset “{name}”: {found.variant.name}.")


def _upload(application: Application, evaluation: Evaluation, results: Sequence[Result]) -> None:
    remark(application.uploads.announce(evaluation))
    try:
        with stopped_by_signals() as stop, progress_line("LangSmith") as report:
            address = application.uploads.upload(evaluation, results, report, stop)
    except Stopped:
        remark("Stopped. What was sent is there; sending it again goes on.")
        return
    remark(f"To be seen at {address}")
