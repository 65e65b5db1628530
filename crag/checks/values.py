"""Data types of the set-up checklist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class CheckAction:
    """What a check's button does, and `commands`, one per line, that do the same by hand.

    `target` is what to *download* (`ollama:NAME` or `nomic`), the embedder to *move* the library to, or the page to
    *open*. A *command* is only to be copied; so is a *key*, where `commands` is a line for the file `.env`.
    """

    kind: Literal["download", "move", "command", "key", "open"]
    label: str
    target: str = ""
    commands: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the set-up checklist: its status and one remedy, in words and as an action."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
    action: CheckAction | None = None
