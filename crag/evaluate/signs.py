"""Badges of evaluations and their answers: an icon with a word; the colour only repeats it."""

from __future__ import annotations

from crag.evaluate.figures.verdicts import AnswerVerdict
from crag.evaluate.values import EvaluationState
from crag.inspection.badges import Badge

STATES: dict[EvaluationState, Badge] = {
    "queued": Badge("gray", "schedule", "waits its turn"),
    "running": Badge("blue", "pending", "running"),
    "stopped": Badge("gray", "stop_circle", "stopped"),
    "failed": Badge("red", "error", "failed"),
    "interrupted": Badge("gray", "stop_circle", "interrupted"),
    "done": Badge("green", "check", "done"),
}
VERDICTS: dict[AnswerVerdict, Badge] = {
    "right": Badge("green", "check_circle", "right"),
    "wrong": Badge("red", "cancel", "wrong"),
    "refused": Badge("orange", "block", "refused"),
    "failed": Badge("red", "error", "failed"),
    "unknown": Badge("gray", "help", "not known"),
}
