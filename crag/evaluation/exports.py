"""An evaluation as JSON and CSV, and its settings as rows of titles and values."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crag.evaluation.metrics import METRICS, is_answer_right
from crag.evaluation.summary import summarise_results
from crag.evaluation.types import Cutoffs, Environment, Evaluation, EvaluationResult, Example, Variant
from crag.inspection.run_labels import POLICY_LABELS
from crag.models.model_choice import model_label
from crag.options import GRADERS, OPTIONS, RunOptions, diff_options, get_option, list_option_names
from crag.text.sanitization import strip_invisible, to_one_line
from crag.types import Thresholds

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
            "variants": [
                _summary_fields(variant, [result for result in results if result.variant == number], cutoffs)
                for number, variant in enumerate(evaluation.variants)
            ],
        },
        "rows": [_result_fields(evaluation, result, cutoffs) for result in results],
    }


def describe_evaluation(evaluation: Evaluation) -> JsonObject:
    """Return what was evaluated, its conditions and its progress, without the owner, which stays in the home."""
    described = {name: value for name, value in asdict(evaluation).items() if name not in ("person", "dataset_id")}
    return described | {"total": evaluation.total}


def _summary_fields(variant: Variant, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> JsonObject:
    summary = summarise_results(results, cutoffs)
    return {
        "variant": variant.name,
        "answers": len(results),
        "failed": summary.failed,
        "figures": {
            name: {"value": figure.value, "low": figure.low, "high": figure.high, "n": figure.n}
            for name, figure in summary.figures.items()
        },
        "actions": [asdict(one) for one in summary.actions],
        "nodes": {node: asdict(cost) for node, cost in summary.nodes.items()},
    }


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
        "right": is_answer_right(result, cutoffs),
        "judged": asdict(result.judged) if result.judged else None,
        "label": result.label,
        **asdict(scored),
    }


def _example_fields(example: Example) -> JsonObject:
    """Return the question and what is known about its right answer."""
    known = asdict(example)
    return {"key": known.pop("key"), "question": known.pop("question"), "expected": known}


CsvCell = str | int | float | None
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")  # spreadsheets evaluate such cells (OWASP, CSV injection)
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
_SCORE_COLUMNS = [name for name in METRICS if name not in ("answer_right", "judged", *_CSV_COLUMNS)]


def export_csv(evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Return the table with a header row; cells that do not apply are empty, and no cell is a formula."""
    written = io.StringIO()
    writer = csv.DictWriter(written, ["variant", "right", *_CSV_COLUMNS, *_SCORE_COLUMNS], lineterminator="\n")
    writer.writeheader()
    for result in results:
        row = {name: _escape_formula(read(result)) for name, read in _CSV_COLUMNS.items()}
        variant = _escape_formula(evaluation.variants[result.variant].name)
        scores = {name: result.scored.scores.get(name) for name in _SCORE_COLUMNS}
        writer.writerow({"variant": variant, "right": _bool_to_int(is_answer_right(result, cutoffs)), **row, **scores})
    return written.getvalue()


def _bool_to_int(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _escape_formula(cell: CsvCell) -> CsvCell:
    """Put an apostrophe before text that a spreadsheet would evaluate as a formula."""
    if not isinstance(cell, str):
        return cell
    text = strip_invisible(cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


_OPTION_TITLES = {
    "model": "Model that answers",
    "grader_model": "Model that grades",
    "rewriter_model": "Model that rewrites",
    "k": "Passages (k)",
    "web_results": "Web results",
    "join_web": "Web results as one passage",
    "passage_size": "Passage size in tokens",
    "collection": "Collection",
    "source_ids": "Documents asked",
    "thresholds": "Thresholds",
    "preset": "Preset",
}
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
_CHOICE_LABELS: Mapping[str, Mapping[Any, tuple[str, str]]] = {"policy": POLICY_LABELS, "grader": GRADERS}
_EMPTY_MEANS = {
    "grader_model": "automatic",
    "rewriter_model": "automatic",
    "collection": "the whole library",
    "source_ids": "all",
    "thresholds": "automatic",
    "passage_size": "as in the library",
}


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting with its value in each variant; a single value if all variants share it."""

    title: str
    values: Sequence[str]


def setting_rows(variants: Sequence[Variant]) -> list[SettingRow]:
    """Return the environment first, then every setting, without rows that are empty in all variants."""
    names = _listed_options(variants)
    columns = [_environment_values(variant.environment) | _option_values(variant, names) for variant in variants]
    rows = [(title, [column[title] for column in columns]) for title in columns[0]]
    return [SettingRow(title, values[:1] if len(set(values)) == 1 else values) for title, values in rows if any(values)]


def _environment_values(environment: Environment) -> dict[str, str]:
    values = asdict(environment)
    return {title: _format_option_value(values[name]) for name, title in _ENVIRONMENT_TITLES.items()}


def _option_values(variant: Variant, names: Sequence[str]) -> dict[str, str]:
    told = {}
    for name in names:
        value = get_option(variant.options, name)
        title = _OPTION_TITLES.get(name) or OPTIONS[name].title
        told[title] = _EMPTY_MEANS[name] if name in _EMPTY_MEANS and not value else _option_label(name, value)
    return told


def _option_label(name: str, value: Any) -> str:
    """Return the on-screen label of a value."""
    if name.endswith("model"):
        return to_one_line(model_label(value))
    words = _CHOICE_LABELS.get(name, {})
    return words[value][0] if value in words else _format_option_value(value)


def _listed_options(variants: Sequence[Variant]) -> list[str]:
    """Return all options with a title; model tuning only if any variant changes it."""
    usual = RunOptions()
    tuned = {name for one in variants for name in diff_options(usual, one.options)}
    names = [name for name in list_option_names() if name in _OPTION_TITLES or name in OPTIONS]
    return [name for name in names if "." not in name or name in tuned]


def _format_option_value(value: object) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case Thresholds():
            return f"{value.lower:g} and {value.upper:g}"
        case int():
            return f"{value:,}"
        case tuple():
            return f"{len(value):,}"
        case None:
            return ""
    return to_one_line(str(value))
