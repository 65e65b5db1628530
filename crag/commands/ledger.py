"""Command that lists what left the machine: ledger."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand
from crag.moments import exact
from crag.terminal import finish
from crag.types import Departure

_LAST = 20


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    parser = command("ledger", ledger)
    parser.add_argument("--last", type=_number, default=_LAST, metavar="N", help=f"how many (default: {_LAST})")


def ledger(application: Application, options: argparse.Namespace) -> int:
    """Lists what left the machine, newest first: when, where to, and what, in full."""
    entries = application.ledger.entries(options.last)
    count = application.ledger.count_since()
    listing = "\n".join(_line(entry) for entry in entries) or "Nothing has left this machine."
    left_out = f"\n{count - len(entries):,} older ones: --last {count}" if count > len(entries) else ""
    finish(options.json, {"count": count, "departures": [asdict(entry) for entry in entries]}, listing + left_out)
    return OK


def _line(entry: Departure) -> str:
    what = " ".join(entry.what.split())
    return reports.printable(f"{exact(entry.at)}  {entry.kind} to {entry.host}: {what}")


def _number(given: str) -> int:
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= 1_000_000:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 1,000,000")
    return int(given)
