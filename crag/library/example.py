"""The bundled example document: the rules of an invented company, which can be asked about without a network."""

from __future__ import annotations

from pathlib import Path

EXAMPLE_NAME = "Example handbook.md"


def read_example() -> bytes:
    """Return the text of the example document, as Markdown in UTF-8."""
    return Path(__file__).with_name("example_document.md").read_bytes()
