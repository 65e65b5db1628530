"""The command line: the contract's commands over the same services that the pages use."""

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
    """Runs one command; returns its exit code: 0 all done, 1 something was refused or failed, 2 usage."""
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
    except BrokenPipeError:  # whoever read our output has left; what is still held back must not be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception:  # the last line of defence: logged, and shown as a fault
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
    """What every command takes; `within` a group, what was not given must not undo what the group was given."""
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS if within else None)
    common.add_argument(
        "--home", type=folder, help="the folder that holds everything (default: CRAG_HOME, else ./data)"
    )
    common.add_argument("--json", action="store_true", help="print exactly one JSON document")
    return common
