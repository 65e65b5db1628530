"""How much one file may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crag.errors import SourceRefused


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, but `characters` of text and `pages`; `seconds` of wall clock and of processor time alike.

    Where OCR is needed a file may take longer: `ocr_page_seconds` for each such page, `ocr_seconds` in all.
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
        """Seconds for a file of which so many pages are read by OCR."""
        return min(self.seconds + pages * self.ocr_page_seconds, self.ocr_seconds)


def too_large(what: str) -> SourceRefused:
    """The refusal of a file over a limit; `what` completes the sentence “The file …”."""
    return SourceRefused("too_large", f"The file {what}.", "Split it and add the parts.")


def out_of_memory() -> SourceRefused:
    """The refusal of a file that cannot be read within `Limits.memory`."""
    return too_large("needs more memory than it may use")


def refusal(refused: SourceRefused) -> dict[str, Any]:
    """What the child says of it to the parent."""
    return {"refused": [refused.code, refused.message, refused.remedy]}
