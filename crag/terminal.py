"""What the command line writes and asks: one JSON document or lines for people, on whatever terminal there is."""

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
    """JSON is UTF-8 (RFC 8259, section 8.1) whatever the terminal's encoding; what that cannot show is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8" if as_json else None, errors="backslashreplace")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Briefly("%(message)s"))
    logging.basicConfig(level=logging.ERROR, handlers=[handler])


class _Briefly(logging.Formatter):
    """Names the kind and the place of a fault; its words and its traceback may hold paths or keys."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 — the name of the base class
        kind, _, trace = ei
        place = traceback.extract_tb(trace)[-1]
        return f"{kind.__name__} in {Path(place.filename).name}, line {place.lineno}"


def say(text: str) -> None:
    """Writes lines for people."""
    print(reports.printable(text))


def remark(text: str) -> None:
    """Says something beside the result."""
    print(reports.printable(text), file=sys.stderr)


def print_json(document: reports.Json) -> None:
    """Writes the one document."""
    print(json.dumps(document, ensure_ascii=False))


def finish(as_json: bool, document: reports.Json, text: str) -> None:
    """Writes the result of a command."""
    if as_json:
        print_json(document)
    elif text:
        say(text)


def report_failure(code: str, message: str, as_json: bool) -> None:
    """Says why a command did not do its work."""
    if as_json:
        print_json({"error": {"code": code, "message": message}})
    else:
        remark(message)


def ask_consent(query: str) -> str | None:
    """The query if the person lets it go to the web, else None."""
    print(reports.printable(f"\nSearch the web for “{query}”? [y/N] "), end="", file=sys.stderr, flush=True)
    return query if sys.stdin.readline().strip().lower() in ("y", "yes") else None
