"""An evaluation as one JSON document: its conditions, its summary, and every answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from crag.evaluate.datasets.examples import Example
from crag.evaluate.figures.summary import summarise
from crag.evaluate.figures.verdicts import right
from crag.evaluate.values import Cutoffs, Evaluation, Result, Variant

Json = dict[str, Any]


def as_json(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> str:
    """Return the document as JSON text for a file."""
    return json.dumps(as_document(evaluation, results, cutoffs), ensure_ascii=False, indent=1) + "\n"


def as_document(evaluation: Evaluation, results: Sequence[Result], cutoffs: Cutoffs) -> Json:
    """Return `evaluation`, `summary` (figures with their interval and n) and `rows`, one per answer."""
    return {
        "evaluation": describe(evaluation),
        "summary": {
            "cutoffs": asdict(cutoffs),
            "variants": [
                _summary(variant, [result for result in results if result.variant == number], cutoffs)
                for number, variant in enumerate(evaluation.variants)
            ],
        },
        "rows": [_row(evaluation, result, cutoffs) for result in results],
    }


def describe(evaluation: Evaluation) -> Json:
    """Return what was evaluated, its conditions and its progress, without the owner, which stays in the home."""
    described = {name: value for name, value in asdict(evaluation).items() if name not in ("person", "dataset_id")}
    return described | {"total": evaluation.total}


def _summary(variant: Variant, results: Sequence[Result], cutoffs: Cutoffs) -> Json:
    summary = summarise(results, cutoffs)
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


def _row(evaluation: Evaluation, result: Result, cutoffs: Cutoffs) -> Json:
    scored = result.scored
    return {
        "variant": evaluation.variants[result.variant].name,
        "number": result.number + 1,
        "repetition": result.repetition,
        **_expected(result.example),
        "run_id": result.run_id,
        "state": result.state,
        "error": result.error,
        "right": right(result, cutoffs),
        "judged": asdict(result.judged) if result.judged else None,
        "label": result.label,
        **asdict(scored),
    }


def _expected(example: Example) -> Json:
    """Return the question and what is known about its right answer."""
    known = asdict(example)
    return {"key": known.pop("key"), "question": known.pop("question"), "expected": known}
