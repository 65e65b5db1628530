"""Commands for stored evaluations and for datasets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

from crag.app.application import Application
from crag.app.reports import dataset_json
from crag.cli.arguments import OK, AddCommand, parse_path, parse_positive, parse_text, read_input_file, write_or_print
from crag.cli.evaluate import (
    EXPORT_FORMATS,
    conclude_evaluation,
    export_content,
    find_dataset,
    follow_evaluation,
    print_evaluation,
)
from crag.cli.evaluation_report import comparison_text, evaluation_line
from crag.cli.terminal import print_result
from crag.errors import BadRequest, NotFound
from crag.evaluation.summary import compare_results
from crag.evaluation.types import Dataset, Evaluation, EvaluationResult
from crag.text.formatting import format_count
from crag.translation import N_, _

_MAX_LISTED = 1_000


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("evaluations", list_evaluations)
    command("evaluations list", list_evaluations)
    _add_id_argument(command("evaluations show", show_evaluation))
    comparing = command("evaluations compare", compare_evaluations)
    _add_id_argument(comparing)
    comparing.add_argument(
        "other", type=parse_text, nargs="?", metavar="ID", help="evaluation to compare with (default: the same one)"
    )
    comparing.add_argument(
        "--variants",
        type=parse_positive,
        nargs=2,
        metavar="N",
        help="one variant of each, by number from 1 (default: 1 2 within one evaluation, 1 1 for two)",
    )
    _add_id_argument(command("evaluations resume", resume_evaluation))
    _add_id_argument(command("evaluations stop", stop_evaluation))
    judging = command("evaluations judge", judge_evaluation)
    _add_id_argument(judging)
    judging.add_argument(
        "--model", type=parse_text, required=True, help="model that judges: ollama:NAME or PROVIDER:NAME"
    )
    exporting = command("evaluations export", export_evaluation)
    _add_id_argument(exporting)
    exporting.add_argument("--format", choices=EXPORT_FORMATS, default="csv", help="default: %(default)s")
    exporting.add_argument("--output", type=parse_path, metavar="FILE", help="new file (default: standard output)")
    _add_id_argument(command("evaluations delete", delete_evaluation))
    command("datasets", list_datasets)
    command("datasets list", list_datasets)
    adding = command("datasets add", add_dataset)
    adding.add_argument(
        "file", type=parse_path, metavar="FILE.jsonl", help="one question per line; see docs/datasets.md"
    )
    adding.add_argument(
        "--name", type=parse_text, default="", help="name of the dataset (default: the name of the file)"
    )
    for name, function in (("datasets export", export_dataset), ("datasets delete", delete_dataset)):
        command(name, function).add_argument(
            "dataset", type=parse_text, help="seed, pinned, or the name or id of a dataset"
        )


def _add_id_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=parse_text, metavar="ID", help="id of an evaluation, or its beginning")
    parser.set_defaults(output=None, save_preset=None, langsmith=False)


def list_evaluations(application: Application, options: argparse.Namespace) -> int:
    """List evaluations, the latest first. Actions show, compare, resume, stop, judge, export and delete them."""
    from crag.evaluation.exports import describe_evaluation

    found = application.evaluations.list(limit=_MAX_LISTED)
    lines = "\n".join(map(evaluation_line, found)) or _("There are no evaluations. Run `evaluate seed` to make one.")
    print_result(options.json, {"evaluations": [describe_evaluation(one) for one in found]}, lines)
    return OK


def show_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Show the results of an evaluation, which may still be running."""
    evaluation = _find_evaluation(application, options.id)
    print_evaluation(
        evaluation, application.evaluations.results(evaluation.id), application.evaluations.cutoffs(), options.json
    )
    return OK


def resume_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Resume an evaluation: ask the questions that have no answer or failed."""
    evaluation = _find_evaluation(application, options.id)
    application.evaluations.resume(evaluation.id)
    return conclude_evaluation(application, follow_evaluation(application, evaluation.id), options)


def judge_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Judge the answers of an evaluation with a model. No question is asked again."""
    evaluation = _find_evaluation(application, options.id)
    application.preferences.allow_model_for_process(options.model)
    application.evaluations.judge(evaluation.id, options.model)
    return conclude_evaluation(application, follow_evaluation(application, evaluation.id), options)


