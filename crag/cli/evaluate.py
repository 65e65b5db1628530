"""Command that runs an evaluation of a dataset: evaluate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from crag.app import reports
from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.cli.arguments import (
    FAILED,
    OK,
    AddCommand,
    add_run_arguments,
    build_run_options,
    check_new_file,
    parse_count,
    parse_path,
    parse_positive,
    parse_text,
    write_new_file,
)
from crag.cli.evaluation_report import evaluation_text
from crag.cli.tasks import cancel_on_signals, create_add_task, run_tasks
from crag.cli.terminal import describe_progress, print_failure, print_note, print_result, progress_line, progress_lines
from crag.errors import BadRequest, NotFound, Stopped
from crag.evaluation.corpus import add_corpus
from crag.evaluation.dataset_format import read_dataset
from crag.evaluation.dataset_records import sample_questions, take_first_questions
from crag.evaluation.grid import find_best_variant, make_system_variants, make_variants, parse_axes
from crag.evaluation.metrics import STATE_BADGES
from crag.evaluation.types import Cutoffs, Dataset, Evaluation, EvaluationPlan, EvaluationResult, Variant
from crag.ingest.intake import list_named_files
from crag.options import MODEL_OPTIONS
from crag.storage.preferences import normalize_preset_name
from crag.text.formatting import format_count, format_duration
from crag.translation import N_, _, translate_text
from crag.types import Progress

EXPORT_FORMATS = ("csv", "json", "html")


def add_evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `evaluate`."""
    parser.add_argument("dataset", type=parse_text, help="JSON Lines file, seed, pinned, or the name of a dataset")
    parser.add_argument(
        "--repetitions",
        type=parse_count,
        default=1,
        metavar="N",
        help="number of times to ask each question (default: %(default)s)",
    )
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--limit", type=parse_positive, metavar="N", help="only the first N questions")
    some.add_argument("--sample", type=parse_positive, metavar="N", help="only N questions chosen at random")
    parser.add_argument(
        "--seed", type=int, default=0, help="with --sample: seed of the random choice (default: %(default)s)"
    )
    documents = parser.add_mutually_exclusive_group()
    documents.add_argument(
        "--corpus", type=parse_path, metavar="FILE", help='passages to add first, one {"id", "title", "text"} per line'
    )
    documents.add_argument("--documents", type=parse_path, metavar="FOLDER", help="folder of documents to add first")
    add_run_arguments(parser)
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        type=parse_text,
        metavar="NAME=V1,V2",
        help="values to try for a setting; may be repeated",
    )
    parser.add_argument(
        "--reference-systems", action="store_true", help="compare these settings with the published systems"
    )
    parser.add_argument(
        "--save-preset", type=parse_text, metavar="NAME", help="with --grid: save the best combination as this preset"
    )
    parser.add_argument(
        "--judge", type=parse_text, default="", metavar="MODEL", help="model that judges the answers (default: none)"
    )
    parser.add_argument(
        "--parallel",
        type=parse_count,
        default=0,
        metavar="N",
        help="number of questions asked at once (default: automatic)",
    )
    parser.add_argument("--name", type=parse_text, default="", help="name of the evaluation")
    parser.add_argument("--output", type=parse_path, metavar="FILE", help="new file: .csv, .json or .html")
    parser.add_argument(
        "--langsmith", action="store_true", help="upload the finished evaluation to LangSmith, with LANGSMITH_API_KEY"
    )


def check_evaluate_arguments(application: Application, options: argparse.Namespace) -> None:
    """Check early what would otherwise fail at the end of an evaluation. Raises `BadRequest`."""
    if options.output:
        output_format(options.output)
        check_new_file(options.output)
    if options.save_preset is not None:
        normalize_preset_name(options.save_preset)
        if not options.grid:
            raise BadRequest("--save-preset saves the best of a grid.", "Use --grid to say what to try.")
    if options.reference_systems and (options.grid or options.preset):
        raise BadRequest("--reference-systems sets all options itself.", "Leave out --grid and --preset.")
    if options.langsmith and not application.uploads.available:
        raise BadRequest("There is no key for LangSmith.", "Set LANGSMITH_API_KEY, or leave --langsmith out.")


