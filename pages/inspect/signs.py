"""Icons and words of runs in lists: a coloured icon without the tinted background of a badge."""

from __future__ import annotations

from crag.inspection import badges
from crag.inspection.archive import RunRow, Thumb
from crag.inspection.badges import Badge
from crag.types import RunState

STATES: dict[RunState, Badge] = {
    "running": Badge("blue", "pending", "running"),
    "waiting": Badge("orange", "pause_circle", "waiting for you"),
    "done": Badge("green", "check", "done"),
    "stopped": Badge("gray", "stop_circle", "stopped"),
    "failed": Badge("red", "error", "failed"),
    "interrupted": Badge("gray", "stop_circle", "interrupted"),
}
THUMBS: dict[Thumb, str] = {
    "up": ":material/thumb_up: up",
    "down": ":material/thumb_down: down",
    "none": "none",
}


def of(badge: Badge) -> str:
    """Return icon and word."""
    return f"{icon(badge)} {badge.word}"


def icon(badge: Badge) -> str:
    """Return the icon alone, for places where the word is close by."""
    return f":{badge.colour}[:material/{badge.icon}:]"


def of_run(row: RunRow) -> Badge:
    """Return the badge for how a run ended: its action when it completed, else its state."""
    return badges.ACTIONS[row.action] if row.state == "done" else STATES[row.state]


def words_of_run(row: RunRow) -> list[str]:
    """Return how a run ended and where its answer came from, in words."""
    told = [of_run(row).word] if row.state != "done" or row.action else []
    return [*told, badges.OUTCOMES[row.outcome].word] if row.outcome else told
