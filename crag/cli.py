"""Command line: argument parser and registry of the commands in CONTRACT.md."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence

from crag.assembly import open_application
from crag.commands import (
    adding,
    asking,
    calibrating,
    collections,
    conversations,
    datasets,
    doctor,
    evaluating,
    evaluations,
    exchange,
    gaps,
    ledger,
    library,
    models,
    settings,
    spaces,
)
from crag.commands.arguments import FAILED, OK, USAGE, Command, EarlyCommand, folder
from crag.errors import CragError
from crag.settings import load_settings
from crag.terminal import prepare_output, print_json, report_failure

_COMMANDS = (
    adding.register,
    library.register,
    collections.register,
    exchange.register,
    asking.register,
    conversations.register,
    calibrating.register,
    evaluating.register,
    evaluations.register,
    datasets.register,
    models.register,
    spaces.register,
    settings.register,
    gaps.register,
    ledger.register,
    doctor.register,
)


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 success, 1 refused or failed, 2 usage error."""
    as_json = "--json" in arguments
    prepare_output(as_json)
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as usage:
        if usage.code in (0, None):
            return OK
        if as_json:
            print_json({"error": {"code": "usage", "message": "The command was not understood; see --help."}})
        return USAGE
    try:
        return _run(options)
    except CragError as error:
        report_failure(error.code, str(error), as_json)
        return FAILED
    except BrokenPipeError:  # the reader closed the pipe; buffered output must not be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception:  # last resort: log it and report a fault
        logging.getLogger(__name__).exception("A command failed in a way nobody foresaw")
        report_failure("bug", "Something went wrong inside the application. Try again.", as_json)
        return FAILED


def _run(options: argparse.Namespace) -> int:
    if options.early:
        early: EarlyCommand = options.command
        return early(load_settings(options.home), options)
    application = open_application(home=options.home)
    try:
        command: Command = options.command
        return command(application, options)
    finally:
        application.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m crag", description="Ask your own documents.")
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

    for register in _COMMANDS:
        register(command)
    return parser


def _common_arguments(within: bool) -> argparse.ArgumentParser:
    """Return the arguments of every command.

    Within a group, missing arguments are suppressed so that they do not reset the values given to the group.
    """
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS if within else None)
    common.add_argument(
        "--home", type=folder, help="the folder that holds everything (default: CRAG_HOME, else ./data)"
    )
    common.add_argument("--json", action="store_true", help="print exactly one JSON document")
    return common
