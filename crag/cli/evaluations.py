"""Commands for stored evaluations and for datasets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand, parse_path, parse_positive, parse_text, write_new_file
from crag.cli.evaluate import (
    EXPORT_FORMATS,
    conclude_evaluation,
    export_content,
    find_dataset,
    follow_evaluation,
    print_evaluation,
)
from crag.cli.evaluation_report import comparison_text, evaluation_line
from crag.cli.reports import Json
from crag.cli.terminal import print_result
from crag.errors import BadRequest
from crag.evaluation.summary import compare_results
from crag.evaluation.types import Dataset, Evaluation, EvaluationResult
from crag.text.formatting import format_count

_MAX_LISTED = 1_000


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("evaluations", list_evaluations)
    command("evaluations list", list_evaluations)
    _add_id_argument(command("evaluations show", show_evaluation))
    comparing = command("evaluations compare", compare_evaluations)
    _add_id_argument(comparing)
    comparing.add_argument("other", type=parse_text, nargs="?", metavar="ID", help="default: the same one")
    comparing.add_argument(
        "--variants",
        type=parse_positive,
        nargs=2,
        metavar="N",
        help="of either, by number from 1 (of one: 1 2; of two: 1 1)",
    )
    _add_id_argument(command("evaluations resume", resume_evaluation))
    _add_id_argument(command("evaluations stop", stop_evaluation))
    judging = command("evaluations judge", judge_evaluation)
    _add_id_argument(judging)
    judging.add_argument("--model", type=parse_text, required=True, help="ollama:NAME or PROVIDER:NAME")
    exporting = command("evaluations export", export_evaluation)
    _add_id_argument(exporting)
    exporting.add_argument("--format", choices=EXPORT_FORMATS, default="csv")
    exporting.add_argument("--output", type=parse_path, metavar="FILE", help="a new file (default: standard output)")
    _add_id_argument(command("evaluations delete", delete_evaluation))
    command("datasets", list_datasets)
    command("datasets list", list_datasets)
    adding = command("datasets add", add_dataset)
    adding.add_argument("file", type=parse_path, metavar="FILE.jsonl", help="one question a line, see docs/datasets.md")
    adding.add_argument("--name", type=parse_text, default="", help="default: that of the file")
    for name, function in (("datasets export", export_dataset), ("datasets delete", delete_dataset)):
        command(name, function).add_argument(
            "dataset", type=parse_text, help="seed, pinned, or a name or id of the list"
        )


def _add_id_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=parse_text, metavar="ID", help="an id of the list, or its beginning")
    parser.set_defaults(output=None, save_preset=None, langsmith=False)


def list_evaluations(application: Application, options: argparse.Namespace) -> int:
    """Lists evaluations, the latest first; shows, compares, continues, judges, exports and deletes them."""
    from crag.evaluation.exports import describe_evaluation

    found = application.evaluations.list(limit=_MAX_LISTED)
    lines = "\n".join(map(evaluation_line, found)) or "There are no evaluations. `evaluate seed` makes one."
    print_result(options.json, {"evaluations": [describe_evaluation(one) for one in found]}, lines)
    return OK


def show_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Shows what an evaluation came to, also while it is worked on."""
    evaluation = _find_evaluation(application, options.id)
    print_evaluation(
        evaluation, application.evaluations.results(evaluation.id), application.evaluations.cutoffs(), options.json
    )
    return OK


def resume_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Goes on with an evaluation: asks what is not answered yet, or failed."""
    evaluation = _find_evaluation(application, options.id)
    application.evaluations.resume(evaluation.id)
    return conclude_evaluation(application, follow_evaluation(application, evaluation.id), options)


def judge_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Has a model judge the answers of an evaluation; they are not asked for again."""
    evaluation = _find_evaluation(application, options.id)
    application.preferences.allow_model_for_process(options.model)
    application.evaluations.judge(evaluation.id, options.model)
    return conclude_evaluation(application, follow_evaluation(application, evaluation.id), options)


def stop_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Stops an evaluation, whichever process works on it; what is answered stays."""
    evaluation = _find_evaluation(application, options.id)
    application.evaluations.stop(evaluation.id)
    print_result(
        options.json, {"stopped": evaluation.id}, f"Stopped “{evaluation.name}”. `evaluations resume` goes on."
    )
    return OK


def delete_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Deletes an evaluation with all of its answers; that cannot be taken back."""
    evaluation = _find_evaluation(application, options.id)
    application.evaluations.delete(evaluation.id)
    print_result(options.json, {"deleted": evaluation.id}, f"Deleted “{evaluation.name}”.")
    return OK


