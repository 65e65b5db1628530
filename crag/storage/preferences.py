"""Saved options and presets, and the effective value of an option: conversation, environment, saved, default."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, delete, select

from crag.errors import BadRequest, NotFound
from crag.options import (
    OPTIONS,
    SAVED_OPTIONS,
    OptionChanges,
    RunOptions,
    apply_changes,
    dump_changes,
    get_option,
    load_changes,
)
from crag.reference_systems import REFERENCE_SYSTEMS
from crag.settings import Settings, is_web_address
from crag.storage.engine import Database, replace_row
from crag.storage.sqlite_file import DATABASE_NAME
from crag.storage.tables import preferences, presets
from crag.storage.user_scope import UserScoped, check_admin

ValueOrigin = Literal["default", "saved", "environment", "conversation"]

_ALL = select(preferences.c.name, preferences.c.value)  # built once, since every redraw runs it
_ONE = select(preferences.c.value).where(preferences.c.name == bindparam("named"))
_ALLOWED_MODELS = "allowed_models"
_TRACES_ALLOWED = "traces_allowed"
_WEB_SEARCH, _MCP_SEARCH = "web_search", "mcp_search"
_LANGUAGE = "language"  # followed by the user, if there are several
_AUTO_REGRESSION = "pinned_questions_run_by_themselves"  # keys of users
_MAX_PRESET_NAME_LENGTH = 60
# Saved presets set the models, too; thresholds depend on the collection.
_PRESET_OPTIONS = tuple(
    name
    for name, option in OPTIONS.items()
    if (option.in_systems or name in SAVED_OPTIONS) and option.kind != "thresholds"
)


@dataclass(frozen=True, slots=True)
class EffectiveValue:
    """The effective value of an option, and its origin."""

    value: Any
    origin: ValueOrigin


def read_saved_language(settings: Settings) -> str:
    """Return the language chosen in this home; empty if users chose different ones or none, and on PostgreSQL.

    Only reads the database file: neither opens nor creates a home.
    """
    file = settings.home / DATABASE_NAME
    if settings.database_url or not file.is_file():
        return ""
    asked = "SELECT DISTINCT value FROM preferences WHERE (name = ? OR name LIKE ? || ':%') AND value <> '\"\"'"
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute(asked, (_LANGUAGE, _LANGUAGE)).fetchall()
    except sqlite3.Error:  # opening the home will say what is wrong
        return ""
    return str(_parse_value(found[0][0])) if len(found) == 1 else ""


class Preferences(UserScoped):
    """The preferences of one home. Safe to share between threads; changes by other processes are visible at once.

    Where there are accounts, only administrators change them: every method that does raises `BadRequest` for others.
    """

    def __init__(self, database: Database, settings: Settings) -> None:
        """Read the environment. `on_change` is called after every value saved or reset in this process."""
        self.on_change: Callable[[], None] = lambda: None
        self._database = database
        self._settings = settings
        self._allowed_here: frozenset[str] = frozenset()
        set_there = {name: option.settings_field for name, option in OPTIONS.items() if option.variable}
        named = {name: getattr(settings, field) for name, field in set_there.items()}
        self._environment = {name: value for name, value in named.items() if value not in ("", "auto")}

    def options(self, changes: OptionChanges | None = None) -> RunOptions:
        """Return the effective options in a conversation with these changes.

        Changes that are no longer valid are ignored.
        """
        rows = self._read()
        layers = {**_saved_options(rows), **self._environment, **_valid_changes(changes or {})}
        return apply_changes(self._defaults(rows), layers)

    def effective(self, name: str, changes: OptionChanges | None = None) -> EffectiveValue:
        """Return the effective value of one option in a conversation with these changes."""
        rows = self._read()
        layers: tuple[tuple[ValueOrigin, OptionChanges], ...] = (
            ("conversation", _valid_changes(changes or {})),
            ("environment", self._environment),
            ("saved", _saved_options(rows)),
        )
        found = (EffectiveValue(layer[name], origin) for origin, layer in layers if name in layer)
        return next(found, EffectiveValue(get_option(self._defaults(rows), name), "default"))

    def default(self, name: str) -> Any:
        """Return the default of an option."""
        return get_option(self._defaults(self._read()), name)

    def saved(self) -> dict[str, Any]:
        """Return the saved values by name, without those that are no longer valid."""
        return _saved_options(self._read())

    def _read(self) -> dict[str, str]:
        with self._database.read() as connection:
            return {row.name: row.value for row in connection.execute(_ALL)}

    def _defaults(self, rows: Mapping[str, str]) -> RunOptions:
        return RunOptions(web="ask" if self._search_settings(rows).web_search_provider else "off")

    def save(self, name: str, value: Any) -> None:
        """Save a value for every conversation that does not set its own. Raises `BadRequest`, `NotFound`."""
        check_admin(self._database, self._user)
        setting = SAVED_OPTIONS.get(name)
        if setting is None:
            raise NotFound(f"There is no setting called “{name}”.", "Choose one of those on the settings page.")
        setting.check(value)
        if value == self.default(name):
            self.reset(name)
        else:
            self._keep(name, value)
            self.on_change()

    def reset(self, name: str) -> None:
        """Delete the saved value, if any, so that the default applies."""
        check_admin(self._database, self._user)
        with self._database.write() as connection:
            connection.execute(delete(preferences).where(preferences.c.name == name))
        self.on_change()

    def presets(self) -> dict[str, OptionChanges]:
        """Return the changes of each preset by name: reference systems first, then the saved ones."""
        known = {name: system.option_changes() for name, system in REFERENCE_SYSTEMS.items()}
        with self._database.read() as connection:
            rows = connection.execute(select(presets.c.name, presets.c.changes).order_by(presets.c.made_at)).all()
        return {**known, **{name: _valid_changes(load_changes(text)) for name, text in rows if name not in known}}

    def save_preset(self, name: str, options: RunOptions) -> None:
        """Save the options as a preset, and replace an earlier one of that name. Raises `BadRequest`."""
        check_admin(self._database, self._user)
        row = {
            "name": normalize_preset_name(name),
            "changes": dump_changes(preset_changes(options)),
            "made_at": time.time(),
        }
        with self._database.write() as connection:
            connection.execute(replace_row(connection, presets, row))

    def delete_preset(self, name: str) -> None:
        """Delete a saved preset. Raises `NotFound`."""
        check_admin(self._database, self._user)
        with self._database.write() as connection:
            gone = connection.execute(delete(presets).where(presets.c.name == name)).rowcount
        if not gone:
            raise NotFound(f"There is no saved preset called “{name}”.", "Choose one from the list.")

    def search_settings(self) -> Settings:
        """Return the settings with the web search that was chosen on a page, where the environment leaves it open.

        A choice that is no longer set up does not count. The token of the environment is for its own server alone.
        """
        return self._search_settings(self._read())

    def _search_settings(self, rows: Mapping[str, str]) -> Settings:
        settings, address = self._settings, _parse_value(rows.get(_MCP_SEARCH, ""))
        if address and not settings.mcp_search and not settings.open:
            settings = replace(settings, mcp_search=str(address), mcp_token="")
        chosen = _parse_value(rows.get(_WEB_SEARCH, ""))
        if settings.web_search == "auto" and chosen in settings.web_search_providers:
            settings = replace(settings, web_search=str(chosen))
        return settings

    def choose_web_search(self, provider: str) -> None:
        """Save which provider of web search is used; `auto` takes the first. Raises `BadRequest`."""
        check_admin(self._database, self._user)
        if provider not in ("auto", *self.search_settings().web_search_providers):
            raise BadRequest(f"The web search {provider} is not set up.", "Set it up in `.env` first.")
        self._keep(_WEB_SEARCH, provider)
        self.on_change()

    def save_mcp_search(self, address: str) -> None:
        """Save the tool of an MCP server that is searched like the web; empty for none. Raises `BadRequest`.

        Where everyone may change settings, strangers could reach other machines of this network through it.
        """
        check_admin(self._database, self._user)
        if self._settings.open:
            raise BadRequest(
                "This server is open to everyone, so no address is saved.", "Set CRAG_MCP_SEARCH in `.env`."
            )
        written = address.strip()
        if written and (not is_web_address(written) or " " in written):
            raise BadRequest(
                "This is not the address of an MCP server. Commands are not saved here, because they run code.",
                "Write one such as https://host/mcp#tool, or set CRAG_MCP_SEARCH in `.env`.",
            )
        self._keep(_MCP_SEARCH, written)
        self.on_change()

    def may_send_to(self, model: str) -> bool:
        """Return whether questions and passages may be sent to this remote model.

        They may if the user allowed it or named the model in the environment.
        """
        named = model in (self._settings.chat_model, self._settings.grader_model)
        return named or model in self._allowed_here or model in self.allowed_models()

    def allowed_models(self) -> list[str]:
        """Return the remote models that the user allowed, oldest first."""
        with self._database.read() as connection:
            return _read_names(connection, _ALLOWED_MODELS)

    def allow_model(self, model: str) -> None:
        """Allow questions and passages to be sent to this model."""
        check_admin(self._database, self._user)
        self._change_names(_ALLOWED_MODELS, lambda names: list(dict.fromkeys([*names, model])))

    def allow_model_for_process(self, model: str) -> None:
        """Allow this model for the lifetime of the process: it was named on the command line."""
        self._allowed_here |= {model}

    def forbid_model(self, model: str) -> None:
        """Withdraw the permission. What was sent stays sent."""
        check_admin(self._database, self._user)
        self._allowed_here -= {model}
        self._change_names(_ALLOWED_MODELS, lambda names: [name for name in names if name != model])

    def may_trace(self) -> bool:
        """Return whether traces may be sent to LangSmith: the user allowed it, on a page or by `CRAG_LANGSMITH`."""
        with self._database.read() as connection:
            kept = connection.execute(select(preferences.c.value).where(preferences.c.name == _TRACES_ALLOWED)).scalar()
        return self._settings.langsmith.always or _parse_value(kept or "") is True

    def allow_traces(self, allowed: bool) -> None:
        """Allow or forbid traces to LangSmith. What was sent stays sent."""
        check_admin(self._database, self._user)
        self._keep(_TRACES_ALLOWED, allowed)

    def language(self) -> str:
        """Return the language this user chose for the screen; empty for the one of the browser."""
        with self._database.read() as connection:
            kept = connection.execute(_ONE, {"named": self._language_key}).scalar()
        return str(_parse_value(kept or "") or "")

    def save_language(self, language: str) -> None:
        """Save this user's language of the screen; empty for the one of the browser."""
        self._keep(self._language_key, language)

    @property
    def _language_key(self) -> str:
        return f"{_LANGUAGE}:{self._user}" if self._user else _LANGUAGE

    def auto_regression_users(self) -> list[str]:
        """Return the users whose pinned questions are asked automatically after a change.

        An empty key stands for questions pinned without one.
        """
        with self._database.read() as connection:
            return _read_names(connection, _AUTO_REGRESSION)

    def set_auto_regression(self, user: str, on: bool) -> None:
        """Turn automatic runs of this user's pinned questions after a change on or off."""
        self._change_names(
            _AUTO_REGRESSION, lambda names: [*(name for name in names if name != user), *([user] if on else [])]
        )

    def _change_names(self, kept: str, change: Callable[[list[str]], list[str]]) -> None:
        """Update a list of names in one transaction, so that concurrent changes by two processes are not lost."""
        with self._database.write() as connection:
            _write_value(connection, kept, change(_read_names(connection, kept)))

    def _keep(self, name: str, value: Any) -> None:
        with self._database.write() as connection:
            _write_value(connection, name, value)