def stop_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Stop an evaluation, also one run by another process. Its answers are kept."""
    evaluation = _find_evaluation(application, options.id)
    application.evaluations.stop(evaluation.id)
    print_result(
        options.json,
        {"stopped": evaluation.id},
        _("Stopped “{name}”. `evaluations resume` continues.").format(name=evaluation.name),
    )
    return OK


def delete_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Delete an evaluation with all its answers. This cannot be undone."""
    evaluation = _find_evaluation(application, options.id)
    application.evaluations.delete(evaluation.id)
    print_result(
        options.json,
        {"deleted": evaluation.id},
        _("Deleted “{name}”.").format(name=evaluation.name),
    )
    return OK


def export_evaluation(application: Application, options: argparse.Namespace) -> int:
    """Export an evaluation as CSV, JSON or a web page."""
    evaluation = _find_evaluation(application, options.id)
    content = export_content(
        options.format, evaluation, application.evaluations.results(evaluation.id), application.evaluations.cutoffs()
    )
    header = {"exported": evaluation.id, "format": options.format}
    write_or_print(options.output, header, content, as_json=options.json)
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
    """Compare two evaluations, or two variants of one: differences with intervals, and which questions changed."""
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
        has = N_("one variant") if len(evaluation.variants) == 1 else N_(f"{len(evaluation.variants)} variants")
        raise BadRequest(f"“{evaluation.name}” has {has}, no number {number}.", "Name two evaluations, or variants.")
    return _ComparedVariant(evaluation, number - 1, application.evaluations.results(evaluation.id, number - 1))


def _find_evaluation(application: Application, id_: str) -> Evaluation:
    """Find an evaluation by its id or a prefix of it. Raises `BadRequest`, `NotFound`."""
    found = [one for one in application.evaluations.list(limit=_MAX_LISTED) if one.id.startswith(id_)] if id_ else []
    if len(found) > 1:
        raise BadRequest(f"Several evaluations begin with “{id_}”.", "Type more of the id.")
    if not found:
        raise NotFound(f"There is no evaluation “{id_}”.", "`evaluations` lists their ids.")
    return found[0]


def list_datasets(application: Application, options: argparse.Namespace) -> int:
    """List the datasets. Actions add, export and delete them."""
    found = application.datasets.all()
    lines = "\n".join(map(_dataset_line, found))
    print_result(options.json, {"datasets": [dataset_json(one) for one in found]}, lines)
    return OK


def _dataset_line(dataset: Dataset) -> str:
    name = dataset.name if dataset.kind == "uploaded" else _(dataset.name)
    return f"{dataset.id}  {name}  ({format_count(len(dataset.examples), 'question')}, {dataset.kind})"


def add_dataset(application: Application, options: argparse.Namespace) -> int:
    """Add the questions of a JSON Lines file as a dataset. A dataset of the same name is replaced."""
    added = application.datasets.add(options.name or options.file.stem, read_input_file(options.file))
    print_result(
        options.json,
        {"added": dataset_json(added)},
        _("Added “{name}”: {questions}.").format(
            name=added.name, questions=format_count(len(added.examples), "question")
        ),
    )
    return OK


def export_dataset(application: Application, options: argparse.Namespace) -> int:
    """Export a dataset as JSON Lines."""
    dataset = find_dataset(application, options.dataset)
    content = application.datasets.export_json_lines(dataset.id)
    write_or_print(None, {"exported": dataset.id}, content, as_json=options.json)
    return OK


def delete_dataset(application: Application, options: argparse.Namespace) -> int:
    """Delete a dataset. Its evaluations keep their questions."""
    dataset = find_dataset(application, options.dataset)
    application.datasets.delete(dataset.id)
    print_result(options.json, {"deleted": dataset.id}, _("Deleted “{name}”.").format(name=dataset.name))
    return OK
