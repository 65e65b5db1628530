"""Commands for datasets: list, add, export, delete."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from crag.amounts import count
from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand, place, text
from crag.commands.evaluation_arguments import named_dataset
from crag.errors import BadRequest
from crag.evaluate.datasets.examples import Dataset
from crag.reports import Json
from crag.terminal import finish


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("datasets", list_datasets)
    command("datasets list", list_datasets)
    adding = command("datasets add", add)
    adding.add_argument("file", type=place, metavar="FILE.jsonl", help="one question a line, see docs/datasets.md")
    adding.add_argument("--name", type=text, default="", help="default: that of the file")
    for name, function in (("datasets export", export), ("datasets delete", delete)):
        command(name, function).add_argument("dataset", type=text, help="seed, pinned, or a name or id of the list")


def list_datasets(application: Application, options: argparse.Namespace) -> int:
    """Lists the sets of questions that can be evaluated; adds, exports and deletes them."""
    found = application.datasets.all()
    lines = "\n".join(f"{one.id}  {one.name}  ({count(len(one.examples), 'question')}, {one.kind})" for one in found)
    finish(options.json, {"datasets": [_entry(one) for one in found]}, lines)
    return OK


def add(application: Application, options: argparse.Namespace) -> int:
    """Keeps the questions of a JSON Lines file, so that the page has them too; the same name is replaced."""
    file: Path = options.file
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadRequest(f"The file {file.name} cannot be read.", "Check its name and its permissions.") from error
    added = application.datasets.add(options.name or file.stem, data)
    finish(options.json, {"added": _entry(added)}, f"Added “{added.name}”: {count(len(added.examples), 'question')}.")
    return OK


def export(application: Application, options: argparse.Namespace) -> int:
    """Writes a dataset as JSON Lines."""
    dataset = named_dataset(application, options.dataset)
    content = application.datasets.as_json_lines(dataset.id)
    if options.json:
        finish(True, {"exported": dataset.id, "content": content}, "")
    else:
        sys.stdout.write(content)
    return OK


def delete(application: Application, options: argparse.Namespace) -> int:
    """Deletes a dataset; evaluations of it keep their questions."""
    dataset = named_dataset(application, options.dataset)
    application.datasets.delete(dataset.id)
    finish(options.json, {"deleted": dataset.id}, f"Deleted “{dataset.name}”.")
    return OK


def _entry(dataset: Dataset) -> Json:
    return {
        "id": dataset.id,
        "name": dataset.name,
        "kind": dataset.kind,
        "questions": len(dataset.examples),
        "made_at": dataset.made_at,
    }
