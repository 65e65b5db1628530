"""Keys that identify users. Each browser has one."""

from __future__ import annotations

import re
import secrets

_KEY = re.compile(r"[\w-]{43}", re.ASCII)


def new_key() -> str:
    """Return a random key of 256 bits, which cannot be guessed."""
    return secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Return whether `text` has the form of a user key."""
    return _KEY.fullmatch(text) is not None
