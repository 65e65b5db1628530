"""Files that commands write: new ones, never over what is there."""

from __future__ import annotations

from pathlib import Path

from crag.errors import BadRequest


def check_new(path: Path) -> None:
    """Raises `BadRequest` where nothing new can be written: to be known before long work is done for it."""
    if path.exists():
        raise _is_there(path)
    if not path.parent.is_dir():
        raise BadRequest(f"There is no folder for {path.name}.", "Make it, or choose another.")


def write_new(path: Path, content: str) -> None:
    """Writes a new file. Raises `BadRequest` where one is there already, or none can be written."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(content)
    except FileExistsError as error:
        raise _is_there(path) from error
    except OSError as error:
        raise BadRequest(f"The file {path.name} cannot be written.", "Choose another folder.") from error


def _is_there(path: Path) -> BadRequest:
    return BadRequest(f"{path.name} is there already; nothing was written.", "Choose another name.")
