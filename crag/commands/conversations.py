"""Commands for conversations: list, export, import, delete, restore, give."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Literal, get_args

from crag import reports
from crag.amounts import count
from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand, place, text
from crag.commands.files import write_new
from crag.errors import BadRequest
from crag.terminal import finish

ConversationFormat = Literal["markdown", "json", "html"]


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    for name in ("conversations", "conversations list"):
        command(name, list_conversations).add_argument(
            "--search", type=text, default="", help="only those whose title or text holds it"
        )
    exporting = command("conversations export", export)
    _add_id(exporting)
    exporting.add_argument("--format", choices=get_args(ConversationFormat), default="markdown")
    exporting.add_argument("--output", type=place, metavar="FILE", help="a new file (default: standard output)")
    command("conversations import", import_).add_argument(
        "file", type=place, metavar="FILE", help="a conversation that was exported as JSON"
    )
    _add_id(command("conversations delete", delete))
    _add_id(command("conversations restore", restore))
    giving = command("conversations give", give)
    giving.add_argument("ids", nargs="*", type=text, metavar="ID", help="of conversations to be handed over")
    giving.add_argument("--all", action="store_true", help="hand over every conversation")
    giving.add_argument(
        "--to", required=True, type=text, metavar="KEY", help="of a browser: Settings, Privacy shows it"
    )


def _add_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=text, metavar="ID", help="the id of a conversation, as `conversations` shows it")


def list_conversations(application: Application, options: argparse.Namespace) -> int:
    """Lists conversations, pinned ones first; exports, imports, deletes, restores and hands them over."""
    found = application.conversations.list(options.search)
    lines = "\n".join(f"{one.id}  {one.title}" for one in found) or "There are no conversations."
    finish(options.json, {"conversations": [reports.conversation(one) for one in found]}, lines)
    return OK


def export(application: Application, options: argparse.Namespace) -> int:
    """Writes a conversation as Markdown, as JSON to be imported again, or as one web page with trace and citations."""
    content = _content(application, options.id, options.format)
    header = {"exported": options.id, "format": options.format}
    if options.output is None:
        if options.json:
            finish(True, header | {"content": content}, "")
        else:
            sys.stdout.write(content)
        return OK
    write_new(options.output, content)
    document = header | {"path": str(options.output), "bytes": options.output.stat().st_size}
    finish(options.json, document, f"Exported to {options.output}.")
    return OK


def import_(application: Application, options: argparse.Namespace) -> int:
    """Takes a conversation in that was exported as JSON; it gets a new id."""
    file: Path = options.file
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadRequest(f"The file {file.name} cannot be read.", "Check its name and its permissions.") from error
    made = application.sharing.import_json(data)
    finish(options.json, {"imported": reports.conversation(made)}, f"Imported “{made.title}” as {made.id}.")
    return OK


def delete(application: Application, options: argparse.Namespace) -> int:
    """Deletes a conversation; for a while it can be restored."""
    title = application.conversations.get(options.id).title
    application.delete_conversation(options.id)
    finish(options.json, {"deleted": options.id}, f"Deleted “{title}”. To take that back: conversations restore")
    return OK


def restore(application: Application, options: argparse.Namespace) -> int:
    """Takes the deletion of a conversation back, as long as it is kept."""
    application.conversations.restore(options.id)
    title = application.conversations.get(options.id).title
    finish(options.json, {"restored": options.id}, f"Restored “{title}”.")
    return OK


def give(application: Application, options: argparse.Namespace) -> int:
    """Hands conversations over to another browser, which is known by its key: write --to=KEY."""
    if bool(options.ids) == options.all:
        raise BadRequest("It is not clear what is to be handed over.", "Name conversations, or say --all.")
    for conversation_id in options.ids:
        application.conversations.get(conversation_id)  # raises before any is transferred
    people = application.people
    given = people.give_all(options.to) if options.all else people.give(options.to, options.ids)
    finish(options.json, {"given": given}, f"Handed over {count(given, 'conversation')}.")
    return OK


def _content(application: Application, conversation_id: str, form: ConversationFormat) -> str:
    match form:
        case "markdown":
            return application.sharing.markdown(conversation_id)
        case "html":
            return application.sharing.html(conversation_id)
    return application.sharing.json(conversation_id).decode()
