"""Commands for collections: list, rename, move documents, delete."""

from __future__ import annotations

import argparse

from crag import amounts, reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, check_collection, check_known, text
from crag.errors import BadRequest
from crag.terminal import finish


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("collections", list_collections)
    renaming = command("collections rename", rename)
    renaming.add_argument("name", type=text, help="the collection, as `collections` shows it")
    renaming.add_argument("new_name", type=text, help="what it shall be called")
    moving = command("collections move", move)
    moving.add_argument("name", type=text, help="the collection to move them to")
    moving.add_argument("ids", type=text, nargs="+", metavar="ID", help="the id of a document, as `list` shows it")
    deleting = command("collections delete", delete)
    deleting.add_argument("name", type=text, help="the collection")
    deleting.add_argument("--with-documents", action="store_true", help="needed where it holds any")


def list_collections(application: Application, options: argparse.Namespace) -> int:
    """Lists collections; renames and deletes them, and moves documents between them."""
    found = application.library.collections()
    lines = "\n".join(
        f"{one.name}  ({amounts.count(one.sources, 'document')}, {amounts.count(one.passages, 'passage')})"
        for one in found
    )
    finish(options.json, {"collections": [reports.collection(one) for one in found]}, lines)
    return OK


def rename(application: Application, options: argparse.Namespace) -> int:
    """Gives a collection another name."""
    name = application.rename_collection(options.name, options.new_name)
    finish(options.json, {"renamed": {"from": options.name, "to": name}}, f"“{options.name}” is now “{name}”.")
    return OK


def move(application: Application, options: argparse.Namespace) -> int:
    """Moves documents into a collection, which is made if it is new."""
    check_known(application, options.ids, "moved")
    moved = application.library.move(options.ids, options.name)
    lines = "\n".join(f"{one.title}: {reports.MOVED[one.status]}" for one in moved)
    finish(options.json, {"moved": [reports.moved(one) for one in moved]}, lines)
    return FAILED if any(one.status == "kept" for one in moved) else OK


def delete(application: Application, options: argparse.Namespace) -> int:
    """Deletes a collection."""
    check_collection(application, options.name)
    documents = len(application.library.sources(options.name))
    if documents and not options.with_documents:
        raise BadRequest(
            f"“{options.name}” holds {amounts.count(documents, 'document')}; nothing was deleted.",
            "Move them, or add --with-documents to delete them, too.",
        )
    application.delete_collection(options.name)
    finish(options.json, {"deleted": options.name, "documents": documents}, f"Deleted “{options.name}”.")
    return OK
