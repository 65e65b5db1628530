"""Actions on answerable and unanswerable questions with default and calibrated thresholds.

Run with `python -m benchmarks.thresholds FOLDER`, where FOLDER contains `squad_a` (corpus.jsonl, questions.jsonl with
`answerable`). The paragraphs are added as text files; the questions are split into two stratified halves. Thresholds
are calibrated on one half, and on questions generated from the paragraphs alone; both are tested on the other half. The
web is off, so a question with the action *incorrect* is refused. The unanswerable questions of SQuAD 2.0 were written
by people who saw the paragraph, to look answerable.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.grader_data import read_lines
from benchmarks.paragraph_library import open_paragraphs
from crag.app.application import Application
from crag.evaluation.calibrator import CalibrationPlan
from crag.evaluation.threshold_proposal import (
    ActionShares,
    Calibration,
    ProbeScore,
    ProvidedQuestion,
    measure_thresholds,
    score_separation,
)
from crag.options import RunOptions
from crag.types import Outcome, Thresholds

CURVE = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
OPTIONS = RunOptions(model="builtin")
SEEDS = (0, 1, 2)  # of the generated questions, to see how much depends on the sampled paragraphs
_SPLIT = 0


def main(folder: Path) -> None:
    """Print the proposals, their effect on the other half, the curve, and the outcomes of whole runs."""
    rows = read_lines(folder / "squad_a" / "questions.jsonl")
    calibrated_on, tried_on = split_in_halves(rows)
    with open_paragraphs(folder / "squad_a") as (application, _):
        real = _calibrate(application, CalibrationPlan(_to_provided_questions(calibrated_on)))
        tried = _calibrate(application, CalibrationPlan(_to_provided_questions(tried_on)))
        made = [_calibrate(application, CalibrationPlan(seed=seed)) for seed in SEEDS]
        candidates = {"uncalibrated": real.own, "by the other half": _proposed("by the other half", real)}
        candidates |= {
            f"by made questions, {seed}": _proposed(f"by made questions, {seed}", one)
            for seed, one in zip(SEEDS, made, strict=True)
        }
        _print_separation(real, tried, made)
        _print_actions(tried.scored, candidates)
        _print_curve(tried.scored, made[0].scored)
        _print_runs(application, tried_on, candidates)


def split_in_halves(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Split the rows at random into two halves, each with half of the answerable ones."""
    chance = random.Random(_SPLIT)
    first: list[dict[str, Any]] = []
    second: list[dict[str, Any]] = []
    for answerable in (True, False):
        of_kind = [row for row in rows if row["answerable"] is answerable]
        chance.shuffle(of_kind)
        middle = len(of_kind) // 2
        first += of_kind[:middle]
        second += of_kind[middle:]
    return first, second


def _to_provided_questions(rows: Sequence[dict[str, Any]]) -> list[ProvidedQuestion]:
    return [ProvidedQuestion(row["question"], row["answerable"]) for row in rows]


def _calibrate(application: Application, plan: CalibrationPlan) -> Calibration:
    return application.calibration.run(OPTIONS, plan)


def _proposed(name: str, measured: Calibration) -> Thresholds:
    for remark in measured.proposal.remarks:
        print(f"{name}: {remark}")
    if measured.proposal.thresholds is None:
        raise SystemExit(f"{name}: nothing was proposed.")
    return measured.proposal.thresholds


def _print_separation(real: Calibration, tried: Calibration, made: Sequence[Calibration]) -> None:
    sets = {"half calibrated on": real, "half tried on": tried}
    sets |= {f"made questions, {seed}": one for seed, one in zip(SEEDS, made, strict=True)}
    print(f"\n{'':28}{'answered':>10}{'not':>8}{'AUC':>8}")
    for name, one in sets.items():
        answered = sum(scored.answerable for scored in one.scored)
        print(f"{name:28}{answered:>10}{len(one.scored) - answered:>8}{score_separation(one.scored) or 0:>8.3f}")


def _print_actions(scored: Sequence[ProbeScore], candidates: dict[str, Thresholds]) -> None:
    print("\nActions on the half tried on: answerable | unanswerable, each correct / ambiguous / refused; precisions")
    for name, thresholds in candidates.items():
        figures = measure_thresholds(scored, thresholds)
        print(
            f"{name:24}{thresholds.lower:>6g}{thresholds.upper:>6g}  {_format_shares(figures.answerable)} |"
            f" {_format_shares(figures.unanswerable)}  correct {figures.correct.value or 0:.3f},"
            f" refused {figures.incorrect.value or 0:.3f}"
        )


def _format_shares(outcomes: ActionShares) -> str:
    return " / ".join(f"{outcomes.shares[action]:.3f}" for action in ("correct", "ambiguous", "incorrect"))


def _print_curve(tried: Sequence[ProbeScore], made: Sequence[ProbeScore]) -> None:
    print(
        "\nBy lower threshold: answerable not refused, unanswerable refused; of the half tried on and of made questions"
    )
    for at in CURVE:
        cells = []
        for scored in (tried, made):
            figures = measure_thresholds(scored, Thresholds(at, at))
            kept = 1 - figures.answerable.shares["incorrect"]
            cells.append(f"{kept:>8.3f}{figures.unanswerable.shares['incorrect']:>8.3f}")
        print(f"{at:>6g}{'   '.join(cells)}")


def _print_runs(application: Application, rows: Sequence[dict[str, Any]], candidates: dict[str, Thresholds]) -> None:
    """Print outcomes of whole runs on the test half; *not answered* can also follow other actions."""
    print("\nOutcomes of whole runs: answerable answered from the documents, unanswerable not answered")
    for name in ("uncalibrated", "by the other half", f"by made questions, {SEEDS[0]}"):
        outcomes = [(row["answerable"], _outcome(application, row["question"], candidates[name])) for row in rows]
        answered = [outcome == "documents" for answerable, outcome in outcomes if answerable]
        refused = [outcome == "not_answered" for answerable, outcome in outcomes if not answerable]
        print(f"{name:24}{sum(answered) / len(answered):>8.3f}{sum(refused) / len(refused):>8.3f}")


def _outcome(application: Application, question: str, thresholds: Thresholds) -> Outcome | None:
    run = application.runs.start(None, question, RunOptions(model="builtin", thresholds=thresholds))
    list(run.follow())
    return application.runs.trace(run.id).outcome


if __name__ == "__main__":
    main(Path(sys.argv[1]))
