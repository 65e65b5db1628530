"""Commands for a home: settings, presets, doctor, gaps, outbound log."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from crag.app import reports
from crag.app.application import Application
from crag.cli.arguments import FAILED, OK, AddCommand, parse_positive, parse_text
from crag.cli.terminal import pad_cell, print_result
from crag.errors import NotFound
from crag.inspection.coverage_gaps import CoverageGap
from crag.options import OPTIONS, SAVED_OPTIONS, Option, OptionChanges, RunOptions, dump_changes, get_option
from crag.reference_systems import REFERENCE_SYSTEMS
from crag.text.formatting import format_count, format_timestamp, to_local_time
from crag.translation import N_, _
from crag.types import OutboundRecord


def register(command: AddCommand) -> None:
    """Add the parsers of these commands."""
    command("settings", list_settings)
    setting = command("settings set", set_setting)
    setting.add_argument("name", type=parse_text, help="name of a setting, such as k or answering.window")
    setting.add_argument("value", type=parse_text, help="number, on, off, or a word")
    command("settings reset", reset_setting).add_argument("name", type=parse_text, help="name of a setting")
    command("presets", list_presets)
    command("presets save", save_preset).add_argument("name", type=parse_text, help="name of the preset")
    command("presets delete", delete_preset).add_argument("name", type=parse_text, help="name of the preset")
    command("gaps", list_gaps)
    parser = command("ledger", list_outbound_records)
    parser.add_argument(
        "--last",
        type=parse_positive,
        default=20,
        metavar="N",
        help="number of entries (default: %(default)s)",
    )
    doctor = command("doctor", run_doctor)
    doctor.add_argument("--search", action="store_true", help="also send one search to the web, as a test")


def list_settings(application: Application, options: argparse.Namespace) -> int:
    """List every setting with its value and where the value comes from. Actions change them."""
    rows = [_setting_json(application, name) for name in SAVED_OPTIONS]
    lines = [f"{row['name']:28} {pad_cell(_write_value(row), 24)} {_(row['origin'])}" for row in rows]
    print_result(options.json, {"settings": rows}, "\n".join(lines))
    return OK


def set_setting(application: Application, options: argparse.Namespace) -> int:
    """Save a value for this home. Conversations with a value of their own keep it."""
    application.preferences.save(options.name, _find_setting(options.name).parse(options.value))
    return _print_setting(application, options)


def reset_setting(application: Application, options: argparse.Namespace) -> int:
    """Reset a setting to its default."""
    application.preferences.reset(_find_setting(options.name).name)
    return _print_setting(application, options)


def list_presets(application: Application, options: argparse.Namespace) -> int:
    """List the presets, built in and saved, with how each differs from the defaults."""
    presets = application.preferences.presets()
    told = {name: json.loads(dump_changes(changes)) for name, changes in presets.items()}
    print_result(
        options.json, {"presets": told}, "\n".join(_preset_line(name, changes) for name, changes in presets.items())
    )
    return OK


def save_preset(application: Application, options: argparse.Namespace) -> int:
    """Save the current settings of this home as a preset."""
    application.preferences.save_preset(options.name, application.preferences.options())
    return list_presets(application, options)


def delete_preset(application: Application, options: argparse.Namespace) -> int:
    """Delete a saved preset."""
    application.preferences.delete_preset(options.name)
    return list_presets(application, options)


def _print_setting(application: Application, options: argparse.Namespace) -> int:
    row = _setting_json(application, options.name)
    print_result(options.json, row, f"{row['name']}: {_write_value(row)} ({_(row['origin'])})")
    return OK


def _find_setting(name: str) -> Option:
    if name not in SAVED_OPTIONS:
        raise NotFound(f"There is no setting called “{name}”.", "`settings` lists them.")
    return SAVED_OPTIONS[name]


def _setting_json(application: Application, name: str) -> dict[str, Any]:
    effective = application.preferences.effective(name)
    return {"name": name, "title": OPTIONS[name].title, "value": effective.value, "origin": effective.origin}


def _write_value(row: dict[str, Any]) -> str:
    option = OPTIONS[row["name"]]
    return _(option.empty_means) if row["value"] == "" else option.write(row["value"])


def _preset_line(name: str, changes: OptionChanges) -> str:
    if name in REFERENCE_SYSTEMS:
        return f"{name}: {_(REFERENCE_SYSTEMS[name].origin)}"
    usual = RunOptions()
    changed = {key: value for key, value in changes.items() if value != get_option(usual, key)}
    differs = [f"{key} {OPTIONS[key].write(value)}" for key, value in changed.items()]
    return f"{name}: {', '.join(differs) or _('as by default')}"


def run_doctor(application: Application, options: argparse.Namespace) -> int:
    """Check the setup, and say how to fix what is missing."""
    checks = application.diagnose()
    if options.search and (tested := application.test_search()):
        checks.append(tested)
    print_result(
        options.json,
        {"checks": [asdict(check) for check in checks]},
        "\n".join(reports.check_text(check) for check in checks),
    )
    return FAILED if any(check.status == "fail" for check in checks) else OK


_NO_GAPS_TEXT = N_("No coverage gaps: your documents answered every question.")


def list_gaps(application: Application, options: argparse.Namespace) -> int:
    """List the topics on which no answer was found in the documents, those with most questions first."""
    application.archive.summaries.complete()
    found = application.gaps.list()
    listing = "\n\n".join(map(_gap_text, found)) or _(_NO_GAPS_TEXT)
    print_result(options.json, {"gaps": [_gap_json(gap) for gap in found]}, listing)
    return OK


def _gap_json(gap: CoverageGap) -> dict[str, object]:
    return {"topic": gap.topic, "count": len(gap.questions), "last_asked": gap.last_asked} | {
        "questions": [asdict(question) for question in gap.questions]
    }


def _gap_text(gap: CoverageGap) -> str:
    questions, day = format_count(len(gap.questions), "question"), f"{to_local_time(gap.last_asked):%Y-%m-%d}"
    lines = [f"{gap.topic}  ({_('{questions}, the last on {day}').format(questions=questions, day=day)})"]
    for question in gap.questions:
        lines.append(f"  {' '.join(question.question.split())}")
        lines += ["    " + _("answered by {location}").format(location=page.location) for page in question.pages]
    return reports.printable("\n".join(lines))


def list_outbound_records(application: Application, options: argparse.Namespace) -> int:
    """List everything sent from this machine, newest first: when, where to, and the full text."""
    entries = application.outbound_log.entries(options.last)
    count = application.outbound_log.count_since()
    listing = "\n".join(_outbound_line(entry) for entry in entries) or _("Nothing has left this machine.")
    if count > len(entries):
        listing += "\n" + _("{older:,} older ones: --last {count}").format(older=count - len(entries), count=count)
    print_result(options.json, {"count": count, "departures": [asdict(entry) for entry in entries]}, listing)
    return OK


def _outbound_line(entry: OutboundRecord) -> str:
    what = " ".join(entry.what.split())
    target = _("{kind} to {host}").format(kind=_(entry.kind), host=entry.host)
    return reports.printable(f"{format_timestamp(entry.at)}  {target}: {what}")
