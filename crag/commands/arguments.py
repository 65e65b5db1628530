"""What commands share: their type, exit codes, kinds of argument, and checks of what a person named."""

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
    """Makes the parser of one command."""

    def __call__(self, name: str, function: Command | EarlyCommand, *, early: bool = False) -> argparse.ArgumentParser:
        """`name` as on the command line: `collections rename` is one within `collections`.

        An `early` command runs before anything is opened, since to open a home is to make it, and to go on in it.
        """
        ...


def check_known(application: Application, ids: Sequence[str], action: str) -> None:
    """Raises `BadRequest` when any of these is not the id of a document."""
    known = {source.id for source in application.library.sources()}
    if unknown := [given for given in ids if given not in known]:
        raise BadRequest(f"There is no document {', '.join(unknown)}; nothing was {action}.", "See `list` for the ids.")


def check_collection(application: Application, name: str) -> None:
    """A mistyped name must not look like a library that knows nothing."""
    if name and name not in {collection.name for collection in application.library.collections()}:
        raise BadRequest(f"There is no collection “{name}”.", "See `list` for the collections.")


def text(given: str) -> str:
    """An argument without the bytes that are no UTF-8: no database can hold them, and no model read them."""
    return given.encode("utf-8", "ignore").decode()


def folder(given: str) -> Path:
    """The name of a folder, which need not exist yet."""
    if not given or "\0" in given:
        raise argparse.ArgumentTypeError("must name a folder")
    return Path(given)


def place(given: str) -> Path:
    """The name of a file or folder to read or to make, as it is in full: its last part is what is shown of it."""
    try:
        return folder(given).expanduser().absolute()
    except RuntimeError as error:  # a home of nobody
        raise argparse.ArgumentTypeError("must name a file or a folder") from error


def count(given: str) -> int:
    """A whole number from 1 to 100."""
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= 100:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 100")
    return int(given)


def positive(given: str) -> int:
    """A whole number from 1 to a million."""
    if not given.isascii() or not given.isdigit() or len(given) > 7 or not 1 <= int(given) <= 1_000_000:
        raise argparse.ArgumentTypeError("must be a whole number from 1 to 1,000,000")
    return int(given)
