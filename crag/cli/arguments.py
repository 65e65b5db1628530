"""Shared parts of the commands: argument types, run options, checks, exit codes and output files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from crag.app.application import Application
from crag.app.reports import Json
from crag.cli.terminal import print_json, print_result
from crag.errors import BadRequest
from crag.options import OPTIONS, Option, OptionChanges, RunOptions, apply_changes
from crag.settings import Settings
from crag.translation import _, translate_text
from crag.types import strip_unstorable

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


def check_document_ids(application: Application, ids: Sequence[str]) -> None:
    """Raise `BadRequest` if one of the ids is not the id of a document."""
    known = {source.id for source in application.library.sources()}
    if unknown := [given for given in ids if given not in known]:
        raise BadRequest(f"There is no document {', '.join(unknown)}; nothing was changed.", "`list` shows the ids.")


def check_owner_named(application: Application, options: argparse.Namespace) -> None:
    """Raise `BadRequest` where people log in and the command lacks `--as`, the owner of the tokens."""
    if application.settings.people == "accounts" and not options.account:
        raise BadRequest("On a server with accounts, a token belongs to one person.", "Say whose, with --as EMAIL.")


def parse_text(given: str) -> str:
    """Return an argument without bytes that are not UTF-8, which neither a database nor a model accepts."""
    return strip_unstorable(given)


def parse_folder(given: str) -> Path:
    """Parse the path of a folder, which need not exist yet."""
    if not given or "\0" in given:
        raise argparse.ArgumentTypeError("must name a folder")
    return Path(given)


def parse_path(given: str) -> Path:
    """Parse the path of a file or folder and make it absolute, because its last part is displayed."""
    try:
        return parse_folder(given).expanduser().absolute()
    except RuntimeError as error:  # the home of an unknown user
        raise argparse.ArgumentTypeError("must name a file or a folder") from error


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return the parser of a whole number in this range."""

    def parse(given: str) -> int:
        digits = given.isascii() and given.isdigit() and len(given) <= 9
        if not digits or not lowest <= int(given) <= highest:
            raise argparse.ArgumentTypeError(f"must be a whole number from {lowest:,} to {highest:,}")
        return int(given)

    return parse


parse_count = whole_number(1, 100)
parse_positive = whole_number(1, 1_000_000)


_RUN_OPTIONS = tuple(option for option in OPTIONS.values() if option.flag)
_MAX_INPUT_BYTES = 512 << 20
_NO_CHANGES: OptionChanges = MappingProxyType({})


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `build_run_options` reads: one for each option, and which documents are searched."""
    for option in _RUN_OPTIONS:
        _add_option_argument(parser, option)
    parser.add_argument("--collection", type=parse_text, default="", help="only this collection (default: all)")
    parser.add_argument("--preset", type=parse_text, metavar="NAME", help="preset to start from, as `presets` lists it")


def _add_option_argument(parser: argparse.ArgumentParser, option: Option) -> None:
    sentence = _(option.help).rstrip(".。")
    help_text = f"{sentence[0].lower()}{sentence[1:]}"
    match option.kind:
        case "switch":
            parser.add_argument(option.flag, action=argparse.BooleanOptionalAction, help=help_text)
        case "choice":
            meanings = "; ".join(f"{value}: {_(meaning)}" for value, (_label, meaning) in option.values.items())
            parser.add_argument(option.flag, choices=option.values, help=f"{help_text}. {meanings}")
        case "model":
            parser.add_argument(
                option.flag, type=parse_text, help=f"{help_text}. {translate_text(option.requirement())}"
            )
        case _:
            lowest, highest = option.bounds(for_run=True)
            parser.add_argument(option.flag, type=whole_number(int(lowest), int(highest)), help=help_text)


def build_run_options(
    application: Application, options: argparse.Namespace, kept: OptionChanges = _NO_CHANGES
) -> RunOptions:
    """Build the options of a run.

    The arguments override the preset, which overrides the options `kept` by a conversation, which override saved ones.
    The web is off unless an argument or a preset enables it.
    """
    given = {option: getattr(options, option.name) for option in _RUN_OPTIONS}
    for option, value in given.items():
        if option.kind == "model" and value:
            application.preferences.allow_model_for_process(value)
    changes: dict[str, Any] = {option.name: value for option, value in given.items() if value is not None}
    chosen = application.preferences.options({**kept, "web": "off", **_preset_changes(application, options.preset)})
    return apply_changes(chosen, {**changes, "collection": options.collection})


def _preset_changes(application: Application, name: str | None) -> OptionChanges:
    if name is None:
        return {}
    presets = application.preferences.presets()
    if name not in presets:
        raise BadRequest(f"There is no preset called “{name}”.", f"Presets: {', '.join(presets)}.")
    return {**presets[name], "preset": name}


def check_new_file(path: Path) -> None:
    """Check that a new file can be created, before long work is done for it. Raises `BadRequest`."""
    if path.exists():
        raise _file_exists_error(path)
    if not path.parent.is_dir():
        raise BadRequest(f"There is no folder for {path.name}.", "Create it, or choose another.")


def write_new_file(path: Path, content: str | bytes) -> None:
    """Write a new file, text as UTF-8. Raises `BadRequest` if it exists or cannot be written."""
    try:
        with path.open("xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
    except FileExistsError as error:
        raise _file_exists_error(path) from error
    except OSError as error:
        raise BadRequest(f"The file {path.name} cannot be written.", "Choose another folder.") from error


def write_or_print(path: Path | None, header: Json, content: str, *, as_json: bool) -> None:
    """Write exported content to a new file, or else print it, as JSON within the `header`. Raises `BadRequest`."""
    if path is not None:
        write_new_file(path, content)
        print_result(
            as_json,
            header | {"path": str(path), "bytes": path.stat().st_size},
            _("Exported to {path}.").format(path=path),
        )
    elif as_json:
        print_json(header | {"content": content})
    else:
        sys.stdout.write(content)


def read_input_file(path: Path) -> bytes:
    """Read a file, pipe or device that an argument names. Raises `BadRequest`."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_INPUT_BYTES + 1)
    except OSError as error:
        raise BadRequest(f"The file {path.name} cannot be read.", "Check its name and its permissions.") from error
    if len(content) > _MAX_INPUT_BYTES:
        raise BadRequest(f"The file {path.name} has more than {_MAX_INPUT_BYTES >> 20} MB.", "Check its name.")
    return content


def _file_exists_error(path: Path) -> BadRequest:
    return BadRequest(f"{path.name} already exists; nothing was written.", "Choose another name.")