def export_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Writes an evaluation as a table (CSV), as JSON, or as one web page."""
    evaluation = _find_evaluation(application, options.id)
    content = export_content(
        options.format, evaluation, application.evaluations.results(evaluation.id), application.evaluations.cutoffs()
    )
    header = {"exported": evaluation.id, "format": options.format}
    if options.output:
        write_new_file(options.output, content)
        document = header | {"path": str(options.output), "bytes": options.output.stat().st_size}
        print_result(options.json, document, f"Exported to {options.output}.")
    elif options.json:
        print_result(True, header | {"content": content}, "")
    else:
        sys.stdout.write(content)
    return OK


class _ComparedVariant(NamedTuple):
    """One variant of an evaluation, with its results."""

    evaluation: Evaluation
    number: int
    results: Sequence[EvaluationResult]

    @property
    def name(self) -> str:
        """Name that distinguishes it from the other variant."""
        named = f", {self.evaluation.variants[self.number].name}" if len(self.evaluation.variants) > 1 else ""
        return f"{self.evaluation.name}{named} ({self.evaluation.id})"


def compare_evaluations(application: Application, options: argparse.Namespace) -> int:
    """Compares two evaluations, or two variants of one: differences with intervals, what broke, what was mended."""
    numbers = options.variants or ((1, 1) if options.other else (1, 2))
    ids = (options.id, options.other or options.id)
    before, after = (_load_variant(application, id_, number) for id_, number in zip(ids, numbers, strict=True))
    compared = compare_results(before.results, after.results, application.evaluations.cutoffs())
    document = {
        "before": {"id": before.evaluation.id, "variant": before.evaluation.variants[before.number].name},
        "after": {"id": after.evaluation.id, "variant": after.evaluation.variants[after.number].name},
        "examples": compared.examples,
        "differences": [asdict(one) for one in compared.differences],
        "changed": [asdict(one) for one in compared.changed],
    }
    print_result(options.json, document, comparison_text(before.name, after.name, compared))
    return OK


def _load_variant(application: Application, id_: str, number: int) -> _ComparedVariant:
    evaluation = _find_evaluation(application, id_)
    if number > len(evaluation.variants):
        has = "one variant" if len(evaluation.variants) == 1 else f"{len(evaluation.variants)} variants"
        raise BadRequest(f"“{evaluation.name}” has {has}, no number {number}.", "Name two evaluations, or variants.")
    return _ComparedVariant(evaluation, number - 1, application.evaluations.results(evaluation.id, number - 1))


def _find_evaluation(application: Application, id_: str) -> Evaluation:
    """Find an evaluation by its id or a prefix of it. Raises `BadRequest`, `NotFound`."""
    found = [one for one in application.evaluations.list(limit=_MAX_LISTED) if one.id.startswith(id_)] if id_ else []
    if len(found) > 1:
        raise BadRequest(f"Several evaluations begin with “{id_}”.", "Write more of the id.")
    return found[0] if found else application.evaluations.get(id_)


def list_datasets(application: Application, options: argparse.Namespace) -> int:
    """Lists the sets of questions that can be evaluated; adds, exports and deletes them."""
    found = application.datasets.all()
    lines = "\n".join(
        f"{one.id}  {one.name}  ({format_count(len(one.examples), 'question')}, {one.kind})" for one in found
    )
    print_result(options.json, {"datasets": [_dataset_json(one) for one in found]}, lines)
    return OK


def add_dataset(application: Application, options: argparse.Namespace) -> int:
    """Keeps the questions of a JSON Lines file, so that the page has them too; the same name is replaced."""
    file: Path = options.file
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadRequest(f"The file {file.name} cannot be read.", "Check its name and its permissions.") from error
    added = application.datasets.add(options.name or file.stem, data)
    print_result(
        options.json,
        {"added": _dataset_json(added)},
        f"Added “{added.name}”: {format_count(len(added.examples), 'question')}.",
    )
    return OK


def export_dataset(application: Application, options: argparse.Namespace) -> int:
    """Writes a dataset as JSON Lines."""
    dataset = find_dataset(application, options.dataset)
    content = application.datasets.export_json_lines(dataset.id)
    if options.json:
        print_result(True, {"exported": dataset.id, "content": content}, "")
    else:
        sys.stdout.write(content)
    return OK


def delete_dataset(application: Application, options: argparse.Namespace) -> int:
    """Deletes a dataset; evaluations of it keep their questions."""
    dataset = find_dataset(application, options.dataset)
    application.datasets.delete(dataset.id)
    print_result(options.json, {"deleted": dataset.id}, f"Deleted “{dataset.name}”.")
    return OK


def _dataset_json(dataset: Dataset) -> Json:
    return {
        "id": dataset.id,
        "name": dataset.name,
        "kind": dataset.kind,
        "questions": len(dataset.examples),
        "made_at": dataset.made_at,
    }
