"""Format of log messages: nothing in them controls a terminal, and no exception shows paths or keys."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Any

from crag.text.sanitization import TERMINAL_CONTROLS


class PlainLogFormatter(logging.Formatter):
    """Logs an exception by its kind and location only: its message and traceback may contain paths or keys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record without the characters that control a terminal."""
        return TERMINAL_CONTROLS.sub("", super().format(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 — the name of the base class
        """Return the kind of an exception and the line that raised it, where known."""
        kind, _, trace = ei
        places = traceback.extract_tb(trace)[-1:]
        raised_in = "".join(f" in {Path(place.filename).name}, line {place.lineno}" for place in places)
        return f"{kind.__name__}{raised_in}" if kind else ""
