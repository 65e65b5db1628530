"""Where prompts go, what is recorded before they leave, and the traits of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crag.concurrency.request_queue import RequestQueue
from crag.models.ollama_api import InstalledModel, is_cloud_name
from crag.models.providers import is_provider
from crag.settings import Settings, url_host
from crag.storage.outbound_log import OutboundLog
from crag.text.formatting import format_count
from crag.types import OutboundKind, Prompt

_OLLAMA_CLOUD, _HTTPS_PORT = "ollama.com", ":443"


def external_host(name: str, settings: Settings, remote_host: str = "") -> str:
    """Return the host or provider that receives the model's inputs; empty on this machine and for no model.

    `remote_host` is the address to which Ollama forwards a cloud model's prompts.
    """
    provider, _, model = name.partition(":")
    if provider != "ollama":
        return provider if is_provider(provider) else ""
    if remote_host or is_cloud_name(model):
        return url_host(remote_host).removesuffix(_HTTPS_PORT) or _OLLAMA_CLOUD
    return settings.external_ollama_hosts


JsonSchema = dict[str, Any]
ConstrainReply = Callable[[list[Prompt], JsonSchema], tuple[list[Prompt], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """Differences between providers.

    - `marks_end`: a complete reply ends with a mark; without the mark the reply was cut off.
    - `queue`: the request queue of this model.
    - `host`: where prompts may go; empty if they stay on this machine.
    - `brief_options`: options that limit a reply that is no answer, such as a verdict or a search query.
    - `logprob_options`: options that request the alternatives of each token; empty if unsupported.
    - `one_token_options`: options that limit the reply to one token.
    - `thinking_options`: options that let the model think first.
    - `streams_thoughts`: whether thoughts are passed on.
    """

    name: str
    fingerprint: str
    window: int
    answer_limit: int
    concurrency: int
    marks_end: bool
    constrain: ConstrainReply
    host: str
    queue: RequestQueue
    brief_options: Mapping[str, Any] = field(default_factory=dict)
    logprob_options: Mapping[str, Any] = field(default_factory=dict)
    one_token_options: Mapping[str, Any] = field(default_factory=dict)
    thinking_options: Mapping[str, Any] = field(default_factory=dict)
    streams_thoughts: bool = False


RequireConsent = Callable[[str], None]


def allow_all(_: str) -> None:
    """Allow every request."""


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """Destination of the model `model`: a host or a provider name; `host` is empty on this machine.

    `require_consent` is called with the host before each prompt and raises if consent is missing or withdrawn.
    """

    model: str
    host: str = ""
    outbound_log: OutboundLog | None = None
    require_consent: RequireConsent = allow_all

    def __post_init__(self) -> None:
        if self.host and self.outbound_log is None:
            raise ValueError("what goes to another machine must be logged first")

    def record_prompts(self, prompts: Sequence[Prompt]) -> None:
        """Record the purpose of the request and the full question.

        A prompt without a stated purpose is recorded in full. Raises `HomeFault`, and `ModelFault` without consent;
        nothing may be sent then.
        """
        size = sum(len(prompt.text) for prompt in prompts)
        about = next((prompt.about for prompt in prompts if prompt.about), "")
        about = about or "\n\n".join(prompt.text for prompt in prompts if prompt.role == "user")
        self._record("model", f"{size:,} characters to {self.model}. {about}")

    def add_text_recording(self, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
        """Wrap `embed` to record the number of texts before embedding. Raises `HomeFault`."""

        def recorded(texts: list[str]) -> Any:
            size = sum(len(text) for text in texts)
            self._record("embedding", f"{format_count(len(texts), 'text')} of {size:,} characters to {self.model}")
            return embed(texts)

        return recorded if self.host else embed

    def add_question_recording(self, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
        """Wrap `embed` to record the full question before embedding. Raises `HomeFault`."""

        def recorded(texts: list[str]) -> Any:
            self._record("embedding", f"To {self.model}. Question: {texts[0]}")
            return embed(texts)

        return recorded if self.host else embed

    def _record(self, kind: OutboundKind, what: str) -> None:
        self.require_consent(self.host)
        if self.host and self.outbound_log:
            self.outbound_log.record(self.host, kind, what)


def route_to_ollama(
    installed: InstalledModel,
    settings: Settings,
    outbound_log: OutboundLog | None,
    require_consent: RequireConsent = allow_all,
) -> ModelRoute:
    """Return the route to a model of an Ollama host, which may be remote or forward prompts to the cloud."""
    host = external_host(f"ollama:{installed.name}", settings, installed.remote_host)
    return ModelRoute(installed.name, host, outbound_log, require_consent)
