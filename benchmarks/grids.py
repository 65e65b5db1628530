"""Grid evaluation of 200 questions, killed half-way and resumed: `python -m benchmarks.grids FOLDER HOME`.

FOLDER contains `squad_a` (corpus.jsonl, questions.jsonl); HOME is a new folder that keeps the evaluation. The command
line evaluates in a process of its own, which is ended by SIGKILL. This process resumes the evaluation, counts how many
finished answers were generated again, and prints the variants, best first.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from crag.app.application import open_application
from crag.evaluation.grid import rank_variants
from crag.evaluation.metrics import format_figure
from crag.evaluation.records import EvaluationRows
from crag.evaluation.types import Cutoffs, Evaluation, EvaluationResult
from crag.settings import Settings
from crag.storage.engine import Database

AXES = ("policy=paper,any,off", "k=2,4,8", "refine=on,off")
QUESTIONS = 200
SHOWN = ("answer_right", "refusal_right", "recall", "supported", "seconds")
_POLL_SECONDS = 0.2


def main(folder: Path, home: Path) -> None:
    """Print what was kept when the process was killed, what was asked again, and the table."""
    with subprocess.Popen(_command(folder / "squad_a", home), stdout=subprocess.DEVNULL) as process:
        killed = _kill_half_way(process, home)
    with closing(open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))) as application:
        before = _runs(application.evaluations.results(killed.id))
        left = application.evaluations.get(killed.id)
        print(f"killed at {left.done:,} of {left.total:,} answers: {left.state}")
        application.evaluations.resume(killed.id)
        done = application.evaluations.wait(killed.id)
        results = application.evaluations.results(killed.id)
        after = _runs(results)
        again = sum(after[place] != run_id for place, run_id in before.items())
        print(f"{done.state}: {done.done:,} answers in {done.seconds:.0f} s; {again} of those kept were asked again\n")
        _print_table(done, results)


def _command(data_set: Path, home: Path) -> list[str]:
    grid = [part for axis in AXES for part in ("--grid", axis)]
    given = ["--corpus", str(data_set / "corpus.jsonl"), "--sample", str(QUESTIONS), "--model", "builtin", *grid]
    return [sys.executable, "-m", "crag", "evaluate", str(data_set / "questions.jsonl"), "--home", str(home), *given]


def _kill_half_way(process: subprocess.Popen[bytes], home: Path) -> Evaluation:
    """Kill the process half-way and return the evaluation as it was; raise SystemExit if the process ended earlier."""
    while process.poll() is None:
        time.sleep(_POLL_SECONDS)
        if (home / "crag.sqlite").exists() and (begun := _latest(home)) and begun.done * 2 >= begun.total:
            process.kill()
            return begun
    raise SystemExit("It ended before it could be killed.")


def _latest(home: Path) -> Evaluation | None:
    database = Database(home)
    with closing(database):
        return next(iter(EvaluationRows(database).list(1)), None)


def _runs(results: Sequence[EvaluationResult]) -> dict[tuple[int, int, int], str]:
    return {(one.variant, one.number, one.repetition): one.run_id for one in results}


def _print_table(evaluation: Evaluation, results: Sequence[EvaluationResult]) -> None:
    print(f"| Settings | {' | '.join(SHOWN)} |\n|---|{'--:|' * len(SHOWN)}")
    for ranked in rank_variants(evaluation, results, Cutoffs()):
        figures = (ranked.summary.figures.get(name) for name in SHOWN)
        print(f"| {ranked.variant.name} | {' | '.join(format_figure(one) if one else '' for one in figures)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
