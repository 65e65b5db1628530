"""Models offered for a role, each with a distinguishing label."""

from __future__ import annotations

from crag.models.choice import BUILTIN_LABEL
from crag.preferences import Setting
from pages.parts import away, words
from pages.parts.resources import application, is_known, model_choice
from pages.settings import hosted
from pages.settings.server import report, seen

AUTO, SAME, BUILTIN, OLLAMA = "auto", "", "builtin", "ollama:"


def labels(setting: Setting, current: str) -> dict[str, str]:
    """Return model names with plain-text labels: installed, ready or allowed models, and the current one."""
    first = [AUTO, BUILTIN] if setting.name == "model" else [SAME]
    there = [f"{OLLAMA}{model.name}" for model in seen().models if not model.embeds]
    names = [*first, *there, *hosted.ready(), *application().preferences.allowed_models(), current]
    return {name: _label(name) for name in names}


def _label(name: str) -> str:
    if name == AUTO:
        return f"Automatic, now {model_choice().label}" if is_known() else "Automatic"
    if name in (SAME, BUILTIN):
        return BUILTIN_LABEL if name else "Same as answering"
    if (found := report(name)) is None:
        return _hosted_label(name) if away.of_model(name) else name.removeprefix(OLLAMA)
    if found.host:
        return f"{found.name} — leaves this machine"
    loaded = f"loaded on {found.processor}" if found.processor else "loaded" if found.loaded else ""
    facts = ", ".join(filter(None, ("Ollama", words.size(found.size), loaded)))
    return f"{found.name} — {facts}"


def _hosted_label(name: str) -> str:
    known = hosted.provider(name)
    model = f"A model of {known.label}" if known and name == f"{known.name}:" else name
    return f"{model} — leaves this machine"
