"""Commands for watched folders: list, add, apply, pause, resume and remove."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from crag.app.application import Application
from crag.cli.arguments import OK, AddCommand, parse_path, parse_text
from crag.cli.terminal import print_result
from crag.library.watched_folders import WatchedFolder
from crag.text.formatting import format_count
from crag.translation import N_, _


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    for name in ("folders", "folders list"):
        command(name, list_folders)
    adding = command("folders add", add_folder)
    adding.add_argument("folder", type=parse_path, metavar="FOLDER", help="folder on the machine of the server")
    adding.add_argument("--collection", type=parse_text, default="", help="collection to keep in step with it")
    add_rule_arguments(adding)
    adding.add_argument(
        "--automatic", action="store_true", help="apply changes without being asked, once the first ones were applied"
    )
    _add_id_argument(command("folders apply", apply_changes))
    _add_id_argument(command("folders pause", pause_folder))
    _add_id_argument(command("folders resume", resume_folder))
    removing = command("folders remove", remove_folder)
    _add_id_argument(removing)
    removing.add_argument("--with-documents", action="store_true", help="also remove the documents of its files")


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which files of a folder count."""
    patterns = {
        "--include": N_("only these files, such as '*.pdf' or 'papers/*'; may be repeated"),
        "--exclude": N_("not these files and subfolders; may be repeated"),
    }
    for flag, help_text in patterns.items():
        parser.add_argument(flag, action="append", default=[], type=parse_text, metavar="PATTERN", help=help_text)
    parser.add_argument("--no-subfolders", dest="subfolders", action="store_false", help="not what is in subfolders")


def _add_id_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=parse_text, metavar="ID", help="id of a watched folder, as `folders` shows it")


def list_folders(application: Application, options: argparse.Namespace) -> int:
    """List the watched folders with their state and what was found. The running server keeps them up to date."""
    found = application.watched_folders.list()
    lines = "\n".join(_describe(folder) for folder in found) or _("No folder is watched.")
    print_result(options.json, {"folders": [asdict(one) | {"state": one.state} for one in found]}, lines)
    return OK


def add_folder(application: Application, options: argparse.Namespace) -> int:
    """Watch a folder. The running server lists what it finds; nothing is added until you apply it."""
    folder_id = application.watched_folders.add(
        str(options.folder),
        options.collection,
        include=options.include,
        exclude=options.exclude,
        subfolders=options.subfolders,
        automatic=options.automatic,
    )
    print_result(options.json, {"added": folder_id}, folder_id)
    return OK


def apply_changes(application: Application, options: argparse.Namespace) -> int:
    """Apply the changes found in a folder. The running server does it."""
    application.watched_folders.apply(options.id)
    print_result(options.json, {"applying": options.id}, _("The running server applies the changes."))
    return OK


def pause_folder(application: Application, options: argparse.Namespace) -> int:
    """Pause a watched folder."""
    application.watched_folders.pause(options.id)
    print_result(options.json, {"paused": options.id}, _("Paused."))
    return OK


def resume_folder(application: Application, options: argparse.Namespace) -> int:
    """Resume a paused folder."""
    application.watched_folders.pause(options.id, False)
    print_result(options.json, {"resumed": options.id}, _("The running server checks it again."))
    return OK


def remove_folder(application: Application, options: argparse.Namespace) -> int:
    """Stop watching a folder. Its documents stay unless they are to be removed, which can be undone for a day."""
    application.watched_folders.remove(options.id, with_documents=options.with_documents)
    print_result(options.json, {"removed": options.id}, _("No longer watched."))
    return OK


def _describe(folder: WatchedFolder) -> str:
    facts = [format_count(folder.files, "file")]
    if folder.preview.pending:
        facts.append(_("{changes} to apply").format(changes=format_count(folder.preview.pending, "change")))
    return f"{folder.id}  {folder.path}  {_(folder.state)}: {', '.join(facts)}"
