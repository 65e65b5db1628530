"""Badges, icons and words of the screen; colour is never the only signal."""

from __future__ import annotations

from crag.ingest.parse.formats import FORMATS
from crag.inspection import run_labels
from crag.inspection.run_archive import Thumb
from crag.inspection.run_labels import Badge, describe_change, describe_grader, describe_trace_grader
from crag.runs.trace import Trace
from crag.text.formatting import format_date
from crag.text.sanitization import WORD_JOINER
from crag.translation import N_, _
from crag.types import Action, Import, Outcome, Verdict, Version
from pages.parts import markdown

# The label by kind of a document; an HTML file from the web is a `web` document.
DOCUMENT_KINDS = {known.kind: known.label for known in FORMATS} | {"web": N_("Web page")}


ALL_COLLECTIONS = N_("All collections")


def collection_label(name: str, length: int = 60) -> str:
    """Return the name of a collection, or "All collections" for an empty one; safe Markdown."""
    return markdown.escape_line(name, length) or _(ALL_COLLECTIONS)


def badge_markdown(sign: run_labels.Badge) -> str:
    """Return a badge as Markdown, with its remark in grey after it."""
    number = f" {sign.number}" if sign.number else ""
    remark = grey_text(f" {sign.remark}") if sign.remark else ""
    return _(":{colour}-badge[:material/{icon}: {word}{number}]{remark}").format(
        colour=sign.colour, icon=sign.icon, word=sign.word, number=number, remark=remark
    )


def verdict_badge(verdict: Verdict | None) -> str:
    """Return the badge of a verdict with its score."""
    return badge_markdown(run_labels.verdict_badge(verdict))


def action_badge(action: Action | None) -> str:
    """Return the badge of an action, for the trace."""
    return badge_markdown(run_labels.ACTION_BADGES[action])


def decision_badge(trace: Trace) -> str:
    """Return the badge of a run's decision, which is that of its answer once there is one."""
    return badge_markdown(run_labels.decision_badge(trace.action, trace.outcome))


def outcome_badge(action: Action | None, outcome: Outcome) -> str:
    """Return the badge for the origin of an answer."""
    return badge_markdown(run_labels.outcome_badge(action, outcome))


def version_change(change: str) -> str:
    """Return how a version differs, with policies and graders as named on screen; safe Markdown."""
    return markdown.escape_line(describe_change(change), 80)


def version_name(version: Version) -> str:
    """Return a version as a menu entry: its number and how it differs."""
    return _("Version {number} {version_change}").format(
        number=version.number, version_change=grey_text(version_change(version.change))
    )


def version_caption(version: Version, total: int) -> str:
    """Return "Version 2 of 3" and how the version differs."""
    return markdown.escape_line(run_labels.version_label(version.number, total, version.change), 100)


def import_origin(imported: Import) -> str:
    """Return when something was imported, and from which file; safe Markdown."""
    day = format_date(imported.at)
    if not imported.file:
        return _("Imported on {day}").format(day=day)
    return _("Imported on {day} from {file}").format(day=day, file=markdown.escape_line(imported.file, 60))


def grader_label(name: str) -> str:
    """Return a grader's screen name with its model; safe Markdown."""
    return markdown.escape_line(describe_grader(name), 120)


def trace_grader_label(trace: Trace) -> str:
    """Return the screen name of what graded the passages of a run; safe Markdown."""
    return markdown.escape_line(describe_trace_grader(trace), 120)


def grey_text(text: str) -> str:
    """Return secondary text in small grey type; `text` must be safe Markdown."""
    return f":small[:gray[{text}]]" if text else ""


def small_text(text: str) -> str:
    """Return secondary text in small type, for captions and folded rows that are pale already.

    Grey on pale text would be unreadable.
    """
    return f":small[{text}]" if text else ""


def non_breaking(text: str) -> str:
    """Return text that never wraps at a space or dash, for table cells."""
    return text.replace(" ", "\u00a0").replace("–", f"{WORD_JOINER}–{WORD_JOINER}")


FEEDBACK_LABELS: dict[Thumb, str] = {
    "up": ":material/thumb_up: up",
    "down": ":material/thumb_down: down",
    "none": "none",
}


def badge_label(badge: Badge) -> str:
    """Return icon and word."""
    return f"{badge_icon(badge)} {badge.word}"


def badge_icon(badge: Badge) -> str:
    """Return the icon alone, for places where the word is close by."""
    return f":{badge.colour}[:material/{badge.icon}:]"
