"""Units by which questions ask for figures: “how many kilometres”, “몇 km”, “多少公里”."""

from __future__ import annotations

import re

from crag.tables.data_table import DataTable
from crag.tables.value_mentions import bare_name
from crag.tables.wording import WORDS


def asks_by_unit(question: str) -> bool:
    """Return whether a question asks for a figure by its unit."""
    return any(_find_unit(question, words) for words in WORDS["units"].values())


def repeat_column_units(question: str, table: DataTable) -> str:
    """Return a question with the name of the only column of figures that has the unit asked for, in its place.

    A column that is called like the unit, “km”, goes before one that has it in brackets, “long run (km)”.
    """
    figures = [column for column in table.columns if column.kind == "number"]
    for words in WORDS["units"].values():
        unit = re.compile(words, re.IGNORECASE)
        named = [column for column in figures if unit.fullmatch(bare_name(column))]
        alike = named or [column for column in figures if unit.fullmatch(column.unit)]
        if len(alike) == 1 and (asked := _find_unit(question, words)):
            return f"{question[: asked.start()]}{bare_name(alike[0])}{question[asked.end() :]}"
    return question


def _find_unit(question: str, words: str) -> re.Match[str] | None:
    """Return where a question asks for a figure in a unit, which has these names."""
    forms = "|".join(form.replace("@", f"(?:{words})") for form in WORDS["unit_questions"].values())
    asked = re.search(forms, question, re.IGNORECASE)
    return asked and re.compile(f"(?:{words})$", re.IGNORECASE).search(question, asked.start(), asked.end())
