"""Commands for notes: list and export."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand, parse_path, parse_text, write_new_file
from crag.cli.terminal import print_result
from crag.text.formatting import format_count
from crag.translation import _


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    for name in ("notes", "notes list"):
        command(name, list_notes).add_argument(
            "--search", type=parse_text, default="", help="only notes that contain this in their title or text"
        )
    exporting = command("notes export", export_notes)
    exporting.add_argument(
        "file", type=parse_path, metavar="FILE", help="new file; Word if its name ends in .docx, otherwise Markdown"
    )


def list_notes(application: Application, options: argparse.Namespace) -> int:
    """List notes, newest first. `notes export` writes them to a file."""
    found = application.notes.list(options.search)
    lines = "\n".join(f"{note.id}  {note.title}" for note in found) or _("There are no notes.")
    print_result(options.json, {"notes": [asdict(note) for note in found]}, lines)
    return OK


def export_notes(application: Application, options: argparse.Namespace) -> int:
    """Export all notes with their sources as Markdown or as a Word document."""
    from crag.sharing.note_export import write_notes_markdown, write_notes_word

    found, as_word = application.notes.list(), options.file.suffix.lower() == ".docx"
    write_new_file(options.file, write_notes_word(found) if as_word else write_notes_markdown(found))
    exported = {"exported": len(found), "format": "word" if as_word else "markdown", "path": str(options.file)}
    print_result(
        options.json,
        exported,
        _("Exported {notes} to {file}.").format(notes=format_count(len(found), "note"), file=options.file),
    )
    return OK
