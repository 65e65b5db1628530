"""Evaluation of questions with known passages and answers: `python -m benchmarks.builtin_quality FOLDER [SET …]`.

FOLDER contains, for each set, `corpus.jsonl` (the passages, added as a collection) and `questions.jsonl`. The built-in
engine answers with the default options of a new home. Prints one table with intervals and, for each set, answers per
second and the memory of the process over time.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from crag.app.application import open_application
from crag.evaluation.corpus import add_corpus
from crag.evaluation.dataset_format import read_dataset
from crag.evaluation.metrics import METRICS, format_interval, format_metric_value
from crag.evaluation.summary import summarise_results
from crag.evaluation.types import Evaluation, EvaluationPlan, EvaluationResult, Figure, Variant
from crag.options import RunOptions
from crag.settings import Settings
from crag.types import Progress

SETS = ("squad_a", "korquad_a", "drcd_a")
SHOWN = (
    "truthfulness",
    "recall",
    "reciprocal_rank",
    "answer_right",
    "contained",
    "token_f1",
    "answered",
    "refused",
    "refusal_right",
    "supported",
    "cited",
    "grader_precision",
    "grader_recall",
    "grader_auc",
)
_SAMPLES = 10


@dataclass
class Watch:
    """Samples of this process's memory in MB, one for each tenth of the answers."""

    began: float = field(default_factory=time.monotonic)
    memory: list[int] = field(default_factory=list)

    def report(self, progress: Progress) -> None:
        """Take a sample if another tenth of the answers is done."""
        if progress.total and progress.done * _SAMPLES >= progress.total * (len(self.memory) + 1):
            self.memory.append(psutil.Process(os.getpid()).memory_info().rss // 1_000_000)


def main(folder: Path, sets: tuple[str, ...] = SETS) -> None:
    """Print the table, then speed and memory."""
    measured = {name: _measure(folder / name) for name in sets}
    figures = {name: summarise_results(results).figures for name, (_, results, _) in measured.items()}
    print(f"\n| Figure | {' | '.join(sets)} |\n|---|{'--:|' * len(sets)}")
    for metric in SHOWN:
        cells = (_cell(figures[name].get(metric)) for name in sets)
        print(f"| {METRICS[metric].title} | {' | '.join(cells)} |")
    for action in ("correct", "ambiguous", "incorrect"):
        print(f"| Action {action} | {' | '.join(_actions(measured[name][1], action) for name in sets)} |")
    for name, (evaluation, _, watch) in measured.items():
        rate = evaluation.done / evaluation.seconds
        print(f"\n{name}: {evaluation.done:,} answers in {evaluation.seconds:.1f} s, {rate:.1f} a second;", end="")
        print(f" {evaluation.failed} failed; memory in MB, tenth by tenth: {watch.memory}")


def _measure(data_set: Path) -> tuple[Evaluation, list[EvaluationResult], Watch]:
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), chat_model="builtin", embedder="builtin")
        with closing(open_application(settings)) as application:
            add_corpus(application.library, data_set / "corpus.jsonl", data_set.name)
            options = RunOptions(model="builtin", collection=data_set.name)
            plan = EvaluationPlan(read_dataset(data_set / "questions.jsonl"), [Variant("built-in", options)])
            watch = Watch()
            done = application.evaluations.wait(application.evaluations.begin(plan).id, watch.report)
            if done.state != "done":
                raise SystemExit(f"{data_set.name}: {done.state}. {done.fault}")
            return done, list(application.evaluations.results(done.id)), watch


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    return f"{format_metric_value(figure.metric, figure.value)} ({format_interval(figure)}), n={figure.n:,}"


def _actions(results: list[EvaluationResult], action: str) -> str:
    """Return the share of the action among answerable and among unanswerable questions."""
    cells = []
    for answerable in (True, False):
        of_kind = [one for one in results if one.example.answerable is answerable]
        if of_kind:
            share = sum(one.scored.action == action for one in of_kind) / len(of_kind)
            cells.append(f"{share:.1%}")
    return " / ".join(cells)


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(sys.argv[2:]) or SETS)
