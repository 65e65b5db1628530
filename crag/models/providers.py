"""Hosted providers known to LangChain: packages, keys, and what is installed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec

from crag.settings import Settings


@dataclass(frozen=True, slots=True)
class Provider:
    """A hosted provider; `name` is the prefix in `openai:gpt-4o-mini`. The key itself is never stored here.

    `key_variable` is the variable that its package reads. `key_present` is also true if an alternative variable is set.
    """

    name: str
    label: str
    package: str
    installed: bool
    key_variable: str
    key_present: bool


_AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK")
# Name, label, package, key variables; from https://docs.langchain.com/oss/python/integrations/chat.
_KNOWN_PROVIDERS = (
    ("openai", "OpenAI", "langchain-openai", ("OPENAI_API_KEY",)),
    ("anthropic", "Anthropic", "langchain-anthropic", ("ANTHROPIC_API_KEY",)),
    ("google_genai", "Google Gemini", "langchain-google-genai", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    ("google_vertexai", "Google Vertex AI", "langchain-google-vertexai", ("GOOGLE_APPLICATION_CREDENTIALS",)),
    ("mistralai", "Mistral AI", "langchain-mistralai", ("MISTRAL_API_KEY",)),
    ("bedrock_converse", "Amazon Bedrock", "langchain-aws", _AWS_VARIABLES),
    ("azure_openai", "Azure OpenAI", "langchain-openai", ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN")),
    ("groq", "Groq", "langchain-groq", ("GROQ_API_KEY",)),
    ("cohere", "Cohere", "langchain-cohere", ("COHERE_API_KEY",)),
    ("deepseek", "DeepSeek", "langchain-deepseek", ("DEEPSEEK_API_KEY",)),
    ("xai", "xAI", "langchain-xai", ("XAI_API_KEY",)),
    ("together", "Together AI", "langchain-together", ("TOGETHER_API_KEY",)),
    ("fireworks", "Fireworks AI", "langchain-fireworks", ("FIREWORKS_API_KEY",)),
    ("perplexity", "Perplexity", "langchain-perplexity", ("PPLX_API_KEY", "PERPLEXITY_API_KEY")),
    ("openrouter", "OpenRouter", "langchain-openrouter", ("OPENROUTER_API_KEY",)),
    ("nvidia", "NVIDIA", "langchain-nvidia-ai-endpoints", ("NVIDIA_API_KEY",)),
    ("upstage", "Upstage", "langchain-upstage", ("UPSTAGE_API_KEY",)),
)
_ALIASES = {"bedrock": "bedrock_converse"}
# Other names that LangChain accepts; their packages and keys are left to LangChain.
_OTHER_PROVIDERS = (
    *("anthropic_bedrock", "azure_ai", "baseten", "bedrock_mantle_anthropic", "bedrock_mantle_openai"),
    *("google_anthropic_vertex", "huggingface", "ibm", "langsmith", "litellm", "meta"),
)


def list_providers(settings: Settings) -> list[Provider]:
    """List the providers with a known package and key, without importing any package."""
    set_now = {name for name, value in {**settings.keys, **os.environ}.items() if value}
    return [
        Provider(name, label, package, _is_installed(package), variables[0], not set_now.isdisjoint(variables))
        for name, label, package, variables in _KNOWN_PROVIDERS
    ]


def is_provider(name: str) -> bool:
    """Return whether LangChain accepts this provider prefix; any other prefix is never contacted."""
    return name in _ALIASES or name in _OTHER_PROVIDERS or any(name == known for known, *_ in _KNOWN_PROVIDERS)


def provider_package(provider: str) -> str:
    """Return the package of a provider, by LangChain's naming scheme if it is not known."""
    name = _ALIASES.get(provider, provider)
    return next(
        (package for known, _, package, _ in _KNOWN_PROVIDERS if known == name), f"langchain-{name.replace('_', '-')}"
    )


def provider_key_variable(provider: str) -> str:
    """Return the key variable of a provider, by the usual naming scheme if it is not known."""
    name = _ALIASES.get(provider, provider)
    return next(
        (variables[0] for known, _, _, variables in _KNOWN_PROVIDERS if known == name), f"{name.upper()}_API_KEY"
    )


def export_keys(settings: Settings) -> None:
    """Export the keys of `.env` and Streamlit's secrets to the environment; existing variables take precedence."""
    for name, value in settings.keys.items():
        os.environ.setdefault(name, value)


def _is_installed(package: str) -> bool:
    return find_spec(package.replace("-", "_")) is not None
