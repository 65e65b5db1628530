"""Progress of a running evaluation on a terminal; Ctrl-C stops it and keeps its answers."""

from __future__ import annotations

from crag.amounts import duration
from crag.assembly import Application
from crag.commands.progress import progress_line, stage_and_count
from crag.commands.tasks import stopped_by_signals
from crag.evaluate.values import Evaluation
from crag.terminal import remark
from crag.types import Progress


def follow(application: Application, evaluation_id: str) -> Evaluation:
    """Wait until an evaluation ends or stops and return it; if it is not done, print how to resume it."""
    evaluations = application.evaluations

    def tell(progress: Progress) -> str:
        left = evaluations.get(evaluation_id).seconds_left
        return stage_and_count(progress) + (f", {duration(left)} left" if left else "")

    name = evaluations.get(evaluation_id).name
    with (
        stopped_by_signals() as stop,
        stop.breaking(lambda: evaluations.stop(evaluation_id)),
        progress_line(name, tell) as report,
    ):
        evaluation = evaluations.wait(evaluation_id, report)
    if evaluation.state != "done":
        remark(_why(evaluation))
    return evaluation


def _why(evaluation: Evaluation) -> str:
    why = evaluation.fault or f"It was {evaluation.state}."
    kept = f"{evaluation.done:,} of {evaluation.total:,} answers are kept."
    return f"{why}\n{kept} To go on: python -m crag evaluations resume {evaluation.id}"
