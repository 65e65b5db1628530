"""Watched folder of ten thousand files: the first look, what looking costs while nothing happens, and a change.

Nothing is embedded: the files count as applied after the first look.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import update

from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.ingest.folder_watch import FolderRules, FolderScanner, hash_file
from crag.library.watched_folders import PASS_SECONDS, FolderWorker
from crag.settings import Settings
from crag.storage.tables import watched_folders

FILES, PER_FOLDER, SECONDS = 10_000, 100, 60.0


def main() -> None:
    """Write the files, look after them for a minute and print what it took."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        root = Path(folder) / "reports"
        _write_files(root)
        application = Application(Settings(home=Path(folder) / "home", embedder="builtin"))
        worker = FolderWorker(application.database, application.library, application.jobs, 10**8)
        began = time.perf_counter()
        application.watched_folders.add(str(root))
        _run_until(worker, lambda: application.watched_folders.list()[0].preview.counts.get("new") == FILES)
        print(f"preview of {FILES:,} new files after {time.perf_counter() - began:.1f} s")
        began = time.perf_counter()
        look = FolderScanner(root, FolderRules()).look()
        print(f"one look {time.perf_counter() - began:.2f} s")
        began = time.perf_counter()
        applied = {path: (*state, hash_file(root, path), "") for path, state in look.files.items()}
        print(f"hashing all of them {time.perf_counter() - began:.2f} s")
        worker.close()
        with application.database.write() as connection:
            connection.execute(update(watched_folders).values(files=json.dumps(applied)))
        _run_until(worker, lambda: application.watched_folders.list()[0].files == FILES)
        cpu, began = time.thread_time(), time.perf_counter()
        _run_until(worker, lambda: time.perf_counter() - began > SECONDS)
        print(f"idle: {(time.thread_time() - cpu) / (time.perf_counter() - began):.2%} of a core for {SECONDS:.0f} s")
        waits = []
        for number in range(5):
            (root / "17" / f"new {number}.txt").write_text("new")
            began = time.perf_counter()
            _run_until(worker, lambda wanted=number + 1: _count_seen(application) == wanted)
            waits.append(time.perf_counter() - began)
        print("a new file is in the preview after " + ", ".join(f"{one:.1f}" for one in waits) + " s")
        application.close()


def _count_seen(application: Application) -> int:
    counts = application.watched_folders.list()[0].preview.counts
    return counts["new"] + counts["writing"]


def _run_until(worker: FolderWorker, condition: Callable[[], bool]) -> None:
    while not condition():
        worker.run(Cancellation())
        time.sleep(PASS_SECONDS)


def _write_files(root: Path) -> None:
    for number in range(FILES):
        folder = root / str(number // PER_FOLDER)
        folder.mkdir(exist_ok=True, parents=True)
        (folder / f"{number}.txt").write_text(f"Report {number}: the lift was serviced. " * 50)
