"""Commands for conversations: list, export, import, delete, restore, give."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Literal, get_args

from crag.app.application import Application
from crag.cli import reports
from crag.cli.arguments import OK, AddCommand, parse_path, parse_text, write_new_file
from crag.cli.terminal import print_result
from crag.errors import BadRequest
from crag.text.formatting import format_count

ConversationFormat = Literal["markdown", "json", "html"]


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    for name in ("conversations", "conversations list"):
        command(name, list_conversations).add_argument(
            "--search", type=parse_text, default="", help="only those whose title or text holds it"
        )
    exporting = command("conversations export", export_conversation)
    _add_id_argument(exporting)
    exporting.add_argument("--format", choices=get_args(ConversationFormat), default="markdown")
    exporting.add_argument("--output", type=parse_path, metavar="FILE", help="a new file (default: standard output)")
    command("conversations import", import_conversation).add_argument(
        "file", type=parse_path, metavar="FILE", help="a conversation that was exported as JSON"
    )
    _add_id_argument(command("conversations delete", delete_conversation))
    _add_id_argument(command("conversations restore", restore_conversation))
    giving = command("conversations give", transfer_conversations)
    giving.add_argument("ids", nargs="*", type=parse_text, metavar="ID", help="of conversations to be handed over")
    giving.add_argument("--all", action="store_true", help="hand over every conversation")
    giving.add_argument(
        "--to", required=True, type=parse_text, metavar="KEY", help="of a browser: Settings, Privacy shows it"
    )


def _add_id_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", type=parse_text, metavar="ID", help="the id of a conversation, as `conversations` shows it"
    )


def list_conversations(application: Application, options: argparse.Namespace) -> int:
    """Lists conversations, pinned ones first; exports, imports, deletes, restores and hands them over."""
    found = application.conversations.list(options.search)
    lines = "\n".join(f"{one.id}  {one.title}" for one in found) or "There are no conversations."
    print_result(options.json, {"conversations": [reports.conversation_json(one) for one in found]}, lines)
    return OK


def export_conversation(application: Application, options: argparse.Namespace) -> int:
    """Writes a conversation as Markdown, as JSON to be imported again, or as one web page with trace and citations."""
    content = _export_content(application, options.id, options.format)
    header = {"exported": options.id, "format": options.format}
    if options.output is None:
        if options.json:
            print_result(True, header | {"content": content}, "")
        else:
            sys.stdout.write(content)
        return OK
    write_new_file(options.output, content)
    document = header | {"path": str(options.output), "bytes": options.output.stat().st_size}
    print_result(options.json, document, f"Exported to {options.output}.")
    return OK


def import_conversation(application: Application, options: argparse.Namespace) -> int:
    """Takes a conversation in that was exported as JSON; it gets a new id."""
    file: Path = options.file
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadRequest(f"The file {file.name} cannot be read.", "Check its name and its permissions.") from error
    made = application.sharing.import_json(data)
    print_result(options.json, {"imported": reports.conversation_json(made)}, f"Imported “{made.title}” as {made.id}.")
    return OK


def delete_conversation(application: Application, options: argparse.Namespace) -> int:
    """Deletes a conversation; for a while it can be restored."""
    title = application.conversations.get(options.id).title
    application.delete_conversation(options.id)
    print_result(options.json, {"deleted": options.id}, f"Deleted “{title}”. To take that back: conversations restore")
    return OK


def restore_conversation(application: Application, options: argparse.Namespace) -> int:
    """Takes the deletion of a conversation back, as long as it is kept."""
    application.conversations.restore(options.id)
    title = application.conversations.get(options.id).title
    print_result(options.json, {"restored": options.id}, f"Restored “{title}”.")
    return OK


def transfer_conversations(application: Application, options: argparse.Namespace) -> int:
    """Hands conversations over to another browser, which is known by its key: write --to=KEY."""
    if bool(options.ids) == options.all:
        raise BadRequest("It is not clear what is to be handed over.", "Name conversations, or say --all.")
    for conversation_id in options.ids:
        application.conversations.get(conversation_id)  # raises before any is transferred
    people = application.people
    given = people.transfer_all(options.to) if options.all else people.transfer(options.to, options.ids)
    print_result(options.json, {"given": given}, f"Handed over {format_count(given, 'conversation')}.")
    return OK


def _export_content(application: Application, conversation_id: str, form: ConversationFormat) -> str:
    match form:
        case "markdown":
            return application.sharing.markdown(conversation_id)
        case "html":
            return application.sharing.html(conversation_id)
    return application.sharing.json(conversation_id).decode()
