"""Opens chat models by the names used in the settings."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crag.errors import ModelFault
from crag.ledger import Ledger
from crag.models.client.admission import admission_to
from crag.models.client.chat_model import LangChainChatModel
from crag.models.client.sending import Schema, Traits
from crag.models.departures import RequireLeave, Route, no_leave_needed, ollama_route
from crag.models.faults import only_embeds, translate_ollama
from crag.models.ollama.administration import (
    InstalledModel,
    ModelFacts,
    find_model,
    fitting_window,
    installed_models,
    model_facts,
)
from crag.models.provider_faults import missing_key, missing_package, translate_provider, unknown_provider
from crag.models.providers import provide_keys
from crag.options import Tuning
from crag.protocols import ChatModel, Prompt
from crag.settings import Settings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_DEFAULT_CONCURRENCY = 4
# Budget for thinking, on top of the answer's own tokens; at most a quarter of the window.
THINKING_TOKENS = 2048
_USUAL = Tuning()
_ALTERNATIVES = {"logprobs": True, "top_logprobs": 20}  # the maximum of OpenAI and Ollama
# Providers whose LangChain package supports these options; others would refuse them or raise.
_TELL_ALTERNATIVES = ("openai", "azure_openai", "deepseek")
# Providers whose client retries internally, where it cannot be cancelled and reports nothing.
_TRY_AGAIN = ("openai", "azure_openai", "deepseek", "xai", "together", "anthropic", "groq")


def open_chat_model(
    name: str,
    settings: Settings,
    ledger: Ledger | None = None,
    tuning: Tuning = _USUAL,
    *,
    thinking: bool = False,
    require_leave: RequireLeave = no_leave_needed,
) -> ChatModel:
    """Open the model `ollama:NAME`, or `provider:model` through LangChain's `init_chat_model`.

    An Ollama server is asked immediately for the model's digest and limits, so that a missing server or model is
    reported before any work begins. With `thinking`, streamed replies begin with the model's thoughts if it supports
    that; whole replies and single tokens, which serve for grading, never do. `require_leave` is called with the
    destination before each prompt and raises if prompts may not go there. Raises `ModelFault`, and `ValueError` for a
    model on another machine without a ledger.
    """
    provider, colon, model = name.partition(":")
    if not colon or not provider or not model:
        raise unknown_provider(name)
    if provider == "ollama":
        installed = find_model(settings, model)
        route = ollama_route(installed, settings, ledger, require_leave)
        return _open_ollama(model, installed, route, settings, tuning, thinking=thinking)
    provide_keys(settings)
    chat = _init_provider(provider, model, tuning)
    return _open_provider(chat, Route(model, provider, ledger, require_leave), tuning, thinking=thinking)


def _open_ollama(
    model: str, installed: InstalledModel, route: Route, settings: Settings, tuning: Tuning, *, thinking: bool
) -> ChatModel:
    facts = model_facts(settings, installed)
    if _only_embeds(installed, facts):
        raise only_embeds(model)
    window = fitting_window(tuning, facts.context_length)
    tuning = replace(tuning, window=window, answer_limit=min(tuning.answer_limit, window // 2))
    thinks = thinking and "thinking" in (facts.capabilities or ())
    aloud = replace(tuning, answer_limit=tuning.answer_limit + min(THINKING_TOKENS, window // 4))
    traits = Traits(
        name=f"ollama:{model}",
        fingerprint=f"ollama:{model}@{installed.digest}",
        window=tuning.window,
        answer_limit=aloud.answer_limit if thinks else tuning.answer_limit,
        concurrency=tuning.parallelism or _server_parallelism(),
        marks_end=True,
        constrain=lambda prompts, schema: (prompts, {"format": schema}),
        translate=lambda error: _translated(error, installed, settings),
        route=route,
        admission=admission_to(f"ollama:{model}", settings.ollama_host),
        one_token=_ALTERNATIVES | {"options": _options(replace(tuning, answer_limit=1))},
        aloud={"reasoning": True, "options": _options(aloud)} if thinks else {},
        tells_thoughts=thinking,
    )
    return LangChainChatModel(_chat_ollama(model, settings, tuning), traits)


def _only_embeds(installed: InstalledModel, facts: ModelFacts) -> bool:
    """Return whether the model cannot chat: from its capabilities, or else from its name and family."""
    return installed.only_embeds if facts.capabilities is None else "completion" not in facts.capabilities


def _translated(error: Exception, model: InstalledModel, settings: Settings) -> ModelFault:
    """Translate an error; for a model that is too large, suggest the largest smaller one installed."""
    fault = translate_ollama(error, model.name, settings)
    if fault.code != "out_of_memory":
        return fault
    try:
        others = [other for other in installed_models(settings) if not (other.only_embeds or other.cloud)]
    except ModelFault:
        return fault
    smaller = max((other for other in others if other.size < model.size), key=lambda other: other.size, default=None)
    if smaller is None:
        return fault
    remedy = f"Choose a smaller model such as {smaller.name}, which you have, or close other programs."
    return ModelFault(fault.code, fault.message, remedy, fault.fault)


def _options(tuning: Tuning) -> dict[str, Any]:
    """Return the options of every call. Only a different `num_ctx` would make the server reload the model."""
    return {"num_ctx": tuning.window, "num_predict": tuning.answer_limit, "temperature": tuning.temperature}


def _chat_ollama(model: str, settings: Settings, tuning: Tuning) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    from crag.models.connections import client_options

    return ChatOllama(
        model=model,
        base_url=settings.ollama_host,
        **_options(tuning),
        reasoning=False,  # unset means on: thinking would use up the answer's tokens and be dropped
        keep_alive=tuning.keep_alive,
        **client_options(settings),
    )


def _server_parallelism() -> int:
    """Return the number of parallel slots. The server does not report it; its variable may be set here too."""
    value = os.environ.get("OLLAMA_NUM_PARALLEL", "")
    return (int(value) if value.isdecimal() else 0) or _DEFAULT_CONCURRENCY


def _open_provider(chat: BaseChatModel, route: Route, tuning: Tuning, *, thinking: bool) -> ChatModel:
    provider, model = route.host, route.model
    traits = Traits(
        name=f"{provider}:{model}",
        fingerprint=f"{provider}:{model}",
        window=tuning.window,
        answer_limit=tuning.answer_limit,
        concurrency=tuning.parallelism or _DEFAULT_CONCURRENCY,
        marks_end=False,
        constrain=_with_schema_in_words,
        translate=lambda error: translate_provider(error, provider),
        route=route,
        admission=admission_to(f"{provider}:{model}", provider),
        one_token=_ALTERNATIVES | {"max_tokens": 1} if provider in _TELL_ALTERNATIVES else {},
        tells_thoughts=thinking,
    )
    return LangChainChatModel(chat, traits)


def _init_provider(provider: str, model: str, tuning: Tuning) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"temperature": tuning.temperature, "max_tokens": tuning.answer_limit}
    if provider in _TRY_AGAIN:
        options["max_retries"] = 0
    try:
        chat: BaseChatModel = init_chat_model(model, model_provider=provider, **options)
    except ImportError as error:
        raise missing_package(provider) from error
    except Exception as error:
        if "Unsupported provider" in str(error):
            raise unknown_provider(f"{provider}:{model}") from error
        raise missing_key(provider, str(error)) from error
    return chat


def _with_schema_in_words(prompts: list[Prompt], schema: Schema) -> tuple[list[Prompt], dict[str, Any]]:
    """Append the schema as an instruction: every provider understands that, whatever its JSON mode is called."""
    words = f"Reply with one JSON object and nothing else. It must match this JSON schema:\n{json.dumps(schema)}"
    *before, last = prompts
    return [*before, replace(last, text=f"{last.text}\n\n{words}")], {}
