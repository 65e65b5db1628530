"""Commands for the tokens of programs: list, make, revoke."""

from __future__ import annotations

import argparse
from typing import Any

from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand, check_owner_named, parse_text
from crag.cli.terminal import print_result
from crag.storage.api_tokens import SCOPES, ApiToken
from crag.translation import _


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    for name in ("tokens", "tokens list"):
        command(name, list_tokens)
    making = command("tokens make", make_token)
    making.add_argument("name", type=parse_text, help="the program that will use it")
    meanings = "; ".join(f"{scope}: {_(meaning)}" for scope, meaning in SCOPES.items())
    making.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        dest="scopes",
        help=f"{_('may be repeated (default: ask and read)')}. {meanings}",
    )
    command("tokens revoke", revoke_token).add_argument("id", type=parse_text, help="id, as `tokens` shows it")


def list_tokens(application: Application, options: argparse.Namespace) -> int:
    """List the tokens of programs. Actions make and revoke them."""
    found = application.api_tokens.list()
    lines = "\n".join(f"{one.id}  {one.name}: {', '.join(sorted(one.scopes))}" for one in found)
    print_result(options.json, {"tokens": [_token_json(one) for one in found]}, lines or _("There are no tokens."))
    return OK


def make_token(application: Application, options: argparse.Namespace) -> int:
    """Make a token for a program, and print it once. Without --as, it opens everything of the home.

    Where people log in, --as is needed.
    """
    check_owner_named(application, options)
    token, secret = application.api_tokens.make(options.name, options.scopes or ("ask", "read"))
    print_result(options.json, {"token": _token_json(token) | {"secret": secret}}, secret)
    return OK


def revoke_token(application: Application, options: argparse.Namespace) -> int:
    """Revoke a token."""
    application.api_tokens.revoke(options.id)
    print_result(options.json, {"revoked": options.id}, _("Revoked."))
    return OK


def _token_json(token: ApiToken) -> dict[str, Any]:
    times = {"created_at": token.created_at, "used_at": token.used_at}
    return {"id": token.id, "name": token.name, "scopes": sorted(token.scopes), **times}
