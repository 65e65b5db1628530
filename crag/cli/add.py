"""Commands that ingest documents: add (also with `--watch`) and refresh."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from crag.app import reports
from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.cli.arguments import FAILED, OK, AddCommand, check_document_ids, parse_text
from crag.cli.tasks import IngestTask, cancel_on_signals, create_add_task, run_tasks
from crag.cli.terminal import print_json, print_note, print_text, progress_lines
from crag.errors import BadRequest, SourceRefused
from crag.ingest.folder_watch import FolderWatch
from crag.ingest.intake import is_url, list_named_files
from crag.ingest.site import SiteLimits
from crag.translation import N_, _
from crag.types import DEFAULT_COLLECTION, AddResult, ProgressCallback

_POLL_SECONDS = 1.0  # a file must be unchanged this long before it is read
_MAX_POLLING_SHARE = 0.1  # maximum share of time spent polling, for any number of files


def watch_folders(application: Application, options: argparse.Namespace) -> int:
    """Watch and add. A deleted file is reported and stays in the library."""
    watched = FolderWatch([_resolve_watched_path(spec) for spec in options.sources])
    watching = _WatchSession(application, options.collection, silent=options.json)
    watching.say(_("Watching {sources}. Ctrl-C ends it.").format(sources=", ".join(options.sources)))
    with cancel_on_signals() as stop:
        pause = 0.0
        while not stop.wait(pause):
            started = time.monotonic()
            changes = watched.poll()
            pause = max(_POLL_SECONDS, (time.monotonic() - started) / _MAX_POLLING_SHARE)
            watching.report_unreadable(changes.unreadable)
            watching.follow_renamed(changes.renamed)
            watching.add(changes.settled, stop)
            watching.report_deleted(changes.gone)
    if options.json:
        print_json({"sources": [asdict(result) for result in watching.results], "gone": watching.gone})
    return OK


class _WatchSession:
    """Adds and reports files, and collects the results."""

    def __init__(self, application: Application, collection: str, *, silent: bool) -> None:
        self.results: list[AddResult] = []
        self.gone: list[str] = []
        self._application = application
        self._collection = collection
        self._silent = silent
        self._unreadable: Sequence[Path] = ()

    def say(self, line: str) -> None:
        """Print one line, unless the output is JSON."""
        if not self._silent:
            print_text(line)

    def add(self, files: Sequence[Path], stop: Cancellation) -> None:
        """Add new or changed files."""
        tasks = [create_add_task(self._application, str(file), self._collection) for file in files]
        with progress_lines(len(tasks), wanted=bool(tasks) and not self._silent) as lines:
            for outcome in run_tasks(tasks, lines, stop):
                self.results.extend(outcome.results)
                for result in outcome.results:
                    self.say(reports.added_text(result))

    def follow_renamed(self, files: Sequence[tuple[Path, Path]]) -> None:
        """Note the new locations of renamed files; their documents stay as they are."""
        for old, new in files:
            self._application.library.relocate(old, new, self._collection)
            self.say(_("→ {old}: is now {new}").format(old=old, new=new))

    def report_deleted(self, files: Sequence[Path]) -> None:
        """Report deleted files and how to remove them: an unmounted drive must not empty the library."""
        ids = {source.location: source.id for source in self._application.library.sources()} if files else {}
        for file in files:
            self.gone.append(str(file))
            id_ = ids.get(str(file))
            line = N_("− {file}: deleted; it stays in the library")
            if id_:
                line = N_("− {file}: deleted; it stays in the library until you `remove {id}`")
            self.say(_(line).format(file=file, id=id_))

    def report_unreadable(self, places: Sequence[Path]) -> None:
        """Report once that a path cannot be read."""
        for place in places:
            if place not in self._unreadable:
                self.say(_("✗ {place}: cannot be read now; trying again later").format(place=place))
        self._unreadable = places


def _resolve_watched_path(spec: str) -> Path:
    """Return the path to watch. Raises `BadRequest`."""
    try:
        place = Path(spec).expanduser().resolve()
        if spec.strip() and not is_url(spec) and place.exists():
            return place
    except (OSError, RuntimeError, ValueError):
        pass
    raise BadRequest(f"“{spec}” cannot be watched.", "Name an existing folder or file.")


_SITE_DEFAULTS = SiteLimits()


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    given = command("add", add_documents)
    given.add_argument("sources", nargs="+", metavar="SOURCE", help="a file, a folder or a web address")
    given.add_argument(
        "--collection", type=parse_text, default="", help=f"collection to add to (default: {DEFAULT_COLLECTION})"
    )
    given.add_argument(
        "--site", action="store_true", help="for a web address: also add the pages it links to on the same site"
    )
    given.add_argument(
        "--depth",
        type=int,
        default=_SITE_DEFAULTS.depth,
        help="with --site: how many links to follow from the address (default: %(default)s)",
    )
    given.add_argument(
        "--pages",
        type=int,
        default=_SITE_DEFAULTS.pages,
        help="with --site: maximum number of pages (default: %(default)s)",
    )
    given.add_argument(
        "--sitemap", action="store_true", help="with --site: also add the pages listed in the site's sitemap"
    )
    given.add_argument("--watch", action="store_true", help="keep watching, and add new and changed files until Ctrl-C")
    command("refresh", refresh_documents).add_argument(
        "ids", type=parse_text, nargs="*", metavar="ID", help="id of a document, as `list` shows it (default: all)"
    )


def add_documents(application: Application, options: argparse.Namespace) -> int:
    """Add files, folders and web addresses."""
    if options.watch:
        return watch_folders(application, options)
    site = SiteLimits(options.depth, options.pages, options.sitemap) if options.site else None
    specs = [spec for given in options.sources for spec in _expand_folder(given)]
    return _run_and_report([create_add_task(application, spec, options.collection, site) for spec in specs], options)


def refresh_documents(application: Application, options: argparse.Namespace) -> int:
    """Read or fetch documents again, and replace those that changed."""
    check_document_ids(application, options.ids)
    titles = {source.id: source.title for source in application.library.sources()}
    return _run_and_report(
        [_create_refresh_task(application, id_, titles[id_]) for id_ in options.ids or titles], options
    )


def _run_and_report(tasks: Sequence[IngestTask], options: argparse.Namespace) -> int:
    """Run all tasks; print each text result as soon as its turn comes."""
    results: list[AddResult] = []
    done = 0
    with cancel_on_signals() as stop, progress_lines(len(tasks), wanted=not options.json) as lines:
        for outcome in run_tasks(tasks, lines, stop):
            results.extend(outcome.results)
            done += outcome.complete
            for result in outcome.results if not options.json else ():
                print_text(reports.added_text(result))
    complete = done == len(tasks)
    if options.json:
        print_json({"sources": [asdict(result) for result in results], "complete": complete})
    elif not complete:
        print_note(_("Stopped: {done} of {tasks} done. The rest was not added.").format(done=done, tasks=len(tasks)))
    return OK if complete and not any(result.error for result in results) else FAILED


def _create_refresh_task(application: Application, source_id: str, title: str) -> IngestTask:
    def do(report: ProgressCallback, stop: Cancellation) -> Iterator[AddResult]:
        return iter(application.library.pipeline.refresh([source_id], progress=report, stop=stop))

    return IngestTask(source_id, title, do)


def _expand_folder(spec: str) -> list[str]:
    """Return the files in and below a folder, for parallel ingestion; return anything else unchanged."""
    if is_url(spec):
        return [spec]
    try:
        files = list_named_files(spec)
    except SourceRefused:  # ingestion reports the error
        return [spec]
    # A file in the working directory may have a name that looks like an address.
    return [f"./{file}" if is_url(str(file)) else str(file) for file in files]