def _write_value(connection: Connection, name: str, value: Any) -> None:
    connection.execute(replace_row(connection, preferences, {"name": name, "value": json.dumps(value)}))


def _read_names(connection: Connection, kept: str) -> list[str]:
    """Return a list of names that is stored as JSON."""
    value = _parse_value(connection.execute(_ONE, {"named": kept}).scalar() or "")
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _saved_options(rows: Mapping[str, str]) -> dict[str, Any]:
    values = {name: _parse_value(text) for name, text in rows.items() if name in SAVED_OPTIONS}
    return {name: value for name, value in values.items() if OPTIONS[name].is_valid(value)}


def normalize_preset_name(written: str) -> str:
    """Normalize the name of a preset. Raises `BadRequest` if it is empty or the name or title of a built-in preset."""
    name = " ".join(written.split())[:_MAX_PRESET_NAME_LENGTH]
    if not name:
        raise BadRequest("A preset needs a name.", "Write one and try again.")
    if name in REFERENCE_SYSTEMS or name in {system.title for system in REFERENCE_SYSTEMS.values()}:
        raise BadRequest(f"“{name}” is the name of a built-in preset.", "Choose another name.")
    return name


def preset_changes(options: RunOptions) -> Mapping[str, Any]:
    """Return all options that a preset fixes, so that it does not depend on what the home saves later."""
    return {name: get_option(options, name) for name in _PRESET_OPTIONS}


def _valid_changes(changes: OptionChanges) -> dict[str, Any]:
    """Return the changes that a conversation can make and whose values are valid."""
    known = {name: value for name, value in changes.items() if OPTIONS[name].scope != "evaluation"}
    return {name: value for name, value in known.items() if OPTIONS[name].is_valid(value)}


def _parse_value(text: str) -> Any:
    """Parse a stored value. Returns None, which no option has, if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
