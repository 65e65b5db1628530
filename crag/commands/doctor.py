"""Command that checks the set-up: doctor."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag import reports
from crag.assembly import Application
from crag.commands.arguments import FAILED, OK, AddCommand
from crag.terminal import finish


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    command("doctor", doctor)


def doctor(application: Application, options: argparse.Namespace) -> int:
    """Says what is set up, what is not, and what mends it."""
    checks = application.diagnose()
    finish(
        options.json,
        {"checks": [asdict(check) for check in checks]},
        "\n".join(reports.check_text(check) for check in checks),
    )
    return FAILED if any(check.status == "fail" for check in checks) else OK
