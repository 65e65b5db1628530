"""The checks of what embeds: Nomic's weights, whether the library uses them, and the embedder that is chosen."""

from __future__ import annotations

from crag.amounts import count
from crag.checks.facts import Facts
from crag.checks.models import get_model, how_to_get
from crag.models.choice import embedder_label
from crag.models.nomic_weights import NOMIC_ON_OLLAMA, nomic_here, nomic_present
from crag.types import Check, CheckAction

NOMIC = "Nomic embeddings"
_IN_OLLAMA = "nomic-embed-text"
_OFFLINE = "274 MB once, then offline"


def nomic_check(facts: Facts) -> Check:
    """Whether Nomic's weights are here, whole, and used for the documents."""
    if facts.embedder.name == NOMIC_ON_OLLAMA:
        return Check(NOMIC, "ok", "in use, through Ollama")
    if nomic_here() == NOMIC_ON_OLLAMA:
        return _through_ollama(facts)
    if nomic_present():
        return _present(facts)
    action = CheckAction("download", "Download · 274 MB", "nomic", "python -m crag models pull nomic")
    return Check(NOMIC, "warn", _OFFLINE, how_to_get(action), action)


def embedder_check(facts: Facts) -> list[Check]:
    """Whether the embedder is there that was chosen, where it is one of Ollama's."""
    provider, _, model = facts.embedder.name.partition(":")
    if provider != "ollama" or not facts.server.version:
        return []
    if facts.server.find(model):
        return [Check("Embedding model", "ok", f"{facts.embedder.label} is there")]
    action = get_model(model)
    return [Check("Embedding model", "fail", f"Ollama has no model called {model}", how_to_get(action), action)]


def _present(facts: Facts) -> Check:
    if facts.movable and facts.settings.embedder in ("", "auto", "nomic"):
        passages = count(facts.movable, "passage")
        action = CheckAction("move", f"Move {passages}", "nomic", "python -m crag spaces use nomic")
        detail = "on this machine; your documents are still in the space of another embedder"
        return Check(NOMIC, "warn", detail, f"Embed {passages} anew, in the background.", action)
    return Check(NOMIC, "ok", "in use" if facts.embedder.name == "nomic" else "on this machine")


def _through_ollama(facts: Facts) -> Check:
    """Where gpt4all has no wheel, as on ARM, Ollama runs Nomic's model."""
    name = NOMIC_ON_OLLAMA
    detail = "only through Ollama on this kind of machine"
    if facts.server.version and not facts.server.find(_IN_OLLAMA):
        action = get_model(_IN_OLLAMA, 274_000_000)
        return Check(NOMIC, "warn", detail, how_to_get(action), action)
    action = CheckAction("move", "Use it", name, f"python -m crag spaces use {name}")
    return Check(NOMIC, "warn", detail, f"Choose {embedder_label(name)}.", action if facts.server.version else None)
