"""Fetch functions by name: Nomic's weights in this process, Ollama models by its server."""

from __future__ import annotations

import re
from functools import partial

from crag.errors import BadRequest
from crag.ledger import Ledger
from crag.models.downloads.values import Fetch
from crag.settings import Settings

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}")


def choose_fetch(settings: Settings, ledger: Ledger, name: str) -> Fetch:
    """Return the fetch function for `nomic` or `ollama:NAME`. Raises `BadRequest` for any other name."""
    from crag.models.nomic.weights import NOMIC, fetch_nomic
    from crag.models.ollama.pulling import pull

    provider, _, model = name.partition(":")
    if name == NOMIC:
        return partial(fetch_nomic, settings, ledger)
    if provider == "ollama" and _MODEL.fullmatch(model):
        return partial(pull, model, settings, ledger)
    raise BadRequest(f"“{name[:60]}” is nothing that can be downloaded.", "Write nomic, or ollama:NAME.")
