"""Commands for conversations: list, export, import, delete, restore, give."""

from __future__ import annotations

import argparse
from typing import Literal, get_args

from crag.app import reports
from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand, parse_path, parse_text, read_input_file, write_or_print
from crag.cli.terminal import print_result
from crag.errors import BadRequest
from crag.text.formatting import format_count
from crag.translation import _

ConversationFormat = Literal["markdown", "json", "html"]


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    for name in ("conversations", "conversations list"):
        command(name, list_conversations).add_argument(
            "--search", type=parse_text, default="", help="only conversations that contain this in their title or text"
        )
    exporting = command("conversations export", export_conversation)
    _add_id_argument(exporting)
    exporting.add_argument(
        "--format", choices=get_args(ConversationFormat), default="markdown", help="default: %(default)s"
    )
    exporting.add_argument("--output", type=parse_path, metavar="FILE", help="new file (default: standard output)")
    command("conversations import", import_conversation).add_argument(
        "file", type=parse_path, metavar="FILE", help="conversation exported as JSON"
    )
    _add_id_argument(command("conversations delete", delete_conversation))
    _add_id_argument(command("conversations restore", restore_conversation))
    giving = command("conversations give", transfer_conversations)
    giving.add_argument("ids", nargs="*", type=parse_text, metavar="ID", help="id of a conversation to transfer")
    giving.add_argument("--all", action="store_true", help="transfer all conversations")
    giving.add_argument(
        "--to",
        required=True,
        type=parse_text,
        metavar="KEY",
        help="key of the browser, as Settings shows it under Privacy",
    )


def _add_id_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=parse_text, metavar="ID", help="id of a conversation, as `conversations` shows it")


def list_conversations(application: Application, options: argparse.Namespace) -> int:
    """List conversations, pinned ones first. Actions export, import, delete, restore and transfer them."""
    found = application.conversations.list(options.search)
    lines = "\n".join(f"{one.id}  {one.title}" for one in found) or _("There are no conversations.")
    print_result(options.json, {"conversations": [reports.conversation_json(one) for one in found]}, lines)
    return OK


def export_conversation(application: Application, options: argparse.Namespace) -> int:
    """Export a conversation as Markdown, as JSON for `import`, or as a web page with trace and citations."""
    content = _export_content(application, options.id, options.format)
    header = {"exported": options.id, "format": options.format}
    write_or_print(options.output, header, content, as_json=options.json)
    return OK


def import_conversation(application: Application, options: argparse.Namespace) -> int:
    """Import a conversation exported as JSON. It gets a new id."""
    made = application.sharing.import_json(read_input_file(options.file), options.file.name)
    print_result(
        options.json,
        {"imported": reports.conversation_json(made)},
        _("Imported “{title}” as {id}.").format(title=made.title, id=made.id),
    )
    return OK


def delete_conversation(application: Application, options: argparse.Namespace) -> int:
    """Delete a conversation. It can be restored for a while."""
    title = application.conversations.get(options.id).title
    application.delete_conversation(options.id)
    print_result(
        options.json,
        {"deleted": options.id},
        _("Deleted “{title}”. To undo: conversations restore").format(title=title),
    )
    return OK


def restore_conversation(application: Application, options: argparse.Namespace) -> int:
    """Restore a deleted conversation."""
    application.conversations.restore(options.id)
    title = application.conversations.get(options.id).title
    print_result(options.json, {"restored": options.id}, _("Restored “{title}”.").format(title=title))
    return OK


def transfer_conversations(application: Application, options: argparse.Namespace) -> int:
    """Transfer conversations to another browser, named by its key: --to=KEY."""
    if bool(options.ids) == options.all:
        raise BadRequest("No conversations were named.", "Name conversations, or use --all.")
    for conversation_id in options.ids:
        application.conversations.get(conversation_id)  # raises before any is transferred
    people = application.people
    given = people.transfer_all(options.to) if options.all else people.transfer(options.to, options.ids)
    print_result(
        options.json,
        {"given": given},
        _("Transferred {conversations}.").format(conversations=format_count(given, "conversation")),
    )
    return OK


def _export_content(application: Application, conversation_id: str, form: ConversationFormat) -> str:
    match form:
        case "markdown":
            return application.sharing.markdown(conversation_id)
        case "html":
            return application.sharing.html(conversation_id)
    return application.sharing.json(conversation_id).decode()
