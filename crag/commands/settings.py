"""Commands for the settings of a home and for presets."""

from __future__ import annotations

import argparse
from typing import Any

from crag.assembly import Application
from crag.commands.arguments import OK, AddCommand, text
from crag.errors import NotFound
from crag.options import Changes, RunOptions, value_of
from crag.preferences import CATALOG, Setting
from crag.terminal import finish


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("settings", list_settings)
    setting = command("settings set", set_value)
    setting.add_argument("name", type=text, help="a name of the list, such as k or answering.window")
    setting.add_argument("value", type=text, help="a number, on, off, or a word")
    command("settings reset", reset).add_argument("name", type=text)
    command("presets", list_presets)
    command("presets save", save_preset).add_argument("name", type=text, help="keeps what holds for the home under it")
    command("presets delete", delete_preset).add_argument("name", type=text)


def list_settings(application: Application, options: argparse.Namespace) -> int:
    """Lists every setting with the value that holds and where it comes from; changes them."""
    rows = [_row(application, name) for name in CATALOG]
    lines = [f"{row['name']:28} {_word(row['value']):24} {row['origin']}" for row in rows]
    finish(options.json, {"settings": rows}, "\n".join(lines))
    return OK


def set_value(application: Application, options: argparse.Namespace) -> int:
    """Saves a value for this home; conversations that say otherwise keep theirs."""
    application.preferences.save(options.name, _setting(options.name).read(options.value))
    return _say(application, options)


def reset(application: Application, options: argparse.Namespace) -> int:
    """Goes back to the default of a setting."""
    application.preferences.reset(_setting(options.name).name)
    return _say(application, options)


def list_presets(application: Application, options: argparse.Namespace) -> int:
    """Lists the presets, known and saved, with what each changes of the defaults."""
    presets = {name: dict(changes) for name, changes in application.preferences.presets().items()}
    finish(options.json, {"presets": presets}, "\n".join(_preset(name, changes) for name, changes in presets.items()))
    return OK


def save_preset(application: Application, options: argparse.Namespace) -> int:
    """Keeps what holds for the home now as a preset."""
    application.preferences.save_preset(options.name, application.preferences.options())
    return list_presets(application, options)


def delete_preset(application: Application, options: argparse.Namespace) -> int:
    """Forgets a preset that was saved."""
    application.preferences.delete_preset(options.name)
    return list_presets(application, options)


def _say(application: Application, options: argparse.Namespace) -> int:
    row = _row(application, options.name)
    finish(options.json, row, f"{row['name']}: {_word(row['value'])} ({row['origin']})")
    return OK


def _setting(name: str) -> Setting:
    if name not in CATALOG:
        raise NotFound(f"There is no setting called “{name}”.", "`settings` lists them.")
    return CATALOG[name]


def _row(application: Application, name: str) -> dict[str, Any]:
    effective = application.preferences.effective(name)
    return {"name": name, "title": CATALOG[name].title, "value": effective.value, "origin": effective.origin}


def _preset(name: str, changes: Changes) -> str:
    usual = RunOptions()
    differs = [f"{key} {_word(value)}" for key, value in changes.items() if value != value_of(usual, key)]
    return f"{name}: {', '.join(differs) or 'as by default'}"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if value != "" else "as answering"
