"""Command that lists coverage gaps: gaps."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag import reports
from crag.amounts import count
from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand
from crag.gaps import Gap
from crag.moments import local
from crag.terminal import finish

_NONE = "Your documents covered every question that was asked of them."


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    command("gaps", gaps)


def gaps(application: Application, options: argparse.Namespace) -> int:
    """Lists what the documents do not cover, the topic with most questions first."""
    application.archive.complete()
    found = application.gaps.list()
    listing = "\n\n".join(map(_told, found)) or _NONE
    finish(options.json, {"gaps": [_entry(gap) for gap in found]}, listing)
    return OK


def _entry(gap: Gap) -> dict[str, object]:
    return {"topic": gap.topic, "count": len(gap.questions), "last_asked": gap.last_asked} | {
        "questions": [asdict(question) for question in gap.questions]
    }


def _told(gap: Gap) -> str:
    lines = [f"{gap.topic}  ({count(len(gap.questions), 'question')}, the last on {local(gap.last_asked):%Y-%m-%d})"]
    for question in gap.questions:
        lines.append(f"  {' '.join(question.question.split())}")
        lines += [f"    answered by {page.location}" for page in question.pages]
    return reports.printable("\n".join(lines))
