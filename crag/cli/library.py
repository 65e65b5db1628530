"""Commands for documents, collections, export and import, backup and restore."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from textwrap import indent
from typing import get_args

from crag.app import reports
from crag.app.application import Application
from crag.cancellation import Cancellation
from crag.cli.arguments import (
    FAILED,
    OK,
    AddCommand,
    check_document_ids,
    parse_count,
    parse_path,
    parse_text,
)
from crag.cli.terminal import print_json, print_result, print_text, progress_line
from crag.errors import BadRequest
from crag.settings import Settings, parse_database_url
from crag.sharing.backup import BackupManifest, write_backup
from crag.sharing.move import move_home
from crag.sharing.passage_exchange import ExportFormat
from crag.sharing.restore import restore_backup
from crag.storage.engine import Database
from crag.storage.sqlite_file import DATABASE_NAME
from crag.text.formatting import format_count, format_place
from crag.translation import N_, _
from crag.types import DEFAULT_COLLECTION, Passage

_COLLECTION_HELP = N_("only this collection (default: all)")


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("list", list_documents).add_argument("--collection", type=parse_text, default="", help=_COLLECTION_HELP)
    command("remove", remove_documents).add_argument(
        "ids", type=parse_text, nargs="+", metavar="ID", help="id of a document, as `list` shows it"
    )
    retitling = command("rename", rename_document)
    retitling.add_argument("id", type=parse_text, metavar="ID", help="id of a document, as `list` shows it")
    retitling.add_argument(
        "title", type=parse_text, metavar="TITLE", help='new title; "" for the one that the file states'
    )
    searching = command("search", search_passages)
    searching.add_argument("query", type=parse_text, help="a question or some words")
    searching.add_argument("-k", type=parse_count, default=4, help="number of passages (default: %(default)s)")
    searching.add_argument("--collection", type=parse_text, default="", help=_COLLECTION_HELP)
    command("collections", list_collections)
    renaming = command("collections rename", rename_collection)
    renaming.add_argument("name", type=parse_text, help="collection, as `collections` shows it")
    renaming.add_argument("new_name", type=parse_text, help="new name")
    moving = command("collections move", move_documents)
    moving.add_argument("name", type=parse_text, help="collection to move them to")
    moving.add_argument("ids", type=parse_text, nargs="+", metavar="ID", help="id of a document, as `list` shows it")
    deleting = command("collections delete", delete_collection)
    deleting.add_argument("name", type=parse_text, help="collection to delete")
    deleting.add_argument(
        "--with-documents", action="store_true", help="also delete its documents; required if there are any"
    )
    exporting = command("export", export_collection)
    exporting.add_argument(
        "destination", type=parse_path, metavar="DEST", help="new folder (langchain) or new file (jsonl)"
    )
    exporting.add_argument("--format", choices=get_args(ExportFormat), required=True, help="format of DEST")
    exporting.add_argument("--collection", type=parse_text, default="", help="only this collection (default: all)")
    exporting.add_argument(
        "--vectors", action="store_true", help="with --format jsonl: include the vector of each passage"
    )
    importing = command("import", import_passages)
    importing.add_argument(
        "path",
        type=parse_path,
        metavar="PATH",
        help="folder saved by LangChain's FAISS, a zip of one, or a JSON Lines file",
    )
    importing.add_argument(
        "--collection",
        type=parse_text,
        default="",
        help=f"collection to import into (default: {DEFAULT_COLLECTION})",
    )
    command("backup", backup_home, early=True).add_argument("file", type=parse_path, metavar="FILE", help="new file")
    restoring = command("restore", restore_home, early=True)
    restoring.add_argument("file", type=parse_path, metavar="FILE", help="file written by `backup`")
    moving_home = command("move", move, early=True)
    moving_home.add_argument("--to", type=parse_text, required=True, metavar="URL", help="postgresql://…, or a folder")
    restoring.add_argument("--replace", action="store_true", help="move an existing library aside first")


def move(settings: Settings, options: argparse.Namespace) -> int:
    """Copy the whole home to PostgreSQL, or from there to a folder, and compare every row. The source stays.

    Stop the application first. Run the command again to continue an interrupted move.
    """
    is_url = "://" in options.to
    address = parse_database_url("--to", options.to) if is_url else ""
    with ExitStack() as opened:
        source = Database(settings.home, settings.database_url)
        opened.callback(source.close)
        target = Database(settings.home if is_url else Path(options.to), address)
        opened.callback(target.close)
        with progress_line("move") as report:
            done = move_home(source, target, report, Cancellation())
    text = _("Copied {rows:,} rows and {originals:,} originals.").format(rows=done.rows, originals=done.originals)
    if done.missing:
        text += " " + _("{originals} had been lost before.").format(originals=format_count(done.missing, "original"))
    print_result(options.json, asdict(done), text)
    return OK


def list_documents(application: Application, options: argparse.Namespace) -> int:
    """List the documents."""
    application.library.check_collection(options.collection)
    sources = application.library.sources(options.collection)
    if options.json:
        print_json({"sources": [reports.source_json(source) for source in sources]})
    for source in sources if not options.json else ():
        passages = format_count(source.passages, "passage")
        print_text(f"{source.id}  {source.title}  ({source.kind}, {source.collection}, {passages})")
    return OK


def remove_documents(application: Application, options: argparse.Namespace) -> int:
    """Remove documents by id. If one id is unknown, nothing is removed."""
    check_document_ids(application, options.ids)
    application.library.remove(options.ids)
    print_result(options.json, {"removed": options.ids}, _("Removed {ids}.").format(ids=len(options.ids)))
    return OK


def rename_document(application: Application, options: argparse.Namespace) -> int:
    """Give a document another title. Its file or address stays as it is."""
    check_document_ids(application, [options.id])
    before = application.library.source(options.id).title
    renamed = application.library.rename(options.id, options.title)
    document = {"renamed": {"id": renamed.id, "from": before, "to": renamed.title}}
    print_result(options.json, document, _("“{name}” is now “{new}”.").format(name=before, new=renamed.title))
    return OK


def search_passages(application: Application, options: argparse.Namespace) -> int:
    """Find the nearest passages, without a language model."""
    application.library.check_collection(options.collection)
    hits = application.library.search(options.query, options.k, options.collection)
    lines = "\n".join(_hit_text(hit) for hit in hits) or _("No passages found.")
    print_result(options.json, {"hits": [reports.hit_json(hit) for hit in hits]}, lines)
    return OK


def _hit_text(hit: Passage) -> str:
    return f"{hit.score:.3f}  {format_place(hit.title, hit.locator)}\n{indent(hit.text, ' ' * 7)}"


def list_collections(application: Application, options: argparse.Namespace) -> int:
    """List collections. Actions rename and delete them, and move documents between them."""
    found = application.library.collections()
    lines = "\n".join(
        f"{one.name}  ({format_count(one.sources, 'document')}, {format_count(one.passages, 'passage')})"
        for one in found
    )
    print_result(options.json, {"collections": [asdict(one) for one in found]}, lines)
    return OK


def rename_collection(application: Application, options: argparse.Namespace) -> int:
    """Rename a collection."""
    name = application.rename_collection(options.name, options.new_name)
    print_result(
        options.json,
        {"renamed": {"from": options.name, "to": name}},
        _("“{name}” is now “{new}”.").format(name=options.name, new=name),
    )
    return OK


def move_documents(application: Application, options: argparse.Namespace) -> int:
    """Move documents to a collection, which is created if it does not exist."""
    check_document_ids(application, options.ids)
    moved = application.library.move(options.ids, options.name)
    lines = "\n".join(f"{one.title}: {_(reports.MOVE_STATUS_TEXT[one.status])}" for one in moved)
    print_result(options.json, {"moved": [asdict(one) for one in moved]}, lines)
    return FAILED if any(one.status == "kept" for one in moved) else OK


def delete_collection(application: Application, options: argparse.Namespace) -> int:
    """Delete a collection."""
    application.library.check_collection(options.name)
    documents = [source.id for source in application.library.sources(options.name)]
    if documents and not options.with_documents:
        raise BadRequest(
            f"“{options.name}” holds {format_count(len(documents), 'document')}; nothing was deleted.",
            "Move them, or use --with-documents to delete them too.",
        )
    application.library.remove(documents)
    application.delete_collection(options.name)
    print_result(
        options.json,
        {"deleted": options.name, "documents": len(documents)},
        _("Deleted “{name}”.").format(name=options.name),
    )
    return OK


def export_collection(application: Application, options: argparse.Namespace) -> int:
    """Export a collection as a folder for LangChain's FAISS.load_local, or as JSON Lines."""
    application.library.check_collection(options.collection)
    path: Path = options.destination
    with progress_line(path.name) as report:
        count = application.exchange.export(
            path, options.format, collection=options.collection, vectors=options.vectors, progress=report
        )
    print_result(
        options.json,
        {"exported": count, "path": str(path)},
        _("Exported {count:,} passages to {path}.").format(count=count, path=path),
    )
    return OK


