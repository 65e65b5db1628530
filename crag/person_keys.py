"""The keys by which people are known: each browser has one."""

from __future__ import annotations

import re
import secrets

_KEY = re.compile(r"[\w-]{43}", re.ASCII)


def new_key() -> str:
    """A key of 256 random bits: nobody can guess it."""
    return secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Whether this could be a key."""
    return _KEY.fullmatch(text) is not None
