"""`add --watch`: add the files of folders, then new and changed ones, until Ctrl-C."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import OK
from crag.commands.progress import progress_lines
from crag.commands.tasks import adding_task, run_tasks, stopped_by_signals
from crag.errors import BadRequest
from crag.library.adding.intake import is_address
from crag.library.adding.watched import Watched
from crag.stopping import Stop
from crag.terminal import print_json, say
from crag.types import AddResult

_LOOK_SECONDS = 1.0  # a file must be unchanged this long before it is read
_LOOKING_SHARE = 0.1  # maximum share of time spent polling, for any number of files


def watch(application: Application, options: argparse.Namespace) -> int:
    """Watch and add. A deleted file is reported and stays in the library."""
    watched = Watched([_place(spec) for spec in options.sources])
    watching = _Watching(application, options.collection, silent=options.json)
    watching.say(f"Watching {', '.join(options.sources)}. Ctrl-C ends it.")
    with stopped_by_signals() as stop:
        pause = 0.0
        while not stop.wait(pause):
            started = time.monotonic()
            changes = watched.look()
            pause = max(_LOOK_SECONDS, (time.monotonic() - started) / _LOOKING_SHARE)
            watching.tell_unreadable(changes.unreadable)
            watching.add(changes.settled, stop)
            watching.tell_gone(changes.gone)
    if options.json:
        print_json({"sources": [reports.added(result) for result in watching.results], "gone": watching.gone})
    return OK


class _Watching:
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
            say(line)

    def add(self, files: Sequence[Path], stop: Stop) -> None:
        """Add new or changed files."""
        tasks = [adding_task(self._application, str(file), self._collection) for file in files]
        with progress_lines(len(tasks), wanted=bool(tasks) and not self._silent) as lines:
            for outcome in run_tasks(tasks, lines, stop):
                self.results.extend(outcome.results)
                for result in outcome.results:
                    self.say(reports.added_text(result))

    def tell_gone(self, files: Sequence[Path]) -> None:
        """Report deleted files and how to remove them: an unmounted drive must not empty the library."""
        ids = {source.location: source.id for source in self._application.library.sources()} if files else {}
        for file in files:
            self.gone.append(str(file))
            id_ = ids.get(str(file))
            self.say(f"− {file}: deleted; it stays in the library" + (f" until you `remove {id_}`" if id_ else ""))

    def tell_unreadable(self, places: Sequence[Path]) -> None:
        """Report once that a path cannot be read."""
        for place in places:
            if place not in self._unreadable:
                self.say(f"✗ {place}: cannot be read now; it is tried again")
        self._unreadable = places


def _place(spec: str) -> Path:
    """Return the path to watch. Raises `BadRequest`."""
    try:
        place = Path(spec).expanduser().resolve()
        if spec.strip() and not is_address(spec) and place.exists():
            return place
    except (OSError, RuntimeError, ValueError):
        pass
    raise BadRequest(f"“{spec}” cannot be watched.", "Name a folder or a file that is there.")
