"""Prompt files, one per role and language, and safe filling of their placeholders."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

from crag.prompts.language import Language, Written
from crag.protocols import Prompt


@cache
def load(name: str, language: Written = "en") -> str:
    """Return the text of a prompt file, in English if there is no translation. Raises `FileNotFoundError`."""
    folder = Path(__file__).parent
    path = folder / f"{name}.{language}.md"
    return (path if path.exists() else folder / f"{name}.en.md").read_text(encoding="utf-8").strip()


def fill(template: str, **values: str) -> str:
    """Replace each `$name` in `template` once. The values are inserted verbatim, including `$` and braces."""
    return Template(template).substitute(values)


def compose(name: str, language: Language = "en", **values: str) -> tuple[Prompt, Prompt]:
    """Return the system and the user message of a prompt file, whose two parts are separated by a line of `---`.

    The value `question` also becomes part of `Prompt.about`.
    """
    system, _, user = load(name, language).partition("\n---\n")
    about = f"{name.partition('_')[0]}: {values['question']}" if "question" in values else ""
    return Prompt("system", fill(system.strip(), **values)), Prompt("user", fill(user.strip(), **values), about)
