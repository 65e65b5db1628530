"""Models that run elsewhere: where what they are given goes, and whether a person has to allow that first."""

from __future__ import annotations

from crag.models.choice import destination, is_cloud_name
from pages.parts.resources import application
from pages.settings.server import report

_HERE = ("", "auto", "builtin")
_PROVIDERS = ("openai", "anthropic", "mistralai", "google_genai", "google_vertexai", "bedrock", "bedrock_converse")


def host(name: str) -> str:
    """The host or the provider that what this model is given goes to; empty on this machine."""
    if name in _HERE:
        return ""
    found = report(name)
    return found.host if found else destination(name, application().settings)


def needs_leave(name: str) -> bool:
    """Whether a person has to allow it first. Another machine's Ollama was named by one, as OLLAMA_HOST."""
    found = report(name)
    if found:
        return found.cloud
    provider, _, model = name.partition(":")
    return is_cloud_name(model) if provider == "ollama" else name not in _HERE


def is_provider(name: str) -> bool:
    """Whether this names a model of a provider that is known here."""
    return name.partition(":")[0] in _PROVIDERS
