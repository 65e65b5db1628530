"""Commands for stored evaluations: list, show, compare, resume, stop, judge, export, delete."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand, place, positive, text
from crag.commands.evaluation_arguments import FORMATS
from crag.commands.evaluation_ending import conclude, exported, show
from crag.commands.evaluation_following import follow
from crag.commands.evaluation_report import comparison_text, listed
from crag.commands.files import write_new
from crag.errors import BadRequest
from crag.evaluate.figures.comparison import compare as compare_results
from crag.evaluate.values import Evaluation, Result
from crag.terminal import finish

_MOST = 1_000


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("evaluations", list_evaluations)
    command("evaluations list", list_evaluations)
    _add_id(command("evaluations show", show_one))
    comparing = command("evaluations compare", compare)
    _add_id(comparing)
    comparing.add_argument("other", type=text, nargs="?", metavar="ID", help="default: the same one")
    comparing.add_argument(
        "--variants", type=positive, nargs=2, metavar="N", help="of either, by number from 1 (of one: 1 2; of two: 1 1)"
    )
    _add_id(command("evaluations resume", resume))
    _add_id(command("evaluations stop", stop))
    judging = command("evaluations judge", judge)
    _add_id(judging)
    judging.add_argument("--model", type=text, required=True, help="ollama:NAME or PROVIDER:NAME")
    exporting = command("evaluations export", export)
    _add_id(exporting)
    exporting.add_argument("--format", choices=FORMATS, default="csv")
    exporting.add_argument("--output", type=place, metavar="FILE", help="a new file (default: standard output)")
    _add_id(command("evaluations delete", delete))


def _add_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=text, metavar="ID", help="an id of the list, or its beginning")
    parser.set_defaults(output=None, save_preset=None, langsmith=False)


def list_evaluations(application: Application, options: argparse.Namespace) -> int:
    """Lists evaluations, the latest first; shows, compares, continues, judges, exports and deletes them."""
    from crag.evaluate.exports.document import describe

    found = application.evaluations.list(limit=_MOST)
    lines = "\n".join(map(listed, found)) or "There are no evaluations. `evaluate seed` makes one."
    finish(options.json, {"evaluations": [describe(one) for one in found]}, lines)
    return OK


def show_one(application: Application, options: argparse.Namespace) -> int:
    """Shows what an evaluation came to, also while it is worked on."""
    evaluation = _find(application, options.id)
    show(evaluation, application.evaluations.results(evaluation.id), application.evaluations.cutoffs(), options.json)
    return OK


def resume(application: Application, options: argparse.Namespace) -> int:
    """Goes on with an evaluation: asks what is not answered yet, or failed."""
    evaluation = _find(application, options.id)
    application.evaluations.resume(evaluation.id)
    return conclude(application, follow(application, evaluation.id), options)


def judge(application: Application, options: argparse.Namespace) -> int:
    """Has a model judge the answers of an evaluation; they are not asked for again."""
    evaluation = _find(application, options.id)
    application.preferences.allow_model_here(options.model)
    application.evaluations.judge(evaluation.id, options.model)
    return conclude(application, follow(application, evaluation.id), options)


def stop(application: Application, options: argparse.Namespace) -> int:
    """Stops an evaluation, whichever process works on it; what is answered stays."""
    evaluation = _find(application, options.id)
    application.evaluations.stop(evaluation.id)
    finish(options.json, {"stopped": evaluation.id}, f"Stopped “{evaluation.name}”. `evaluations resume` goes on.")
    return OK


def delete(application: Application, options: argparse.Namespace) -> int:
    """Deletes an evaluation with all of its answers; that cannot be taken back."""
    evaluation = _find(application, options.id)
    application.evaluations.delete(evaluation.id)
    finish(options.json, {"deleted": evaluation.id}, f"Deleted “{evaluation.name}”.")
    return OK


def export(application: Application, options: argparse.Namespace) -> int:
    """Writes an evaluation as a table (CSV), as JSON, or as one web page."""
    evaluation = _find(application, options.id)
    content = exported(
        options.format, evaluation, application.evaluations.results(evaluation.id), application.evaluations.cutoffs()
    )
    header = {"exported": evaluation.id, "format": options.format}
    if options.output:
        write_new(options.output, content)
        document = header | {"path": str(options.output), "bytes": options.output.stat().st_size}
        finish(options.json, document, f"Exported to {options.output}.")
    elif options.json:
        finish(True, header | {"content": content}, "")
    else:
        sys.stdout.write(content)
    return OK


class _Side(NamedTuple):
    """One variant of an evaluation, with its results."""

    evaluation: Evaluation
    number: int
    results: Sequence[Result]

    @property
    def name(self) -> str:
        """Name that distinguishes it from the other variant."""
        named = f", {self.evaluation.variants[self.number].name}" if len(self.evaluation.variants) > 1 else ""
        return f"{self.evaluation.name}{named} ({self.evaluation.id})"


def compare(application: Application, options: argparse.Namespace) -> int:
    """Compares two evaluations, or two variants of one: differences with intervals, what broke, what was mended."""
    numbers = options.variants or ((1, 1) if options.other else (1, 2))
    ids = (options.id, options.other or options.id)
    before, after = (_side(application, id_, number) for id_, number in zip(ids, numbers, strict=True))
    compared = compare_results(before.results, after.results, application.evaluations.cutoffs())
    document = {
        "before": {"id": before.evaluation.id, "variant": before.evaluation.variants[before.number].name},
        "after": {"id": after.evaluation.id, "variant": after.evaluation.variants[after.number].name},
        "examples": compared.examples,
        "differences": [asdict(one) for one in compared.differences],
        "changed": [asdict(one) for one in compared.changed],
    }
    finish(options.json, document, comparison_text(before.name, after.name, compared))
    return OK


def _side(application: Application, id_: str, number: int) -> _Side:
    evaluation = _find(application, id_)
    if number > len(evaluation.variants):
        has = "one variant" if len(evaluation.variants) == 1 else f"{len(evaluation.variants)} variants"
        raise BadRequest(f"“{evaluation.name}” has {has}, no number {number}.", "Name two evaluations, or variants.")
    return _Side(evaluation, number - 1, application.evaluations.results(evaluation.id, number - 1))


def _find(application: Application, id_: str) -> Evaluation:
    """Find an evaluation by its id or a prefix of it. Raises `BadRequest`, `NotFound`."""
    found = [one for one in application.evaluations.list(limit=_MOST) if one.id.startswith(id_)] if id_ else []
    if len(found) > 1:
        raise BadRequest(f"Several evaluations begin with “{id_}”.", "Write more of the id.")
    return found[0] if found else application.evaluations.get(id_)