def import_passages(application: Application, options: argparse.Namespace) -> int:
    """Import the passages of a LangChain FAISS folder or of a JSON Lines file."""
    results = []
    with progress_line(options.path.name) as report:
        for result in application.exchange.import_passages(
            options.path, collection=options.collection, progress=report
        ):
            results.append(result)
            if not options.json:
                print_text(reports.added_text(result))
    if options.json:
        print_json({"sources": [asdict(result) for result in results]})
    return FAILED if any(result.error for result in results) else OK


def backup_home(settings: Settings, options: argparse.Namespace) -> int:
    """Save the whole home to one file; the application may be running."""
    if not settings.database_url and not (settings.home / DATABASE_NAME).is_file():
        raise BadRequest(
            "There is no library in this folder, so there is nothing to back up.", "Choose one with --home."
        )
    path: Path = options.file
    database = Database(settings.home, settings.database_url)
    try:
        with progress_line(path.name) as report:
            saved = write_backup(database, path, report, Cancellation())
    finally:
        database.close()
    document = {"backup": str(path), "sources": saved.sources, "bytes": path.stat().st_size, "missing": saved.missing}
    print_result(
        options.json,
        document,
        _("Saved {sources:,} documents in {path}.").format(sources=saved.sources, path=path)
        + _missing_originals_note(saved),
    )
    return OK


def restore_home(settings: Settings, options: argparse.Namespace) -> int:
    """Restore a backup to an empty or new home."""
    with progress_line(options.file.name) as report:
        done = restore_backup(options.file, settings.home, report, Cancellation(), replace=options.replace)
    aside = str(done.moved_aside) if done.moved_aside else None
    sources = done.manifest.sources
    document = {"restored": str(settings.home), "sources": sources, "moved_aside": aside}
    text = _("Restored {sources:,} documents to {home}.").format(sources=sources, home=settings.home)
    if aside:
        text += " " + _("The previous contents are now in {aside}.").format(aside=aside)
    print_result(options.json, document, text + _missing_originals_note(done.manifest))
    return OK


def _missing_originals_note(manifest: BackupManifest) -> str:
    lost = len(manifest.missing)
    note = _("{lost:,} documents have only their passages: their files are missing or damaged.").format(lost=lost)
    return f" {note}" if lost else ""