def output_format(path: Path) -> str:
    """Return the format of an output file by its suffix. Raises `BadRequest`."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in EXPORT_FORMATS:
        raise BadRequest(f"{path.name} has no known file type.", "End its name in .csv, .json or .html.")
    return ending


def select_questions(application: Application, options: argparse.Namespace) -> Dataset:
    """Return the dataset, reduced by `--limit` or `--sample`. Raises `BadRequest`."""
    dataset = find_dataset(application, options.dataset)
    if options.limit:
        return take_first_questions(dataset, options.limit)
    return sample_questions(dataset, options.sample, options.seed) if options.sample else dataset


def find_dataset(application: Application, given: str) -> Dataset:
    """Find a dataset by name or id, or read one from a file. Raises `BadRequest`, `NotFound`."""
    try:
        return application.datasets.find(given)
    except NotFound:
        file = parse_path(given)
        if file.exists() or file.suffix:
            return read_dataset(file)
        raise


def add_evaluation_documents(application: Application, options: argparse.Namespace) -> str:
    """Add the documents of `--corpus` or `--documents` and return the collection to ask.

    Documents that are already present cost almost nothing. Raises `CragError`, `Stopped`; documents added by then stay.
    """
    given: Path | None = options.corpus or options.documents
    if given is None:
        return str(options.collection)
    collection = application.library.create_collection(options.collection or _default_collection_name(given))
    with cancel_on_signals() as stop:
        if options.corpus:
            with progress_line(given.name) as report:
                added = len(add_corpus(application.library, given, collection, report, stop))
        else:
            added = _add_folder(application, given, collection, stop)
    print_note(
        _("Asking the collection “{collection}”, which has {documents} of {name}.").format(
            collection=collection, documents=format_count(added, "document"), name=given.name
        )
    )
    return collection


def _default_collection_name(given: Path) -> str:
    """Return the default collection name. Many corpora have the same file name, so it includes the folder."""
    return given.name if given.is_dir() else f"{given.parent.name} {given.stem}".strip()


def _add_folder(application: Application, folder: Path, collection: str, stop: Cancellation) -> int:
    """Add the files in and below a folder and return how many are present; report refused ones."""
    tasks = [create_add_task(application, str(file), collection) for file in list_named_files(str(folder))]
    added = 0
    with progress_lines(len(tasks)) as lines:
        for outcome in run_tasks(tasks, lines, stop):
            for result in outcome.results:
                added += result.error is None
                if result.error:
                    print_note(reports.added_text(result))
            if not outcome.complete:
                raise Stopped
    if not added:
        raise BadRequest(f"Nothing in {folder.name} could be added.", "Name a folder with documents.")
    return added


def print_evaluation(
    evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs, as_json: bool
) -> None:
    """Print an evaluation as the JSON document or as text tables."""
    from crag.evaluation.exports import evaluation_document

    if as_json:
        print_result(True, evaluation_document(evaluation, results, cutoffs), "")
    else:
        print_result(False, {}, evaluation_text(evaluation, results, cutoffs))


def export_content(form: str, evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs) -> str:
    """Return an evaluation in one of the export formats."""
    from crag.evaluation.exports import export_csv, export_json
    from crag.evaluation.html_report import export_html

    return {"csv": export_csv, "json": export_json, "html": export_html}[form](evaluation, results, cutoffs)


def conclude_evaluation(application: Application, evaluation: Evaluation, options: argparse.Namespace) -> int:
    """Print the results, perform the requested outputs, and return the exit code."""
    results, cutoffs = application.evaluations.results(evaluation.id), application.evaluations.cutoffs()
    print_evaluation(evaluation, results, cutoffs, options.json)
    if options.output:
        write_new_file(options.output, export_content(output_format(options.output), evaluation, results, cutoffs))
        print_note(_("Written to {output}.").format(output=options.output))
    is_done = evaluation.state == "done"
    if is_done and options.save_preset is not None:
        _save_best_preset(application, evaluation, results, cutoffs, options.save_preset)
    if is_done and options.langsmith:
        _upload_to_langsmith(application, evaluation, results)
    return OK if is_done and not evaluation.failed else FAILED


def _save_best_preset(
    application: Application, evaluation: Evaluation, results: Sequence[EvaluationResult], cutoffs: Cutoffs, name: str
) -> None:
    found = find_best_variant(evaluation, results, cutoffs)
    if found is None:
        print_note(_("No preset was saved: no answer has a known right answer."))
        return
    application.preferences.save_preset(name, found.variant.options)
    print_note(_("Saved as the preset “{name}”: {variant_name}.").format(name=name, variant_name=found.variant.name))


def _upload_to_langsmith(application: Application, evaluation: Evaluation, results: Sequence[EvaluationResult]) -> None:
    print_note(translate_text(application.uploads.describe_upload(evaluation)))
    try:
        with cancel_on_signals() as stop, progress_line("LangSmith") as report:
            address = application.uploads.upload(evaluation, results, report, stop)
    except Stopped:
        print_note(_("Stopped. What was sent is kept; send again to continue."))
        return
    print_note(_("See {address}").format(address=address))


def follow_evaluation(application: Application, evaluation_id: str) -> Evaluation:
    """Wait until an evaluation ends or stops and return it; if it is not done, print how to resume it."""
    evaluations = application.evaluations

    def describe(progress: Progress) -> str:
        left = evaluations.get(evaluation_id).seconds_left
        return describe_progress(progress) + (
            f", {_('{left} left').format(left=format_duration(left))}" if left else ""
        )

    name = evaluations.get(evaluation_id).name
    with (
        cancel_on_signals() as stop,
        stop.on_cancel(lambda: evaluations.stop(evaluation_id)),
        progress_line(name, describe) as report,
    ):
        evaluation = evaluations.wait(evaluation_id, report)
    if evaluation.state != "done":
        print_note(_incomplete_note(evaluation))
    return evaluation


def _incomplete_note(evaluation: Evaluation) -> str:
    why = translate_text(evaluation.fault) or STATE_BADGES[evaluation.state].word
    kept = _("{done:,} of {total:,} answers are kept.").format(done=evaluation.done, total=evaluation.total)
    resume = _("To continue: python -m crag evaluations resume {id}").format(id=evaluation.id)
    return f"{why}\n{kept} {resume}"


_NO_CONSENT_NOTE = N_("Evaluations cannot ask for permission, so the web is not searched where permission is needed.")


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    add_evaluate_arguments(command("evaluate", evaluate_dataset))


def evaluate_dataset(application: Application, options: argparse.Namespace) -> int:
    """Ask every question of a dataset, and measure answers, decisions, retrieval, grading, time and tokens."""
    check_evaluate_arguments(application, options)
    dataset = select_questions(application, options)
    made = _create_variants(application, options)
    try:
        collection = add_evaluation_documents(application, options)
    except Stopped:
        print_failure("stopped", _("Stopped before any question was asked. Added documents are kept."), options.json)
        return FAILED
    application.library.check_collection(collection)
    plan = EvaluationPlan(
        dataset=dataset,
        variants=[replace(one, options=replace(one.options, collection=collection)) for one in made],
        repetitions=options.repetitions,
        judge=options.judge,
        parallel=options.parallel,
        name=options.name,
        kind="grid" if options.grid or options.reference_systems else "plain",
        owner_id=dataset.owner_id,
    )
    evaluation = follow_evaluation(application, application.evaluations.begin(plan).id)
    return conclude_evaluation(application, evaluation, options)


def _create_variants(application: Application, options: argparse.Namespace) -> list[Variant]:
    """Return the given options, or one variant per combination of the grid. Sending to named models is allowed."""
    base, axes = build_run_options(application, options), parse_axes(options.grid)
    named = [options.judge, *(model for name in MODEL_OPTIONS for model in axes.values.get(name, ()))]
    for model in filter(None, named):
        application.preferences.allow_model_for_process(model)
    if base.web == "ask":
        print_note(_(_NO_CONSENT_NOTE))
    if options.reference_systems:
        return make_system_variants(base)
    return make_variants(base, axes) if options.grid else [Variant("as given", base)]
