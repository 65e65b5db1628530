"""Cleaning of external text on entry: removes what no database, screen or terminal should receive."""

from __future__ import annotations

import re
import unicodedata

# C0 and C1 controls except tab and line feed, surrogates, non-characters, tag characters.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff\U000e0000-\U000e007f]")
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069]")
_MAX_NAME = 200


def clean_text(text: str) -> str:
    """Return `text` in NFC with plain line feeds, without control characters, surrogates, NUL and non-characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\x85", "\n")
    return unicodedata.normalize("NFC", _UNWANTED.sub("", text))


def display_name(name: str) -> str:
    """Return a display form of a user-supplied name: its last path component, at most 200 characters.

    Never use it as a path.
    """
    last = re.split(r"[/\\]", name.replace("\0", ""))[-1]
    shown = " ".join(_INVISIBLE.sub("", clean_text(last)).split())
    return shown[:_MAX_NAME].strip() or "untitled"
