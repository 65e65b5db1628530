"""Run as a script in a child process: embeds one text with the weights that it is given, or does not live to."""

from __future__ import annotations

import sys
from pathlib import Path


def embed_once(weights: Path) -> None:
    """Raises whatever gpt4all raises; some damage it answers by ending the process."""
    from gpt4all import Embed4All

    engine = Embed4All(weights.name, model_path=weights.parent, allow_download=False)
    engine.gpt4all.model.thread_count()  # raises where nothing was loaded, which the constructor does not
    engine.embed(["Are you there?"], prefix="search_query")


if __name__ == "__main__":
    embed_once(Path(sys.argv[1]))
