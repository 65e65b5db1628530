"""Checks of embedders: Nomic's weights, whether the library uses them, and the chosen embedder."""

from __future__ import annotations

from crag.amounts import count
from crag.checks.facts import Facts
from crag.checks.models import get_model, how_to_get
from crag.checks.values import Check, CheckAction
from crag.models.choice import embedder_label
from crag.models.nomic.weights import NOMIC, NOMIC_ON_OLLAMA, nomic_here, nomic_present, weights_path

BYTES = 274_000_000  # size of the weights, here and in Ollama
NOMIC_CHECK = "Nomic embeddings"


def nomic_check(facts: Facts) -> Check:
    """Check that Nomic's weights are present, undamaged as far as known, and used for the documents."""
    if facts.embedder.name == NOMIC_ON_OLLAMA:
        return Check(NOMIC_CHECK, "ok", "in use, through Ollama")
    if nomic_here() == NOMIC_ON_OLLAMA:
        return _through_ollama(facts)
    if not nomic_present():
        detail = "damaged: they could not be loaded" if weights_path().is_file() else "274 MB once, then offline"
        action = CheckAction("download", "Download · 274 MB", NOMIC, f"python -m crag models pull {NOMIC}")
        return Check(NOMIC_CHECK, "warn", detail, how_to_get(action), action)
    if facts.movable:
        passages = count(facts.movable, "passage")
        action = CheckAction("move", f"Move {passages}", NOMIC, f"python -m crag spaces use {NOMIC}")
        detail = "on this machine, but not used for your documents"
        return Check(NOMIC_CHECK, "warn", detail, f"Embed {passages} with it, in the background.", action)
    return Check(NOMIC_CHECK, "ok", "in use" if facts.embedder.name == NOMIC else "on this machine")


def embedder_check(facts: Facts) -> list[Check]:
    """Check that the chosen embedder is installed, if it is an Ollama model."""
    provider, _, model = facts.embedder.name.partition(":")
    if provider != "ollama" or not facts.server.version:
        return []
    if facts.server.find(model):
        return [Check("Embedding model", "ok", f"{facts.embedder.label} is there")]
    action = get_model(model)
    return [Check("Embedding model", "fail", f"Ollama has no model called {model}", how_to_get(action), action)]


def _through_ollama(facts: Facts) -> Check:
    """Check Nomic where gpt4all has no wheel, as on ARM, and Ollama runs the model."""
    model = NOMIC_ON_OLLAMA.partition(":")[2]
    detail = "only through Ollama on this kind of machine"
    if not facts.server.version:
        return Check(NOMIC_CHECK, "warn", detail, "Install Ollama first.")
    if not facts.server.find(model):
        action = get_model(model, BYTES)
        return Check(NOMIC_CHECK, "warn", detail, how_to_get(action), action)
    action = CheckAction("move", "Use it", NOMIC_ON_OLLAMA, f"python -m crag spaces use {NOMIC_ON_OLLAMA}")
    return Check(NOMIC_CHECK, "warn", detail, f"Choose {embedder_label(NOMIC_ON_OLLAMA)}.", action)
