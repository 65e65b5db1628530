"""Where models run, and what is written down before anything is sent to one that does not run on this machine."""

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
    """Whoever asks has leave."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way to the model called `model` at `host`: a host, or the name of a provider; empty on this machine.

    `require_leave`, given the host, raises where nobody allowed it, or no longer: it is asked before each prompt.
    """

    model: str
    host: str = ""
    ledger: Ledger | None = None
    require_leave: RequireLeave = no_leave_needed

    def __post_init__(self) -> None:
        if self.host and self.ledger is None:
            raise ValueError("what goes to another machine must be written down")

    def record_prompts(self, prompts: Sequence[Prompt]) -> None:
        """What the request is for, with the question in full; a prompt that does not say so is written down whole.

        Raises `HomeFault`, and `ModelFault` without leave; nothing may be sent then.
        """
        size = sum(len(prompt.text) for prompt in prompts)
        about = next((prompt.about for prompt in prompts if prompt.about), "")
        about = about or "\n\n".join(prompt.text for prompt in prompts if prompt.role == "user")
        self._record("model", f"{size:,} characters to {self.model}. {about}")

    def recording_texts(self, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
        """`embed`, which writes down first how many texts are embedded. Raises `HomeFault`."""

        def recorded(texts: list[str]) -> Any:
            size = sum(len(text) for text in texts)
            self._record("embedding", f"{count(len(texts), 'text')} of {size:,} characters to {self.model}")
            return embed(texts)

        return recorded if self.host else embed

    def recording_questions(self, embed: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
        """`embed`, which writes down first what is asked, in full. Raises `HomeFault`."""

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
    """The way to a model of the Ollama server, which may be another machine, or pass on what it is given to one."""
    host = destination(f"ollama:{installed.name}", settings, installed.remote_host)
    return Route(installed.name, host, ledger, require_leave)
