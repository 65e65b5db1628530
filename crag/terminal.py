"""Terminal output and input: one JSON document or text lines, and the consent prompt."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from crag import reports


def prepare_output(as_json: bool) -> None:
    """Set encodings: UTF-8 for JSON (RFC 8259, section 8.1); characters the terminal lacks are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8" if as_json else None, errors="backslashreplace")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Briefly("%(message)s"))
    logging.basicConfig(level=logging.ERROR, handlers=[handler])


class _Briefly(logging.Formatter):
    """Logs the kind and location of an exception only: its message and traceback may contain paths or keys."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 — the name of the base class
        kind, _, trace = ei
        place = traceback.extract_tb(trace)[-1]
        return f"{kind.__name__} in {Path(place.filename).name}, line {place.lineno}"


def say(text: str) -> None:
    """Print text to standard output."""
    print(reports.printable(text))


def remark(text: str) -> None:
    """Print a note to standard error."""
    print(reports.printable(text), file=sys.stderr)


def print_json(document: reports.Json) -> None:
    """Print the JSON document of a command."""
    print(json.dumps(document, ensure_ascii=False))


def finish(as_json: bool, document: reports.Json, text: str) -> None:
    """Print the result of a command."""
    if as_json:
        print_json(document)
    elif text:
        say(text)


def report_failure(code: str, message: str, as_json: bool) -> None:
    """Report why a command failed."""
    if as_json:
        print_json({"error": {"code": code, "message": message}})
    else:
        remark(message)


def ask_consent(query: str) -> str | None:
    """Return the query if the user allows the web search, else None."""
    print(reports.printable(f"\nSearch the web for “{query}”? [y/N] "), end="", file=sys.stderr, flush=True)
    return query if sys.stdin.readline().strip().lower() in ("y", "yes") else None
