"""Commands for documents: list, remove, search."""

from __future__ import annotations

import argparse
from textwrap import indent

from crag import amounts, reports
from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand, check_collection, check_known, count, text
from crag.terminal import finish, print_json, say
from crag.types import Passage

_WITHIN = "only what is in this collection (default: all)"


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("list", list_sources).add_argument("--collection", type=text, default="", help=_WITHIN)
    command("remove", remove).add_argument(
        "ids", type=text, nargs="+", metavar="ID", help="the id of a document, as `list` shows it"
    )
    searching = command("search", search)
    searching.add_argument("query", type=text, help="a question or some words")
    searching.add_argument("-k", type=count, default=4, help="how many passages (default: 4)")
    searching.add_argument("--collection", type=text, default="", help=_WITHIN)


def list_sources(application: Application, options: argparse.Namespace) -> int:
    """Lists what was added."""
    check_collection(application, options.collection)
    sources = application.library.sources(options.collection)
    if options.json:
        print_json({"sources": [reports.source(source) for source in sources]})
    for source in sources if not options.json else ():
        passages = amounts.count(source.passages, "passage")
        say(f"{source.id}  {source.title}  ({source.kind}, {source.collection}, {passages})")
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
    lines = "\n".join(_lines(hit) for hit in hits) or "Nothing found."
    finish(options.json, {"hits": [reports.hit(hit) for hit in hits]}, lines)
    return OK


def _lines(hit: Passage) -> str:
    page = f", p. {hit.page}" if hit.page else ""
    return f"{hit.score:.3f}  {hit.title}{page}\n{indent(hit.text, ' ' * 7)}"
