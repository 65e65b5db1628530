"""The signs of runs in lists: a coloured icon with its word, without the tint that badges have."""

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
    """Icon and word."""
    return f"{icon(badge)} {badge.word}"


def icon(badge: Badge) -> str:
    """The icon alone, where its word stands near."""
    return f":{badge.colour}[:material/{badge.icon}:]"


def of_run(row: RunRow) -> Badge:
    """What became of a run, in one sign: how it ended where it was not done, else its action."""
    return badges.ACTIONS[row.action] if row.state == "done" else STATES[row.state]


def words_of_run(row: RunRow) -> list[str]:
    """The same in words, and where its answer came from."""
    told = [of_run(row).word] if row.state != "done" or row.action else []
    return [*told, badges.OUTCOMES[row.outcome].word] if row.outcome else told
