"""Documents given to an evaluation, added to their own collection before the first question."""

from __future__ import annotations

import argparse
from pathlib import Path

from crag import reports
from crag.amounts import count
from crag.assembly import Application
from crag.commands.progress import progress_line, progress_lines
from crag.commands.tasks import adding_task, run_tasks, stopped_by_signals
from crag.errors import BadRequest, Stopped
from crag.evaluate.datasets.corpus import add_corpus
from crag.library.adding.intake import named_files
from crag.stopping import Stop
from crag.terminal import remark


def add_documents(application: Application, options: argparse.Namespace) -> str:
    """Add the documents of `--corpus` or `--documents` and return the collection to ask.

    Documents that are already present cost almost nothing. Raises `CragError`, `Stopped`; documents added by then stay.
    """
    given: Path | None = options.corpus or options.documents
    if given is None:
        return str(options.collection)
    collection = application.library.create_collection(options.collection or _own_name(given))
    with stopped_by_signals() as stop:
        if options.corpus:
            with progress_line(given.name) as report:
                added = len(add_corpus(application.library, given, collection, report, stop))
        else:
            added = _add_folder(application, given, collection, stop)
    remark(f"Asked is the collection “{collection}”, which has {count(added, 'document')} of {given.name}.")
    return collection


def _own_name(given: Path) -> str:
    """Return the default collection name. Many corpora have the same file name, so it includes the folder."""
    return given.name if given.is_dir() else f"{given.parent.name} {given.stem}".strip()


def _add_folder(application: Application, folder: Path, collection: str, stop: Stop) -> int:
    """Add the files in and below a folder and return how many are present; report refused ones."""
    tasks = [adding_task(application, str(file), collection) for file in named_files(str(folder))]
    added = 0
    with progress_lines(len(tasks)) as lines:
        for outcome in run_tasks(tasks, lines, stop):
            for result in outcome.results:
                added += result.error is None
                if result.error:
                    remark(reports.added_text(result))
            if not outcome.complete:
                raise Stopped
    if not added:
        raise BadRequest(f"Nothing in {folder.name} could be added.", "Name a folder with documents.")
    return added
