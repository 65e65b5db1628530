"""Commands for watched folders: list and apply."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand, parse_text
from crag.cli.terminal import print_result
from crag.library.watched_folders import WatchedFolder
from crag.text.formatting import format_count


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    for name in ("folders", "folders list"):
        command(name, list_folders)
    command("folders apply", apply_changes).add_argument(
        "id", type=parse_text, metavar="ID", help="id of a watched folder, as `folders` shows it"
    )


def list_folders(application: Application, options: argparse.Namespace) -> int:
    """List the watched folders with their state and what was found in each. The running server looks after them."""
    found = application.watched_folders.list()
    lines = "\n".join(_describe(folder) for folder in found) or "No folder is watched."
    print_result(options.json, {"folders": [asdict(one) | {"state": one.state} for one in found]}, lines)
    return OK


def apply_changes(application: Application, options: argparse.Namespace) -> int:
    """Let the running server apply the changes that were found in a folder."""
    application.watched_folders.apply(options.id)
    print_result(options.json, {"applying": options.id}, "The running server applies the changes.")
    return OK


def _describe(folder: WatchedFolder) -> str:
    pending = f", {format_count(folder.preview.pending, 'change')} to apply" if folder.preview.pending else ""
    return f"{folder.id}  {folder.path}  {folder.state}: {format_count(folder.files, 'file')}{pending}"
