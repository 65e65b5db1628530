"""Resource limits for parsing one file, and the refusals when they are exceeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crag.errors import SourceRefused


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for parsing one file.

    Sizes are in bytes, `characters` counts text, `pages` counts pages or slides. `seconds` bounds both wall-clock and
    processor time. With OCR a file may take longer: `ocr_page_seconds` for each OCR page, `ocr_seconds` in total.
    """

    size: int = 100 * 1024 * 1024
    inflated: int = 300 * 1024 * 1024
    memory: int = 1536 * 1024 * 1024
    pages: int = 5_000
    characters: int = 20_000_000
    seconds: float = 60.0
    ocr_page_seconds: float = 60.0
    ocr_seconds: float = 3600.0

    def with_ocr(self, pages: int) -> float:
        """Return the time limit in seconds for a file with this many OCR pages."""
        return min(self.seconds + pages * self.ocr_page_seconds, self.ocr_seconds)


def too_large(what: str) -> SourceRefused:
    """Build the refusal of a file over a limit; `what` completes the sentence “The file …”."""
    return SourceRefused("too_large", f"The file {what}.", "Split it and add the parts.")


def out_of_memory() -> SourceRefused:
    """Build the refusal of a file that cannot be parsed within the memory limit."""
    return too_large("needs more memory than it may use")


def refusal(refused: SourceRefused) -> dict[str, Any]:
    """Return the message that a child sends to its parent for a refused file."""
    return {"refused": [refused.code, refused.message, refused.remedy]}
