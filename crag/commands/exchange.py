"""The commands that take things out and in: export, import."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, check_collection, place, text
from crag.library.exchange.exchange import ExportFormat
from crag.terminal import finish, print_json, progress_shower, say
from crag.types import DEFAULT_COLLECTION


def register(command: AddCommand) -> None:
    """Adds the parsers of these commands."""
    exporting = command("export", export)
    exporting.add_argument("destination", type=place, metavar="DEST", help="a new folder (langchain) or file (jsonl)")
    exporting.add_argument("--format", choices=get_args(ExportFormat), required=True)
    exporting.add_argument("--collection", type=text, default="")
    exporting.add_argument("--vectors", action="store_true", help="JSON Lines with the vector of each passage")
    importing = command("import", import_passages)
    importing.add_argument(
        "path", type=place, metavar="PATH", help="a folder saved by LangChain's FAISS, or JSON Lines"
    )
    importing.add_argument("--collection", type=text, default=DEFAULT_COLLECTION)


def export(application: Application, options: argparse.Namespace) -> int:
    """Writes a collection as a folder for LangChain's FAISS.load_local, or as JSON Lines."""
    check_collection(application, options.collection)
    path: Path = options.destination
    count = application.exchange.export(
        path,
        options.format,
        collection=options.collection,
        vectors=options.vectors,
        progress=progress_shower(path.name),
    )
    finish(options.json, {"exported": count, "path": str(path)}, f"Exported {count:,} passages to {path}.")
    return OK


def import_passages(application: Application, options: argparse.Namespace) -> int:
    """Adds the passages of a LangChain FAISS folder or of JSON Lines."""
    results = []
    progress = progress_shower(options.path.name)
    for result in application.exchange.import_(options.path, collection=options.collection, progress=progress):
        results.append(result)
        if not options.json:
            say(reports.added_text(result))
    if options.json:
        print_json({"sources": [reports.added(result) for result in results]})
    return FAILED if any(result.error for result in results) else OK
