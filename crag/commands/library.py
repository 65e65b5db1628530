"""The commands of the library: list, remove, search."""

from __future__ import annotations

import argparse

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand, check_collection, check_known, count, text
from crag.terminal import finish, print_json, say


def register(command: AddCommand) -> None:
    """Adds the parsers of these commands."""
    command("list", list_sources).add_argument("--collection", type=text, default="")
    command("remove", remove).add_argument("ids", type=text, nargs="+", metavar="ID")
    searching = command("search", search)
    searching.add_argument("query", type=text)
    searching.add_argument("-k", type=count, default=4)
    searching.add_argument("--collection", type=text, default="")


def list_sources(application: Application, options: argparse.Namespace) -> int:
    """Lists what was added."""
    check_collection(application, options.collection)
    sources = application.library.sources(options.collection)
    if options.json:
        print_json({"sources": [reports.source(source) for source in sources]})
    for source in sources if not options.json else ():
        say(f"{source.id}  {source.title}  ({source.kind}, {source.collection}, {source.passages} passages)")
    return OK


def remove(application: Application, options: argparse.Namespace) -> int:
    """Removes documents by id; nothing is removed when one id is unknown."""
    check_known(application, options.ids, "removed")
    application.library.remove(options.ids)
    finish(options.json, {"removed": options.ids}, f"Removed {len(options.ids)}.")
    return OK


def search(application: Application, options: argparse.Namespace) -> int:
    """Finds the nearest passages without asking a model."""
    check_collection(application, options.collection)
    hits = application.library.search(options.query, options.k, options.collection)
    lines = (f"{hit.score:.3f}  {hit.title}{f', p. {hit.page}' if hit.page else ''}\n       {hit.text}" for hit in hits)
    finish(options.json, {"hits": [reports.hit(hit) for hit in hits]}, "\n".join(lines))
    return OK
