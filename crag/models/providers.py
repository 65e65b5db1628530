"""Hosted providers known to LangChain: packages, keys, abilities, and whether they are installed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from crag.settings import Settings


@dataclass(frozen=True, slots=True)
class Provider:
    """A hosted provider; `name` is the prefix in `openai:gpt-4o-mini`. The keys themselves are never stored here.

    `key_variables` are those that its package reads; one of them is enough, and the first is the one recommended.
    `has_logprobs`: its package supports `logprobs` and `top_logprobs`; others would refuse them or raise.
    `retries_itself`: its client retries where it cannot be cancelled and reports nothing, unless told not to.
    `installed` and `key_present` are what `list_providers` found on this machine.
    """

    name: str
    label: str
    package: str
    key_variables: tuple[str, ...]
    has_logprobs: bool = False
    retries_itself: bool = False
    embedding_options: Mapping[str, Any] = field(default_factory=dict)
    installed: bool = False
    key_present: bool = False

    @property
    def key_variable(self) -> str:
        """The environment variable recommended to the user."""
        return self.key_variables[0]


# From https://docs.langchain.com/oss/python/integrations/chat.
PROVIDERS = (
    Provider(
        "openai",
        "OpenAI",
        "langchain-openai",
        ("OPENAI_API_KEY",),
        has_logprobs=True,
        retries_itself=True,
        # Its class counts tokens before sending, and would download the tokenizer.
        embedding_options={"check_embedding_ctx_length": False},
    ),
    Provider("anthropic", "Anthropic", "langchain-anthropic", ("ANTHROPIC_API_KEY",), retries_itself=True),
    Provider("google_genai", "Google Gemini", "langchain-google-genai", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    Provider("google_vertexai", "Google Vertex AI", "langchain-google-vertexai", ("GOOGLE_APPLICATION_CREDENTIALS",)),
    Provider("mistralai", "Mistral AI", "langchain-mistralai", ("MISTRAL_API_KEY",)),
    Provider(
        "bedrock_converse",
        "Amazon Bedrock",
        "langchain-aws",
        ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"),
    ),
    Provider(
        "azure_openai",
        "Azure OpenAI",
        "langchain-openai",
        ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
        has_logprobs=True,
        retries_itself=True,
    ),
    Provider("groq", "Groq", "langchain-groq", ("GROQ_API_KEY",), retries_itself=True),
    Provider("cohere", "Cohere", "langchain-cohere", ("COHERE_API_KEY",)),
    Provider(
        "deepseek", "DeepSeek", "langchain-deepseek", ("DEEPSEEK_API_KEY",), has_logprobs=True, retries_itself=True
    ),
    Provider("xai", "xAI", "langchain-xai", ("XAI_API_KEY",), retries_itself=True),
    Provider("together", "Together AI", "langchain-together", ("TOGETHER_API_KEY",), retries_itself=True),
    Provider("fireworks", "Fireworks AI", "langchain-fireworks", ("FIREWORKS_API_KEY",)),
    Provider("perplexity", "Perplexity", "langchain-perplexity", ("PPLX_API_KEY", "PERPLEXITY_API_KEY")),
    Provider("openrouter", "OpenRouter", "langchain-openrouter", ("OPENROUTER_API_KEY",)),
    Provider("nvidia", "NVIDIA", "langchain-nvidia-ai-endpoints", ("NVIDIA_API_KEY",)),
    Provider("upstage", "Upstage", "langchain-upstage", ("UPSTAGE_API_KEY",)),
)
_ALIASES = {"bedrock": "bedrock_converse"}
# Other names that LangChain accepts; their packages and keys are left to LangChain.
_OTHER_PROVIDERS = (
    *("anthropic_bedrock", "azure_ai", "baseten", "bedrock_mantle_anthropic", "bedrock_mantle_openai"),
    *("google_anthropic_vertex", "huggingface", "ibm", "langsmith", "litellm", "meta"),
)


def list_providers(settings: Settings) -> list[Provider]:
    """List the providers with what is present of package and key, without importing any package."""
    set_now = {name for name, value in {**settings.keys, **os.environ}.items() if value}
    return [
        replace(known, installed=_is_installed(known.package), key_present=not set_now.isdisjoint(known.key_variables))
        for known in PROVIDERS
    ]


def is_provider(name: str) -> bool:
    """Return whether LangChain accepts this provider prefix; any other prefix is never contacted."""
    return name in _ALIASES or name in _OTHER_PROVIDERS or any(name == known.name for known in PROVIDERS)


def find_provider(prefix: str) -> Provider:
    """Return the record of a provider; for an unknown one, package and key variable follow the usual naming scheme."""
    name = _ALIASES.get(prefix, prefix)
    unknown = Provider(name, name, f"langchain-{name.replace('_', '-')}", (f"{name.upper()}_API_KEY",))
    return next((known for known in PROVIDERS if known.name == name), unknown)


def export_keys(settings: Settings) -> None:
    """Export the keys of `.env` and Streamlit's secrets to the environment; existing variables take precedence."""
    for name, value in settings.keys.items():
        os.environ.setdefault(name, value)


def _is_installed(package: str) -> bool:
    return find_spec(package.replace("-", "_")) is not None
