"""Commands for embedding spaces: list, use, rollback, drop."""

from __future__ import annotations

import argparse

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand, text
from crag.commands.progress import progress_line
from crag.errors import BadRequest
from crag.library.spaces.switching import SpaceReport
from crag.stopping import Stop
from crag.terminal import finish

_STATES = {"answering": "answers", "building": "is to answer", "kept": "kept"}


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("spaces", list_spaces)
    using = command("spaces use", use)
    using.add_argument("name", type=text, help="builtin, nomic, ollama:NAME or PROVIDER:NAME")
    command("spaces rollback", rollback)
    command("spaces drop", drop).add_argument("id", type=text, help="an id of the list, or its beginning")


def list_spaces(application: Application, options: argparse.Namespace) -> int:
    """Lists the spaces of vectors: which one answers, and which others are kept; switches between them."""
    spaces = application.library.spaces
    found, fault = spaces.reports(), spaces.answering.check()
    overruled = spaces.answering.overruled()
    lines = [_line(report) for report in found]
    if overruled:
        lines.append(f"The settings name {overruled}; it was left by hand. `spaces use {overruled}` has it after all.")
    lines += [str(fault)] if fault else []
    document = {
        "spaces": [reports.space(report) for report in found],
        "wanted": spaces.answering.wanted(),
        "overruled": overruled or None,
        "fault": str(fault) if fault else None,
    }
    finish(options.json, document, "\n".join(lines) or "Nothing is embedded yet.")
    return OK


def use(application: Application, options: argparse.Namespace) -> int:
    """Switches to an embedder: embeds what it lacks, then lets it answer. Interrupted, it goes on from there."""
    with progress_line(options.name) as report:
        application.library.spaces.use(options.name, report, Stop())
    return _say_what_answers(application, options)


def rollback(application: Application, options: argparse.Namespace) -> int:
    """Goes back to the space that answered before; done again, it comes back to this one."""
    with progress_line("Going back") as report:
        application.library.spaces.go_back(report, Stop())
    return _say_what_answers(application, options)


def drop(application: Application, options: argparse.Namespace) -> int:
    """Frees the vectors of a space that is not in use."""
    spaces = application.library.spaces
    ids = [report.space.id for report in spaces.reports() if report.space.id.startswith(options.id)]
    if len(ids) > 1 and options.id not in ids:
        raise BadRequest(f"Several spaces begin with “{options.id}”.", "Write more of the id.")
    space = spaces.drop(ids[0] if ids else options.id)
    finish(options.json, {"dropped": space.id}, f"Dropped {space.label}. Its room is used again by what is added.")
    return OK


def _say_what_answers(application: Application, options: argparse.Namespace) -> int:
    found = application.library.spaces.reports()
    document = {"spaces": [reports.space(report) for report in found]}
    finish(options.json, document, "\n".join(_line(report) for report in found))
    return OK


def _line(report: SpaceReport) -> str:
    space = report.space
    coverage = f"{report.vectors:,} of {report.passages:,} passages"
    weight = f"meaning counts {report.weight.share:.0%} ({report.weight.origin})"
    facts = f"{space.dimension} dimensions, {coverage}, {weight}, digest {space.digest[:12]}"
    return f"{space.id}  {_STATES[report.state]}: {space.name}  ({facts})"
