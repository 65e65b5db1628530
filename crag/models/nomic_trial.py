"""Child script that embeds one text to verify Nomic's weights."""

from __future__ import annotations

import sys
from pathlib import Path


def embed_once(weights: Path) -> None:
    """Embed one text. Raises whatever gpt4all raises; some damage ends the process."""
    from gpt4all import Embed4All

    engine = Embed4All(weights.name, model_path=weights.parent, allow_download=False)
    engine.gpt4all.model.thread_count()  # raises if nothing was loaded; the constructor does not
    engine.embed(["Are you there?"], prefix="search_query")


if __name__ == "__main__":
    embed_once(Path(sys.argv[1]))
