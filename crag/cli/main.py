"""Command line: argument parser and registry of the commands."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from crag.app.application import open_application
from crag.cli.arguments import FAILED, OK, USAGE, Command, EarlyCommand, parse_folder
from crag.cli.terminal import configure_output, print_failure, print_json
from crag.errors import BadRequest, CragError
from crag.settings import load_settings
from crag.storage.preferences import read_saved_language
from crag.translation import ENGLISH, N_, _, find_terminal_language, set_language, translate_text, use_language

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "add": ("add", "refresh"),
    "library": ("list", "remove", "rename", "search", "collections", "export", "import", "backup", "restore", "move"),
    "ask": ("ask", "grade"),
    "conversations": ("conversations",),
    "notes": ("notes",),
    "folders": ("folders",),
    "send": ("send",),
    "calibrate": ("calibrate",),
    "evaluate": ("evaluate",),
    "evaluations": ("evaluations", "datasets"),
    "models": ("models", "spaces"),
    "mcp": ("mcp",),
    "tokens": ("tokens",),
    "home": ("settings", "presets", "gaps", "ledger", "doctor"),
}
"""The commands in each module of this package; running one imports only its module."""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 success, 1 refused or failed, 2 usage error."""
    with use_language(ENGLISH if "--json" in arguments else find_terminal_language(_read_saved_language(arguments))):
        return _run(arguments, as_json="--json" in arguments)


def _read_saved_language(arguments: Sequence[str]) -> str:
    """Return the language chosen in the home that the arguments name."""
    early = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    early.add_argument("--home", type=parse_folder)
    with suppress(argparse.ArgumentError, CragError):  # which the command will report
        return read_saved_language(load_settings(early.parse_known_args(arguments)[0].home))
    return ""


def _run(arguments: Sequence[str], *, as_json: bool) -> int:
    configure_output(as_json)
    try:
        options = _build_parser(arguments).parse_args(arguments)
    except SystemExit as usage:
        if usage.code in (0, None):
            return OK
        if as_json:
            print_json({"error": {"code": "usage", "message": "Unknown command or option. See --help."}})
        return USAGE
    try:
        return _run_command(options)
    except CragError as error:
        print_failure(error.code, str(error), as_json)
        return FAILED
    except BrokenPipeError:  # the reader closed the pipe; buffered output must not be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception:  # last resort: log it and report a fault
        logging.getLogger(__name__).exception("Unexpected error in a command")
        print_failure("bug", N_("Something went wrong in the app. Try again."), as_json)
        return FAILED


def _run_command(options: argparse.Namespace) -> int:
    if options.early:
        if options.account:
            raise BadRequest("This command is for the owner of the home.", "Leave out --as.")
        early: EarlyCommand = options.command
        return early(load_settings(options.home), options)
    application = open_application(home=options.home)
    try:
        command: Command = options.command
        user = application.accounts.find(options.account).id if options.account else None
        limited = application.for_user(user)
        if user and not options.json:
            set_language(find_terminal_language(limited.preferences.language()))
        return command(limited, options)
    finally:
        application.close()


def _build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser for these arguments: of one module's commands if the first argument is one, else of all."""
    parser: argparse.ArgumentParser = _Parser(
        prog="python -m crag",
        description=N_("Answer questions from your documents, and grade every passage before it is used."),
    )
    groups = {"": parser.add_subparsers(required=True, metavar="COMMAND")}
    parsers: dict[str, argparse.ArgumentParser] = {}

    def command(name: str, function: Command | EarlyCommand, *, early: bool = False) -> argparse.ArgumentParser:
        group, _, own = name.rpartition(" ")
        if group not in groups:
            groups[group] = parsers[group].add_subparsers(metavar="ACTION", title="actions")
        common = _common_arguments(within=bool(group))
        described = " ".join((function.__doc__ or "").split())
        made = groups[group].add_parser(own, parents=[common], help=described, description=described)
        made.set_defaults(command=function, early=early)
        parsers[name] = made
        return made

    named = [module for module, commands in COMMANDS.items() if arguments and arguments[0] in commands]
    for module in named or COMMANDS:
        importlib.import_module(f"crag.cli.{module}").register(command)
    return parser


class _HelpFormatter(argparse.HelpFormatter):
    """Formats help in the user's language; the texts of the commands are English."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, f"{_('usage:')} " if prefix is None else prefix)

    def start_section(self, heading: str | None) -> None:
        super().start_section(heading and translate_text(heading))

    def add_text(self, text: str | None) -> None:
        super().add_text(text and translate_text(text))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help and translate_text(action.help)


class _Parser(argparse.ArgumentParser):
    """A parser whose help and errors are in the user's language, as are those of its commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, **given)

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {_('error: {message}').format(message=translate_text(message))}\n")


def _common_arguments(within: bool) -> argparse.ArgumentParser:
    """Return the arguments of every command.

    Within a group, missing arguments are suppressed so that they do not reset the values given to the group.
    """
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS if within else None)
    common.add_argument("--home", type=parse_folder, help="folder of all data (default: CRAG_HOME, else ./data)")
    common.add_argument(
        "--as", dest="account", metavar="EMAIL", help="see only what this person sees, who must have logged in before"
    )
    common.add_argument("--json", action="store_true", help="print exactly one JSON document")
    return common
