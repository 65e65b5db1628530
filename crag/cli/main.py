"""Command line: argument parser and registry of the commands."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Mapping, Sequence

from crag.app.application import open_application
from crag.cli.arguments import FAILED, OK, USAGE, Command, EarlyCommand, parse_folder
from crag.cli.terminal import configure_output, print_failure, print_json
from crag.errors import BadRequest, CragError
from crag.settings import load_settings

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "add": ("add", "refresh"),
    "library": ("list", "remove", "search", "collections", "export", "import", "backup", "restore", "move"),
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
    as_json = "--json" in arguments
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
        print_failure("bug", "Something went wrong in the app. Try again.", as_json)
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
        return command(application.for_user(user), options)
    finally:
        application.close()


def _build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser for these arguments: of one module's commands if the first argument is one, else of all."""
    parser = argparse.ArgumentParser(
        prog="python -m crag",
        description="Answer questions from your documents, and grade every passage before it is used.",
    )
    groups = {"": parser.add_subparsers(required=True, metavar="COMMAND")}
    parsers: dict[str, argparse.ArgumentParser] = {}

    def command(name: str, function: Command | EarlyCommand, *, early: bool = False) -> argparse.ArgumentParser:
        group, _, own = name.rpartition(" ")
        if group not in groups:
            groups[group] = parsers[group].add_subparsers(metavar="ACTION", title="actions")
        common = _common_arguments(within=bool(group))
        made = groups[group].add_parser(own, parents=[common], help=function.__doc__, description=function.__doc__)
        made.set_defaults(command=function, early=early)
        parsers[name] = made
        return made

    named = [module for module, commands in COMMANDS.items() if arguments and arguments[0] in commands]
    for module in named or COMMANDS:
        importlib.import_module(f"crag.cli.{module}").register(command)
    return parser


def _common_arguments(within: bool) -> argparse.ArgumentParser:
    """Return the arguments of every command.

    Within a group, missing arguments are suppressed so that they do not reset the values given to the group.
    """
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS if within else None)
    common.add_argument("--home", type=parse_folder, help="folder of all data (default: CRAG_HOME, else ./data)")
    common.add_argument(
        "--as", dest="account", metavar="EMAIL", help="see no more than this person, who has logged in before"
    )
    common.add_argument("--json", action="store_true", help="print exactly one JSON document")
    return common
