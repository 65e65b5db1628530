"""Commands that export and import collections, and back up and restore a home."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, check_collection, place, text
from crag.commands.progress import progress_line
from crag.database import Database
from crag.database.engine import FILE_NAME
from crag.errors import BadRequest
from crag.library.exchange.backup import write_backup
from crag.library.exchange.exchange import ExportFormat
from crag.library.exchange.manifest import Manifest
from crag.library.exchange.restore import restore_backup
from crag.settings import Settings
from crag.stopping import Stop
from crag.terminal import finish, print_json, say
from crag.types import DEFAULT_COLLECTION


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    exporting = command("export", export)
    exporting.add_argument("destination", type=place, metavar="DEST", help="a new folder (langchain) or file (jsonl)")
    exporting.add_argument("--format", choices=get_args(ExportFormat), required=True, help="what DEST becomes")
    exporting.add_argument("--collection", type=text, default="", help="only this collection (default: all)")
    exporting.add_argument("--vectors", action="store_true", help="JSON Lines with the vector of each passage")
    importing = command("import", import_passages)
    importing.add_argument(
        "path", type=place, metavar="PATH", help="a folder saved by LangChain's FAISS, a zip of one, or JSON Lines"
    )
    importing.add_argument(
        "--collection", type=text, default=DEFAULT_COLLECTION, help="where they go (default: %(default)s)"
    )
    command("backup", backup, early=True).add_argument("file", type=place, metavar="FILE", help="a new file")
    restoring = command("restore", restore, early=True)
    restoring.add_argument("file", type=place, metavar="FILE", help="a file that `backup` wrote")
    restoring.add_argument("--replace", action="store_true", help="move the library that is there aside first")


def export(application: Application, options: argparse.Namespace) -> int:
    """Writes a collection as a folder for LangChain's FAISS.load_local, or as JSON Lines."""
    check_collection(application, options.collection)
    path: Path = options.destination
    with progress_line(path.name) as report:
        count = application.exchange.export(
            path, options.format, collection=options.collection, vectors=options.vectors, progress=report
        )
    finish(options.json, {"exported": count, "path": str(path)}, f"Exported {count:,} passages to {path}.")
    return OK


def import_passages(application: Application, options: argparse.Namespace) -> int:
    """Adds the passages of a LangChain FAISS folder or of JSON Lines."""
    results = []
    with progress_line(options.path.name) as report:
        for result in application.exchange.import_(options.path, collection=options.collection, progress=report):
            results.append(result)
            if not options.json:
                say(reports.added_text(result))
    if options.json:
        print_json({"sources": [reports.added(result) for result in results]})
    return FAILED if any(result.error for result in results) else OK


def backup(settings: Settings, options: argparse.Namespace) -> int:
    """Saves the whole home in one file, also while the application is running."""
    if not (settings.home / FILE_NAME).is_file():
        raise BadRequest("There is no library in this folder, so there is nothing to save.", "Choose one with --home.")
    path: Path = options.file
    database = Database(settings.home)
    try:
        with progress_line(path.name) as report:
            saved = write_backup(database, path, report, Stop())
    finally:
        database.close()
    document = {"backup": str(path), "sources": saved.sources, "bytes": path.stat().st_size, "missing": saved.missing}
    finish(options.json, document, f"Saved {saved.sources:,} documents in {path}.{_missing(saved)}")
    return OK


def restore(settings: Settings, options: argparse.Namespace) -> int:
    """Puts a backup into an empty or new home."""
    with progress_line(options.file.name) as report:
        done = restore_backup(options.file, settings.home, report, Stop(), replace=options.replace)
    aside = str(done.moved_aside) if done.moved_aside else None
    sources = done.manifest.sources
    document = {"restored": str(settings.home), "sources": sources, "moved_aside": aside}
    before = f" What was there before is now in {aside}." if aside else ""
    finish(
        options.json, document, f"Restored {sources:,} documents to {settings.home}.{before}{_missing(done.manifest)}"
    )
    return OK


def _missing(manifest: Manifest) -> str:
    lost = len(manifest.missing)
    return f" Of {lost:,} documents only the passages: their files had been lost or damaged before." if lost else ""
