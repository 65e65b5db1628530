"""Commands that ingest documents: add, refresh."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, check_known, text
from crag.commands.progress import progress_lines
from crag.commands.tasks import Task, adding_task, run_tasks, stopped_by_signals
from crag.commands.watching import watch
from crag.errors import SourceRefused
from crag.library.adding.intake import is_address, named_files
from crag.library.web.site import SiteLimits
from crag.progress import Report
from crag.stopping import Stop
from crag.terminal import print_json, remark, say
from crag.types import DEFAULT_COLLECTION, AddResult

_SITE = SiteLimits()


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    given = command("add", add)
    given.add_argument("sources", nargs="+", metavar="SOURCE", help="a file, a folder or a web address")
    given.add_argument("--collection", type=text, default=DEFAULT_COLLECTION)
    given.add_argument("--site", action="store_true", help="of a web address, also the pages it links to on its site")
    given.add_argument("--depth", type=int, default=_SITE.depth, help="with --site: how many links away (default: 1)")
    given.add_argument("--pages", type=int, default=_SITE.pages, help="with --site: how many at most (default: 50)")
    given.add_argument("--sitemap", action="store_true", help="with --site: also what the site's sitemap names")
    given.add_argument("--watch", action="store_true", help="go on, adding what is new or changed, until Ctrl-C")
    command("refresh", refresh).add_argument("ids", type=text, nargs="*", metavar="ID")


def add(application: Application, options: argparse.Namespace) -> int:
    """Adds files, folders and web addresses."""
    if options.watch:
        return watch(application, options)
    site = SiteLimits(options.depth, options.pages, options.sitemap) if options.site else None
    specs = [spec for given in options.sources for spec in _spread(given)]
    return _run([adding_task(application, spec, options.collection, site) for spec in specs], options)


def refresh(application: Application, options: argparse.Namespace) -> int:
    """Reads or fetches documents again and replaces those that changed."""
    check_known(application, options.ids, "refreshed")
    titles = {source.id: source.title for source in application.library.sources()}
    return _run([_refreshing(application, id_, titles[id_]) for id_ in options.ids or titles], options)


def _run(tasks: Sequence[Task], options: argparse.Namespace) -> int:
    """Run all tasks; print each text result as soon as its turn comes."""
    results: list[AddResult] = []
    done = 0
    with stopped_by_signals() as stop, progress_lines(len(tasks), wanted=not options.json) as lines:
        for outcome in run_tasks(tasks, lines, stop):
            results.extend(outcome.results)
            done += outcome.complete
            for result in outcome.results if not options.json else ():
                say(reports.added_text(result))
    complete = done == len(tasks)
    if options.json:
        print_json({"sources": [reports.added(result) for result in results], "complete": complete})
    elif not complete:
        remark(f"Stopped: {done} of {len(tasks)} done. Nothing is stored of what was under way.")
    return OK if complete and not any(result.error for result in results) else FAILED


def _refreshing(application: Application, source_id: str, title: str) -> Task:
    def do(report: Report, stop: Stop) -> Iterator[AddResult]:
        return iter(application.library.refresh([source_id], progress=report, stop=stop))

    return Task(source_id, title, do)


def _spread(spec: str) -> list[str]:
    """Return the files in and below a folder, for parallel ingestion; return anything else unchanged."""
    if is_address(spec):
        return [spec]
    try:
        files = named_files(spec)
    except SourceRefused:  # ingestion reports the error
        return [spec]
    # A file in the working directory may have a name that looks like an address.
    return [f"./{file}" if is_address(str(file)) else str(file) for file in files]
