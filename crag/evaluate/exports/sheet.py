"""An evaluation as CSV: one row per answer, with all its scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from crag.evaluate.figures.metrics import METRICS
from crag.evaluate.figures.verdicts import right
from crag.evaluate.values import Cutoffs, Evaluation, Result
from crag.foreign_text import visible

Cell = str | int | float | None
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # spreadsheets evaluate such cells (OWASP, CSV injection)
_SEVERAL = " | "

_COLUMNS: dict[str, Callable[[Result], Cell]] = {
    "number": lambda one: one.number + 1,
    "repetition": lambda one: one.repetition,
    "key": lambda one: one.example.key,
    "language": lambda one: one.example.language,
    "question": lambda one: one.example.question,
    "references": lambda one: _SEVERAL.join(one.example.references),
    "answer": lambda one: one.scored.answer,
    "state": lambda one: one.state,
    "error": lambda one: one.error,
    "expected_action": lambda one: one.example.action,
    "action": lambda one: one.scored.action,
    "outcome": lambda one: one.scored.outcome,
    "expected_steps": lambda one: _SEVERAL.join(map(", ".join, one.example.steps)),
    "steps": lambda one: ", ".join(one.scored.steps),
    "best_score": lambda one: one.scored.best,
    "text_score": lambda one: one.scored.text_score,
    "judge": lambda one: one.judged.model if one.judged else None,
    "judge_score": lambda one: one.judged.score if one.judged else None,
    "judge_reason": lambda one: one.judged.reason if one.judged else None,
    "label": lambda one: _truth(one.label),
    "passages": lambda one: len(one.scored.grades) or None,
    "passages_relevant": lambda one: sum(grade.relevant for grade in one.scored.grades) if one.scored.grades else None,
    "seconds": lambda one: one.scored.seconds,
    "tokens": lambda one: one.scored.tokens,
    "run_id": lambda one: one.run_id,
}
_SCORES = [name for name in METRICS if name not in ("answer_right", "judged", *_COLUMNS)]


def as_csv(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> str:
    """Return the table with a header row; cells that do not apply are empty, and no cell is a formula."""
    written = io.StringIO()
    writer = csv.DictWriter(written, ["variant", "right", *_COLUMNS, *_SCORES], lineterminator="\n")
    writer.writeheader()
    for result in results:
        row = {name: _harmless(read(result)) for name, read in _COLUMNS.items()}
        variant = _harmless(evaluation.variants[result.variant].name)
        scores = {name: result.scored.scores.get(name) for name in _SCORES}
        writer.writerow({"variant": variant, "right": _truth(right(result, cutoffs)), **row, **scores})
    return written.getvalue()


def _truth(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _harmless(cell: Cell) -> Cell:
    """Put an apostrophe before text that a spreadsheet would evaluate as a formula."""
    if not isinstance(cell, str):
        return cell
    text = visible(cell)
    return f"'{text}" if text.startswith(_FORMULA) else text
