"""Template of the self-contained HTML pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crag.translation import _, current_language, translate_text

if TYPE_CHECKING:
    from jinja2 import Template


def load_page_template(name: str, *folders: Path) -> Template:
    """Load a Jinja template with autoescaping. `frame.html.jinja` is found here, other templates in `folders`.

    In templates, `_` and `translate_text` translate into the language in which the page is rendered.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader([Path(__file__).parent, *folders])
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals |= {"_": _, "translate_text": translate_text, "language": current_language}
    return made.get_template(name)
