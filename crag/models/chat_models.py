"""Factory of chat models by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from crag.concurrency.request_queue import request_queue
from crag.errors import ModelFault
from crag.models.chat_client import ChatServer, LangChainChatModel
from crag.models.destinations import JsonSchema, ModelRoute, ModelTraits, RequireConsent, allow_all, route_to_ollama
from crag.models.faults import (
    translate_ollama_error,
    translate_opening,
    translate_provider_error,
)
from crag.models.ollama_api import (
    InstalledModel,
    ModelFacts,
    limit_window,
    list_installed_models,
)
from crag.models.ollama_pool import ollama_pool, server_parallelism
from crag.models.providers import export_keys, find_provider
from crag.options import ModelParameters
from crag.protocols import ChatModel
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.types import Prompt

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


_DEFAULT_CONCURRENCY = 4
# Budget for thinking, on top of the answer's own tokens; at most a quarter of the window.
THINKING_TOKENS = 2048
# Enough for a sentence, a reason and a verdict, or for a question. A weak model that loses its way fills any limit.
_MAX_BRIEF_TOKENS = 300
_DEFAULT_TUNING = ModelParameters()
_LOGPROB_OPTIONS = {"logprobs": True, "top_logprobs": 20}  # the maximum of OpenAI and Ollama


def open_chat_model(
    name: str,
    settings: Settings,
    outbound_log: OutboundLog | None = None,
    tuning: ModelParameters = _DEFAULT_TUNING,
    *,
    thinking: bool = False,
    require_consent: RequireConsent = allow_all,
) -> ChatModel:
    """Open the model `ollama:NAME`, or `provider:model` through LangChain's `init_chat_model`.

    Ollama is asked immediately for the model's digest and limits, so that a missing server or model is
    reported before any work begins. With `thinking`, streamed replies begin with the model's thoughts if it supports
    that; whole replies and single tokens, which serve for grading, never do. `require_consent` is called with the
    destination before each prompt and raises if prompts may not go there. Raises `ModelFault`, and `ValueError` for a
    model on another machine without an outbound log.
    """
    provider, colon, model = name.partition(":")
    if not colon or not provider or not model:
        raise ModelFault.make("model.unknown_model", name=name)
    if provider == "ollama":

        def find_route(installed: InstalledModel, host: Settings) -> ModelRoute:
            return route_to_ollama(installed, host, outbound_log, require_consent)

        return _open_ollama(model, find_route, settings, tuning, thinking=thinking)
    export_keys(settings)
    chat = _init_provider(provider, model, tuning)
    return _open_provider(chat, ModelRoute(model, provider, outbound_log, require_consent), tuning, thinking=thinking)


def _open_ollama(
    model: str,
    find_route: Callable[[InstalledModel, Settings], ModelRoute],
    settings: Settings,
    tuning: ModelParameters,
    *,
    thinking: bool,
) -> ChatModel:
    pool = ollama_pool(settings)
    installed = pool.find_model(model)
    host = find_route(installed, settings).host
    facts = pool.load_facts(installed)
    if _cannot_chat(installed, facts):
        raise ModelFault.make("ollama.only_embeds", model=model)
    window = limit_window(tuning, facts.context_length)
    tuning = replace(tuning, window=window, answer_limit=min(tuning.answer_limit, window // 2))
    thinks = thinking and "thinking" in (facts.capabilities or ())
    brief = replace(tuning, answer_limit=min(tuning.answer_limit, _MAX_BRIEF_TOKENS))
    slots = tuning.parallelism or server_parallelism()
    aloud = replace(tuning, answer_limit=tuning.answer_limit + min(THINKING_TOKENS, window // 4))
    traits = ModelTraits(
        name=f"ollama:{model}",
        fingerprint=f"ollama:{model}@{installed.digest}",
        window=tuning.window,
        answer_limit=aloud.answer_limit if thinks else tuning.answer_limit,
        concurrency=slots * pool.count_hosts(installed),
        marks_end=True,
        constrain=lambda prompts, schema: (prompts, {"format": schema or "json"}),
        host=host,
        queue=request_queue(f"ollama:{model}", settings.ollama_host),
        brief_options={"options": _ollama_options(brief)},
        logprob_options=_LOGPROB_OPTIONS,
        one_token_options={"options": _ollama_options(replace(tuning, answer_limit=1))},
        thinking_options={"reasoning": True, "options": _ollama_options(aloud)} if thinks else {},
        streams_thoughts=thinking,
    )

    def open_at(host: Settings) -> ChatServer:
        return ChatServer(
            _make_chat_ollama(model, host, tuning),
            find_route(installed, host),
            lambda error: _translate_error(error, installed, host),
        )

    servers = cache(open_at)
    return LangChainChatModel(lambda send: pool.stream(installed, slots, lambda host: send(servers(host))), traits)


def _cannot_chat(installed: InstalledModel, facts: ModelFacts) -> bool:
    """Return whether the model cannot chat: from its capabilities, or else from its name and family."""
    return installed.only_embeds if facts.capabilities is None else "completion" not in facts.capabilities


def _translate_error(error: Exception, model: InstalledModel, settings: Settings) -> ModelFault:
    """Translate an error; for a model that is too large, suggest the largest smaller one installed."""
    fault = translate_ollama_error(error, model.name, settings)
    if fault.code != "out_of_memory":
        return fault
    try:
        others = [other for other in list_installed_models(settings) if not (other.only_embeds or other.cloud)]
    except ModelFault:
        return fault
    smaller = max((other for other in others if other.size < model.size), key=lambda other: other.size, default=None)
    if smaller is None:
        return fault
    remedy = f"Choose a smaller model such as {smaller.name}, which you have, or close other programs."
    return ModelFault(fault.code, fault.message, remedy, fault.fault)


def _ollama_options(tuning: ModelParameters) -> dict[str, Any]:
    """Return the options of every call. Only a different `num_ctx` would make the server reload the model."""
    return {"num_ctx": tuning.window, "num_predict": tuning.answer_limit, "temperature": tuning.temperature}


def _make_chat_ollama(model: str, settings: Settings, tuning: ModelParameters) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    from crag.models.connections import ollama_client_options

    return ChatOllama(
        model=model,
        base_url=settings.ollama_host,
        **_ollama_options(tuning),
        reasoning=False,  # unset means on: thinking would use up the answer's tokens and be dropped
        keep_alive=tuning.keep_alive,
        **ollama_client_options(settings),
    )


def _open_provider(chat: BaseChatModel, route: ModelRoute, tuning: ModelParameters, *, thinking: bool) -> ChatModel:
    provider, model = route.host, route.model
    traits = ModelTraits(
        name=f"{provider}:{model}",
        fingerprint=f"{provider}:{model}",
        window=tuning.window,
        answer_limit=tuning.answer_limit,
        concurrency=tuning.parallelism or _DEFAULT_CONCURRENCY,
        marks_end=False,
        constrain=_append_schema,
        host=provider,
        queue=request_queue(f"{provider}:{model}", provider),
        logprob_options=_LOGPROB_OPTIONS if find_provider(provider).has_logprobs else {},
        one_token_options={"max_tokens": 1},
        streams_thoughts=thinking,
    )
    server = ChatServer(chat, route, lambda error: translate_provider_error(error, provider))
    return LangChainChatModel(lambda send: send(server), traits)


def _init_provider(provider: str, model: str, tuning: ModelParameters) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    options: dict[str, Any] = {"temperature": tuning.temperature, "max_tokens": tuning.answer_limit}
    if find_provider(provider).retries_itself:
        options["max_retries"] = 0
    with translate_opening(provider, "Unsupported provider", "model.unknown_model", f"{provider}:{model}"):
        chat: BaseChatModel = init_chat_model(model, model_provider=provider, **options)
    return chat


def _append_schema(prompts: list[Prompt], schema: JsonSchema) -> tuple[list[Prompt], dict[str, Any]]:
    """Append the schema as an instruction: every provider understands that, whatever its JSON mode is called."""
    words = "Reply with one JSON object and nothing else."
    if schema:
        words = f"{words} It must match this JSON schema:\n{json.dumps(schema)}"
    *before, last = prompts
    return [*before, replace(last, text=f"{last.text}\n\n{words}")], {}
