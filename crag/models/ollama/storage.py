"""Whether a model has room where an Ollama server on this machine keeps its models."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from crag.models.choice import destination
from crag.models.ollama.pull_faults import no_room
from crag.settings import Settings

_USUAL_PLACES = (Path("~/.ollama/models"), Path("/usr/share/ollama/.ollama/models"))


def check_room(name: str, needed: int, settings: Settings) -> None:
    """Raises `ModelFault` where so many bytes more surely have no room; what cannot be known is left to the server."""
    if destination(f"ollama:{name}", settings):
        return
    free = [shutil.disk_usage(place).free for place in places() if place.is_dir()]
    if free and max(free) < needed:
        raise no_room(name, needed, max(free))


def places() -> list[Path]:
    """Where it may keep them: where its own variable says, if that is set here too, else where it usually does."""
    said = os.environ.get("OLLAMA_MODELS", "").strip()
    return [Path(said)] if said else [place.expanduser() for place in _USUAL_PLACES]
