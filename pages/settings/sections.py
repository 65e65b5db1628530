"""Sections of the settings with their rows, listed in the sidebar and searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from crag.preferences import CATALOG
from pages.parts import setup
from pages.settings import (
    backup,
    embeddings,
    keyboard,
    library,
    models,
    ollama,
    presets,
    privacy,
    providers,
    setting,
    tuning,
)
from pages.settings.rows import Row

_SETUP_WORDS = "set-up checklist Ollama Llama 3 Nomic Tavily web search OCR Tesseract disk space memory installed"


@dataclass(frozen=True, slots=True)
class Section:
    """Section with its rows; `choose`, if given, draws a selector and returns the rows to show."""

    name: str
    icon: str
    rows: tuple[Row, ...]
    choose: Callable[[], Sequence[Row]] | None = None

    @property
    def slug(self) -> str:
        """Name of the section in the page's address."""
        return self.name.lower().replace(" ", "-")

    def found(self, wanted: str) -> tuple[Row, ...]:
        """Return the rows that contain every word of `wanted`; all rows if the section's name matches."""
        terms = wanted.casefold().split()
        if all(term in self.name.casefold() for term in terms):
            return self.rows
        return tuple(row for row in self.rows if all(term in f"{self.name} {row.words}".casefold() for term in terms))


def _model_rows() -> tuple[Row, ...]:
    """Return the model per role, then the sources of models."""
    return (
        *map(models.row, models.SETTINGS),
        setting.row("thinking"),
        Row(ollama.WORDS, ollama.draw, framed=False),
        Row(providers.WORDS, providers.draw, framed=False),
    )


def _in(section: str) -> tuple[Row, ...]:
    """Return the rows of the catalogue options in this section."""
    return tuple(setting.row(name) for name, known in CATALOG.items() if known.section == section)


@cache
def sections() -> tuple[Section, ...]:
    """Return all sections in sidebar order."""
    return (
        Section("Models", "memory", _model_rows()),
        Section("Fine-tuning", "tune", tuning.all_rows(), tuning.chosen_rows),
        Section("Grading", "rule", _in("Grading")),
        Section("Web search", "public", (*_in("Web search"), *library.web_rows())),
        Section("Answers", "chat", _in("Answers")),
        Section("Presets", "bookmarks", (Row(presets.WORDS, presets.draw, framed=False),)),
        Section("Library", "folder_open", library.library_rows()),
        Section("Embeddings", "scatter_plot", (Row(embeddings.WORDS, embeddings.draw, framed=False),)),
        Section("Privacy", "lock", (Row(privacy.WORDS, privacy.draw, framed=False),)),
        Section("Backup", "archive", (Row(backup.WORDS, backup.draw, framed=False),)),
        Section("Set-up", "checklist", (Row(_SETUP_WORDS, setup.draw),)),
        Section("Keyboard", "keyboard", keyboard.all_rows()),
    )
