"""What a line of the set-up checklist is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class CheckAction:
    """What a button does about a check, and `commands`, one a line, that do the same by hand.

    `target` is what to *download* (`ollama:NAME` or `nomic`), the embedder to *move* the library to, or the page to
    *open*. A *command* is only to be copied; so is a *key*, where `commands` is a line for the file `.env`.
    """

    kind: Literal["download", "move", "command", "key", "open"]
    label: str
    target: str = ""
    commands: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the set-up checklist: how it stands, and the one thing that mends it, in words and as an action."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
    action: CheckAction | None = None
