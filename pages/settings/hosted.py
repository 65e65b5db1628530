"""Models that run elsewhere: whether they must be allowed, and what they still need."""

from __future__ import annotations

from importlib.util import find_spec

from crag.models.ollama.administration import is_cloud_name
from crag.models.providers import Provider, providers
from pages.parts.resources import application
from pages.settings.server import report

_HERE = ("", "auto", "builtin")


def needs_leave(name: str) -> bool:
    """Whether a person has to allow it first. Another machine's Ollama was named by one, as OLLAMA_HOST."""
    found = report(name)
    if found:
        return found.cloud
    provider, _, model = name.partition(":")
    return is_cloud_name(model) if provider == "ollama" else name not in _HERE


def provider(name: str) -> Provider | None:
    """The provider of this model, where its package and key are known by name."""
    wanted = name.partition(":")[0]
    return next((known for known in providers(application().settings) if known.name == wanted), None)


def is_hosted(name: str) -> bool:
    """Whether this names a model of a provider: one that is known, or whose package is installed."""
    wanted, colon, _ = name.partition(":")
    if not colon or report(f"ollama:{name}"):
        return False
    return provider(name) is not None or (wanted.isidentifier() and find_spec(f"langchain_{wanted}") is not None)


def ready() -> list[str]:
    """The providers whose package and key are there, as the beginnings of names: `openai:`."""
    return [f"{known.name}:" for known in providers(application().settings) if known.installed and known.key_present]


def lacking(name: str) -> str:
    """What the provider of this model still needs, in words; empty where nothing is known to be lacking."""
    known = provider(name)
    if known is None or (known.installed and known.key_present):
        return ""
    return f"needs the package {known.package}" if not known.installed else f"needs {known.key_variable}"
