"""Shared parts of the commands: their types, exit codes, argument types, and checks of given names."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from crag.assembly import Application
from crag.errors import BadRequest
from crag.settings import Settings

OK, FAILED, USAGE = 0, 1, 2
Command = Callable[[Application, argparse.Namespace], int]
EarlyCommand = Callable[[Settings, argparse.Namespace], int]


class AddCommand(Protocol):
    """Creates the parser of one command."""

    def __call__(self, name: str, function: Command | EarlyCommand, *, early: bool = False) -> argparse.ArgumentParser:
        """Add a command; `name` is as typed: `collections rename` is a command within `collections`.

        An `early` command runs before the home is opened, because opening creates a home and continues its work.
        """
        ...


def check_known(application: Application, ids: Sequence[str], action: str) -> None:
    """Raise `BadRequest` if one of the ids is not the id of a document."""
    known = {source.id for source in application.library.sources()}
    if unknown := [given for given in ids if given not in known]:
        raise BadRequest(f"There is no document {', '.join(unknown)}; nothing was {action}.", "See `list` for the ids.")


def check_collection(application: Application, name: str) -> None:
    """Raise `BadRequest` for an unknown collection; a typo must not look like an empty library."""
    if name and name not in {collection.name for collection in application.library.collections()}:
        raise BadRequest(f"There is no collection “{name}”.", "See `list` for the collections.")


def text(given: str) -> str:
    """Return an argument without bytes that are not UTF-8, which neither a database nor a model accepts."""
    return given.encode("utf-8", "ignore").decode()


def folder(given: str) -> Path:
    """Parse the path of a folder, which need not exist yet."""
    if not given or "\0" in given:
        raise argparse.ArgumentTypeError("must name a folder")
    return Path(given)


def place(given: str) -> Path:
    """Parse the path of a file or folder and make it absolute, because its last part is displayed."""
    try:
        return folder(given).expanduser().absolute()
    except RuntimeError as error:  # the home of an unknown user
        raise argparse.ArgumentTypeError("must name a file or a folder") from error


def count(given: str) -> int:
    """Parse a whole number from 1 to 100."""
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= 100:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 100")
    return int(given)


def positive(given: str) -> int:
    """Parse a whole number from 1 to 1,000,000."""
    if not given.isascii() or not given.isdigit() or len(given) > 7 or not 1 <= int(given) <= 1_000_000:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 1,000,000")
    return int(given)
