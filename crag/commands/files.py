"""Output files of commands, which never overwrite an existing file."""

from __future__ import annotations

from pathlib import Path

from crag.errors import BadRequest


def check_new(path: Path) -> None:
    """Check that a new file can be created, before long work is done for it. Raises `BadRequest`."""
    if path.exists():
        raise _is_there(path)
    if not path.parent.is_dir():
        raise BadRequest(f"There is no folder for {path.name}.", "Make it, or choose another.")


def write_new(path: Path, content: str) -> None:
    """Write a new file. Raises `BadRequest` if it exists or cannot be written."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(content)
    except FileExistsError as error:
        raise _is_there(path) from error
    except OSError as error:
        raise BadRequest(f"The file {path.name} cannot be written.", "Choose another folder.") from error


def _is_there(path: Path) -> BadRequest:
    return BadRequest(f"{path.name} is there already; nothing was written.", "Choose another name.")
