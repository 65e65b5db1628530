"""Command that serves the documents to other programs: mcp."""

from __future__ import annotations

import argparse

from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand, check_owner_named, whole_number
from crag.cli.terminal import print_note
from crag.translation import _

_LARGEST_PORT = 65_535


def register(command: AddCommand) -> None:
    """Add the parser of this command."""
    serving = command("mcp", serve_mcp)
    serving.add_argument("--read-only", action="store_true", help="do not let programs add documents")
    serving.add_argument(
        "--http",
        type=whole_number(1, _LARGEST_PORT),
        metavar="PORT",
        help="serve programs of this machine over HTTP instead; each needs an API token (`tokens make`)",
    )


def serve_mcp(application: Application, options: argparse.Namespace) -> int:
    """Serve the documents to programs with the Model Context Protocol, over standard input and output or over HTTP."""
    from crag.mcp.server import Access, CragServer

    access = Access(may_add=not options.read_only, local_files=not options.http)
    server = CragServer(application, access, in_conversations=bool(options.account))
    if not options.http:
        server.run("stdio")
        return OK
    from crag.mcp.http import listen, serve_http

    check_owner_named(application, options)
    user = application.accounts.find(options.account).id if options.account else None
    with listen(options.http) as listening:
        print_note(_("Serving http://127.0.0.1:{http}/mcp. Stop with Ctrl+C.").format(http=options.http))
        serve_http(server, user, listening)
    return OK
