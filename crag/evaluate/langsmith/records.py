"""LangSmith records of an evaluation (pure): questions, answers and scores, never a passage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from crag.evaluate.datasets.examples import Example
from crag.evaluate.values import Evaluation, Result, Variant
from crag.options import dump_changes, names_of_options, value_of

_DIGITS = 12  # digits of a digest or id in a name
_NOT_TOLD = ("collection", "source_ids")  # the contents of the library stay private
_OVER = ("done", "failed")

Record = dict[str, Any]


def dataset_name(evaluation: Evaluation) -> str:
    """Return a name that is equal for equal examples, so that their evaluations share one dataset."""
    return f"{evaluation.dataset} · {evaluation.digest[:_DIGITS]}"


def experiment_name(evaluation: Evaluation, variant: Variant) -> str:
    """Return a name that is stable for one variant of one evaluation, even after a rename."""
    return f"{evaluation.dataset} · {variant.name} · {evaluation.id[:_DIGITS]}"


def experiment_metadata(evaluation: Evaluation, variant: Variant) -> Record:
    """Return what the answers depend on: settings, digests of models and library, version."""
    told = {name: value_of(variant.options, name) for name in names_of_options() if name not in _NOT_TOLD}
    return {
        "evaluation": evaluation.name,
        "evaluation_id": evaluation.id,
        "examples_digest": evaluation.digest,
        "variant": variant.name,
        "repetitions": evaluation.repetitions,
        "judge": evaluation.judge,
        "settings": json.loads(dump_changes(told)),
        "environment": asdict(variant.environment),
    }


def answered(results: Sequence[Result]) -> list[Result]:
    """Return the results that have finished, failed ones included."""
    return [result for result in results if result.state in _OVER]


def example_id(dataset: UUID, example: Example) -> UUID:
    """Return a stable id that is unique to the dataset, since all users of a server share the id space."""
    return uuid5(dataset, example.key)


def example_record(dataset: UUID, example: Example) -> Record:
    """Return a question with what is known about its right answer; phrases of right passages stay here."""
    outputs = {
        "reference": example.references[0] if example.references else None,
        "references": list(example.references),
        "expected_steps": [list(steps) for steps in example.steps],
        "expected_action": example.action,
        "answerable": example.answerable,
        "must_mention": list(example.must_mention),
        "must_not_mention": list(example.must_not_mention),
    }
    return {
        "id": str(example_id(dataset, example)),
        "inputs": {"question": example.question},
        "reference_outputs": {name: value for name, value in outputs.items() if value not in (None, [])},
        "metadata": {"key": example.key, "language": example.language},
    }


def run_record(dataset: UUID, experiment: UUID, evaluation: Evaluation, result: Result) -> Record:
    """Return one answer as a run of its experiment."""
    scored = result.scored
    began = result.started_at or evaluation.started_at
    run_id = _run_id(experiment, result)
    return {
        "id": run_id,
        "trace_id": run_id,
        "dotted_order": f"{_moment(began):%Y%m%dT%H%M%S%fZ}{run_id}",
        "session_id": str(experiment),
        "reference_example_id": str(example_id(dataset, result.example)),
        "name": "CRAG Chat",
        "run_type": "chain",
        "start_time": _moment(began).isoformat(),
        "end_time": _moment(began + scored.seconds).isoformat(),
        "inputs": {"question": result.example.question},
        "outputs": {
            "answer": scored.answer,
            "steps": list(scored.steps),
            "action": scored.action,
            "outcome": scored.outcome,
        },
        "error": result.error or None,
        "extra": {"metadata": {"repetition": result.repetition, "tokens": scored.tokens}},
    }


def feedback_records(experiment: UUID, evaluation: Evaluation, result: Result) -> Iterator[Record]:
    """Yield each score of an answer, the judge's with its reason, and the human label."""
    run_id = _run_id(experiment, result)
    at = _moment((result.started_at or evaluation.started_at) + result.scored.seconds).isoformat()

    def record(key: str, score: float | None, comment: str = "", model: str = "") -> Record:
        source = {"type": "model", "metadata": {"model": model}} if model else {"type": "api", "metadata": {}}
        given = {"id": str(uuid5(UUID(run_id), key)), "run_id": run_id, "trace_id": run_id, "key": key, "score": score}
        return {**given, "comment": comment or None, "feedback_source": source, "created_at": at, "modified_at": at}

    for name, score in result.scored.scores.items():
        if name != "judged":
            yield record(name, score)
    if judged := result.judged:
        yield record("judged", judged.score, judged.reason, judged.model)
    if result.label is not None:
        yield record("label", float(result.label), "Said by a person.")


def _run_id(experiment: UUID, result: Result) -> str:
    return str(uuid5(experiment, f"{result.number}/{result.repetition}"))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
