"""An evaluation as JSON and CSV, and its settings as rows of titles and values."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crag.evaluation.metrics import METRICS, is_answer_right, score_truthfulness
from crag.evaluation.summary import summarise_results
from crag.evaluation.types import Cutoffs, Environment, Evaluation, EvaluationResult, Example, Variant
from crag.inspection.run_labels import format_option_value
from crag.options import OPTIONS, RunOptions, diff_options, get_option
from crag.text.sanitization import CsvCell, escape_formula, to_one_line

JsonObject = dict[str, Any]


def export_json(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Return the document as JSON text for a file."""
    return json.dumps(evaluation_document(evaluation, results, cutoffs), ensure_ascii=False, indent=1) + "\n"


def evaluation_document(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> JsonObject:
    """Return `evaluation`, `summary` (figures with their interval and n) and `rows`, one per answer."""
    return {
        "evaluation": describe_evaluation(evaluation),
        "summary": {
            "cutoffs": asdict(cutoffs),
            "variants": summarize_variants(evaluation, results, cutoffs),
        },
        "rows": [_result_fields(evaluation, result, cutoffs) for result in results],
    }


def summarize_variants(
    evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs
) -> list[JsonObject]:
    """Return the figures of each variant."""
    return [
        _summary_fields(variant, [result for result in results if result.variant == number], cutoffs)
        for number, variant in enumerate(evaluation.variants)
    ]


def describe_evaluation(evaluation: Evaluation) -> JsonObject:
    """Return what was evaluated, its conditions and its progress, without the owner, which stays in the home."""
    described = {name: value for name, value in asdict(evaluation).items() if name not in ("owner_id", "dataset_id")}
    return described | {"total": evaluation.total}


def _summary_fields(variant: Variant, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> JsonObject:
    summary = summarise_results(results, cutoffs)
    return {
        "variant": variant.name,
        "answers": len(results),
        "failed": summary.failed,
        "labelled": summary.labelled,
        "figures": {
            name: {"value": figure.value, "low": figure.low, "high": figure.high, "n": figure.n}
            for name, figure in summary.figures.items()
        },
        "actions": _count_actions(results),
        "nodes": {node: asdict(cost) for node, cost in summary.nodes.items()},
    }


def _count_actions(results: Sequence[EvaluationResult]) -> list[JsonObject]:
    """Return how often each action was taken where each was expected; empty: unknown, or nothing was graded."""
    done = (result for result in results if result.state == "done")
    counts = Counter((result.example.action or "", result.scored.action or "") for result in done)
    return [
        {"expected": expected, "actual": actual, "count": count} for (expected, actual), count in sorted(counts.items())
    ]


def _result_fields(evaluation: Evaluation, result: EvaluationResult, cutoffs: Cutoffs) -> JsonObject:
    scored = result.scored
    return {
        "variant": evaluation.variants[result.variant].name,
        "number": result.number + 1,
        "repetition": result.repetition,
        **_example_fields(result.example),
        "run_id": result.run_id,
        "state": result.state,
        "error": result.error,
        "truthfulness": score_truthfulness(result, cutoffs),
        "right": is_answer_right(result, cutoffs),
        "judged": asdict(result.judged) if result.judged else None,
        "label": result.label,
        **asdict(scored),
    }


def _example_fields(example: Example) -> JsonObject:
    """Return the question and what is known about its right answer."""
    known = asdict(example)
    return {"key": known.pop("key"), "question": known.pop("question"), "expected": known}


_LIST_SEPARATOR = " | "

_CSV_COLUMNS: dict[str, Callable[[EvaluationResult], CsvCell]] = {
    "number": lambda one: one.number + 1,
    "repetition": lambda one: one.repetition,
    "key": lambda one: one.example.key,
    "language": lambda one: one.example.language,
    "question": lambda one: one.example.question,
    "references": lambda one: _LIST_SEPARATOR.join(one.example.references),
    "answer": lambda one: one.scored.answer,
    "state": lambda one: one.state,
    "error": lambda one: one.error,
    "expected_action": lambda one: one.example.action,
    "action": lambda one: one.scored.action,
    "outcome": lambda one: one.scored.outcome,
    "sufficiency": lambda one: one.scored.sufficiency,
    "expected_steps": lambda one: _LIST_SEPARATOR.join(map(", ".join, one.example.steps)),
    "steps": lambda one: ", ".join(one.scored.steps),
    "best_score": lambda one: one.scored.best,
    "text_score": lambda one: one.scored.text_score,
    "judge": lambda one: one.judged.model if one.judged else None,
    "judge_score": lambda one: one.judged.score if one.judged else None,
    "judge_reason": lambda one: one.judged.reason if one.judged else None,
    "label": lambda one: _bool_to_int(one.label),
    "passages": lambda one: len(one.scored.grades) or None,
    "passages_relevant": lambda one: sum(grade.relevant for grade in one.scored.grades) if one.scored.grades else None,
    "seconds": lambda one: one.scored.seconds,
    "tokens": lambda one: one.scored.tokens,
    "run_id": lambda one: one.run_id,
}
_SCORE_COLUMNS = [name for name in METRICS if name not in ("truthfulness", "answer_right", "judged", *_CSV_COLUMNS)]


def export_csv(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Return the table with a header row; cells that do not apply are empty, and no cell is a formula."""
    written = io.StringIO()
    columns = ["variant", "truthfulness", "right", *_CSV_COLUMNS, *_SCORE_COLUMNS]
    writer = csv.DictWriter(written, columns, lineterminator="\n")
    writer.writeheader()
    for result in results:
        row = {
            "variant": escape_formula(evaluation.variants[result.variant].name),
            "truthfulness": score_truthfulness(result, cutoffs),
            "right": _bool_to_int(is_answer_right(result, cutoffs)),
        }
        row |= {name: escape_formula(read(result)) for name, read in _CSV_COLUMNS.items()}
        writer.writerow(row | {name: result.scored.scores.get(name) for name in _SCORE_COLUMNS})
    return written.getvalue()


def _bool_to_int(value: bool | None) -> int | None:
    return None if value is None else int(value)


_ENVIRONMENT_TITLES = {
    "model": "Answered by",
    "fingerprint": "Digest of that model",
    "grader": "Graded by",
    "embedder": "Embedded by",
    "space": "Embedding space",
    "library": "Digest of the library",
    "documents": "Documents",
    "passages": "Passages",
    "thresholds": "Thresholds in force",
    "version": "Version of CRAG Chat",
}


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting with its value in each variant; a single value if all variants share it."""

    title: str
    values: Sequence[str]


def setting_rows(variants: Sequence[Variant]) -> list[SettingRow]:
    """Return the environment first, then every setting, without rows that are empty in all variants."""
    usual = RunOptions()
    changed = {name for one in variants for name in diff_options(usual, one.options)}
    names = [name for name, option in OPTIONS.items() if not option.role or name in changed]
    columns = [_environment_values(variant.environment) | _option_values(variant, names) for variant in variants]
    rows = [(title, [column[title] for column in columns]) for title in columns[0]]
    return [SettingRow(title, values[:1] if len(set(values)) == 1 else values) for title, values in rows if any(values)]


def _environment_values(environment: Environment) -> dict[str, str]:
    values = asdict(environment)
    return {title: _format_environment_value(values[name]) for name, title in _ENVIRONMENT_TITLES.items()}


def _format_environment_value(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else to_one_line(value)


def _option_values(variant: Variant, names: Sequence[str]) -> dict[str, str]:
    values = {name: get_option(variant.options, name) for name in names}
    return {OPTIONS[name].title: to_one_line(format_option_value(name, value)) for name, value in values.items()}
