"""JSON in model replies, surrounded by reasoning, prose or code blocks."""

from __future__ import annotations

import json
import re
from typing import Any


def without_thoughts(reply: str) -> str:
    """Remove the reasoning of a reasoning model from its reply."""
    return re.sub(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)", "", reply, flags=re.DOTALL).strip()


def first_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in a text, bare or inside prose or a code block, or None."""
    if text.startswith("["):
        return None
    decoder = json.JSONDecoder()
    for brace in re.finditer(r"\{", text[:20_000]):
        try:
            found, _ = decoder.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None
