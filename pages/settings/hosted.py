"""Models that run elsewhere: whether they need consent, and what they still require."""

from __future__ import annotations

from importlib.util import find_spec

from crag.models.ollama.administration import is_cloud_name
from crag.models.providers import Provider, providers
from pages.parts.resources import application
from pages.settings.server import report

_HERE = ("", "auto", "builtin")


def needs_leave(name: str) -> bool:
    """Return whether the user must allow this model first.

    A remote Ollama server needs no consent, since the user named it in OLLAMA_HOST.
    """
    found = report(name)
    if found:
        return found.cloud
    provider, _, model = name.partition(":")
    return is_cloud_name(model) if provider == "ollama" else name not in _HERE


def provider(name: str) -> Provider | None:
    """Return the provider of this model if its package and key are known by name."""
    wanted = name.partition(":")[0]
    return next((known for known in providers(application().settings) if known.name == wanted), None)


def is_hosted(name: str) -> bool:
    """Return whether this names a model of a provider that is known or whose package is installed."""
    wanted, colon, _ = name.partition(":")
    if not colon or report(f"ollama:{name}"):
        return False
    return provider(name) is not None or (wanted.isidentifier() and find_spec(f"langchain_{wanted}") is not None)


def ready() -> list[str]:
    """Return the providers with package and key present, as name prefixes such as `openai:`."""
    return [f"{known.name}:" for known in providers(application().settings) if known.installed and known.key_present]


def lacking(name: str) -> str:
    """Return what the provider of this model still requires, in words; empty if nothing is known to be missing."""
    known = provider(name)
    if known is None or (known.installed and known.key_present):
        return ""
    return f"needs the package {known.package}" if not known.installed else f"needs {known.key_variable}"
