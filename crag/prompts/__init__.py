"""The texts that language models are given, one file for each role and language, and the safe way to fill them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from string import Template

from crag.prompts.language import Language, Written
from crag.protocols import Prompt


@cache
def load(name: str, language: Written = "en") -> str:
    """The text of `name` in `language`, in English where there is no such translation. Raises `FileNotFoundError`."""
    folder = Path(__file__).parent
    path = folder / f"{name}.{language}.md"
    return (path if path.exists() else folder / f"{name}.en.md").read_text(encoding="utf-8").strip()


def fill(template: str, **values: str) -> str:
    """`template` with each `$name` replaced once; whatever the values hold, `$` and braces too, stays as it is."""
    return Template(template).substitute(values)


def compose(name: str, language: Language = "en", **values: str) -> tuple[Prompt, Prompt]:
    """The system and the user message of a prompt file whose two parts are set apart by a line of `---`.

    The value `question` also says what the request is about.
    """
    system, _, user = load(name, language).partition("\n---\n")
    about = f"{name.partition('_')[0]}: {values['question']}" if "question" in values else ""
    return Prompt("system", fill(system.strip(), **values)), Prompt("user", fill(user.strip(), **values), about)
