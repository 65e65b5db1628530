"""The commands of the library: add, list, remove, refresh, search."""

from __future__ import annotations

import argparse

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand, check_collection, check_known, count, text
from crag.terminal import finish, print_json, progress_shower, say
from crag.types import DEFAULT_COLLECTION


def register(command: AddCommand) -> None:
    """Adds the parsers of these commands."""
    adding = command("add", add)
    adding.add_argument("sources", nargs="+", metavar="SOURCE", help="a file, a folder or a web address")
    adding.add_argument("--collection", type=text, default=DEFAULT_COLLECTION)
    command("list", list_sources).add_argument("--collection", type=text, default="")
    command("remove", remove).add_argument("ids", type=text, nargs="+", metavar="ID")
    command("refresh", refresh).add_argument("ids", type=text, nargs="*", metavar="ID")
    searching = command("search", search)
    searching.add_argument("query", type=text)
    searching.add_argument("-k", type=count, default=4)
    searching.add_argument("--collection", type=text, default="")


def add(application: Application, options: argparse.Namespace) -> int:
    """Adds files, folders and web addresses."""
    results = []
    for spec in options.sources:
        progress = progress_shower(spec)
        for result in application.library.add(spec, collection=options.collection, progress=progress):
            results.append(result)
            if not options.json:
                say(reports.added_text(result))
    if options.json:
        print_json({"sources": [reports.added(result) for result in results]})
    return FAILED if any(result.error for result in results) or not results else OK


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


def refresh(application: Application, options: argparse.Namespace) -> int:
    """Reads or fetches documents again and replaces those that changed."""
    check_known(application, options.ids, "refreshed")
    results = application.library.refresh(options.ids or None)
    lines = "\n".join(reports.added_text(result) for result in results)
    finish(options.json, {"sources": [reports.added(result) for result in results]}, lines)
    return FAILED if any(result.error for result in results) else OK


def search(application: Application, options: argparse.Namespace) -> int:
    """Finds the nearest passages without asking a model."""
    check_collection(application, options.collection)
    hits = application.library.search(options.query, options.k, options.collection)
    lines = (f"{hit.score:.3f}  {hit.title}{f', p. {hit.page}' if hit.page else ''}\n       {hit.text}" for hit in hits)
    finish(options.json, {"hits": [reports.hit(hit) for hit in hits]}, "\n".join(lines))
    return OK
