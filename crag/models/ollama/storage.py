"""Disk space check for models of an Ollama server on this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from crag.models.choice import destination
from crag.models.ollama.pull_faults import no_room
from crag.settings import Settings

_USUAL_PLACES = (Path("~/.ollama/models"), Path("/usr/share/ollama/.ollama/models"))


def check_room(name: str, needed: int, settings: Settings) -> None:
    """Raise `ModelFault` if this many bytes certainly do not fit; unknown cases are left to the server."""
    if destination(f"ollama:{name}", settings):
        return
    free = [shutil.disk_usage(place).free for place in places() if place.is_dir()]
    if free and max(free) < needed:
        raise no_room(name, needed, max(free))


def places() -> list[Path]:
    """Return the candidate model folders: from Ollama's own variable if it is set here too, else its defaults."""
    said = os.environ.get("OLLAMA_MODELS", "").strip()
    return [Path(said)] if said else [place.expanduser() for place in _USUAL_PLACES]
