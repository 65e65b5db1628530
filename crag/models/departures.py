"""Where models run, and the record of everything sent to another machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crag.amounts import count
from crag.ledger import Ledger
from crag.models.choice import destination
from crag.models.ollama.administration import InstalledModel
from crag.protocols import Prompt
from crag.settings import Settings
from crag.types import DepartureKind

RequireLeave = Callable[[str], None]


def no_leave_needed(_: str) -> None:
    """Allow every request."""


@dataclass(frozen=True, slots=True)
class Route:
    """Destination of the model `model`: a host or a provider name; `host` is empty on this machine.

    `require_leave` is called with the host before each prompt and raises if consent is missing or withdrawn.
    """

    model: str
    host: str = ""
    ledger: Ledger | None = None
    require_leave: RequireLeave = no_leave_needed

    def __post_init__(self) -> None:
        if self.host and self.ledger is None:
            raise ValueError("what goes to another machine must be written down")

    def record_prompts(self, prompts: Sequence[Prompt]) -> None:
        """Record the purpose of the request and the full question.

        A prompt without a stated purpose is recorded in full. Raises `HomeFault`, and `ModelFault` without consent;
        nothing may be sent then.
        """
        size = sum(len(prompt.text) for prompt in prompts)
        about = next((prompt.about for prompt in prompts if prompt.about), "")
        about = about or "\n\n".join(prompt.text for prompt in prompts if prompt.role == "user")
        self._record("model", f"{size:,} characters to {self.model}. {about}")

    def recording_texts(self, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
        """Wrap `embed` to record the number of texts before embedding. Raises `HomeFault`."""

        def recorded(texts: list[str]) -> Any:
            size = sum(len(text) for text in texts)
            self._record("embedding", f"{count(len(texts), 'text')} of {size:,} characters to {self.model}")
            return embed(texts)

        return recorded if self.host else embed

    def recording_questions(self, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
        """Wrap `embed` to record the full question before embedding. Raises `HomeFault`."""

        def recorded(texts: list[str]) -> Any:
            self._record("embedding", f"To {self.model}. Question: {texts[0]}")
            return embed(texts)

        return recorded if self.host else embed

    def _record(self, kind: DepartureKind, what: str) -> None:
        self.require_leave(self.host)
        if self.host and self.ledger:
            self.ledger.record(self.host, kind, what)


def ollama_route(
    installed: InstalledModel,
    settings: Settings,
    ledger: Ledger | None,
    require_leave: RequireLeave = no_leave_needed,
) -> Route:
    """Return the route to a model of the Ollama server, which may be remote or forward prompts to the cloud."""
    host = destination(f"ollama:{installed.name}", settings, installed.remote_host)
    return Route(installed.name, host, ledger, require_leave)
