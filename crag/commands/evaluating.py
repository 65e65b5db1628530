"""Command that runs a dataset and measures the answers: evaluate."""

from __future__ import annotations

import argparse
from dataclasses import replace

from crag.assembly import Application
from crag.commands.arguments import FAILED, AddCommand, check_collection
from crag.commands.evaluation_arguments import add_arguments, check, chosen_dataset
from crag.commands.evaluation_documents import add_documents
from crag.commands.evaluation_ending import conclude
from crag.commands.evaluation_following import follow
from crag.commands.run_options import MODEL_OPTIONS, run_options
from crag.errors import Stopped
from crag.evaluate.grid import read_axes, variants
from crag.evaluate.values import Plan, Variant
from crag.terminal import remark, report_failure

_NOBODY = "Nobody can be asked in an evaluation: where leave would be needed to search the web, it is not searched."


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    add_arguments(command("evaluate", evaluate))


def evaluate(application: Application, options: argparse.Namespace) -> int:
    """Asks every question of a dataset, and measures answers, routes, retrieval, grading, time and tokens."""
    check(application, options)
    dataset = chosen_dataset(application, options)
    made = _variants(application, options)
    try:
        collection = add_documents(application, options)
    except Stopped:
        report_failure("stopped", "Stopped before anything was asked. What was added stays.", options.json)
        return FAILED
    check_collection(application, collection)
    plan = Plan(
        dataset=dataset,
        variants=[replace(one, options=replace(one.options, collection=collection)) for one in made],
        repetitions=options.repetitions,
        judge=options.judge,
        parallel=options.parallel,
        name=options.name,
        kind="grid" if options.grid else "plain",
        person=dataset.person,
    )
    evaluation = follow(application, application.evaluations.begin(plan).id)
    return conclude(application, evaluation, options)


def _variants(application: Application, options: argparse.Namespace) -> list[Variant]:
    """Return the given options, or one variant per combination of the grid. Sending to named models is allowed."""
    base, axes = run_options(application, options), read_axes(options.grid)
    named = [options.judge, *(model for name in MODEL_OPTIONS for model in axes.values.get(name, ()))]
    for model in filter(None, named):
        application.preferences.allow_model_here(model)
    if base.web == "ask":
        remark(_NOBODY)
    return variants(base, axes) if options.grid else [Variant("as given", base)]
