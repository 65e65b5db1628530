"""Command that serves the documents to other programs: mcp."""

from __future__ import annotations

import argparse

from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    serving = command("mcp", serve_mcp)
    serving.add_argument("--read-only", action="store_true", help="do not let programs add documents")


def serve_mcp(application: Application, options: argparse.Namespace) -> int:
    """Serve the documents to a program by the Model Context Protocol, over standard input and output."""
    from crag.mcp.server import Access, CragServer

    access = Access(may_add=not options.read_only)
    CragServer(application, access, in_conversations=bool(options.account)).run("stdio")
    return OK
