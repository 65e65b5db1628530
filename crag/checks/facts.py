"""Facts that the checks judge, looked up once for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from crag.errors import ModelFault
from crag.models.choice import ModelChoice, destination
from crag.models.downloads import Download
from crag.models.ollama.administration import PROBE_SECONDS, InstalledModel, installed_models, named, ollama_version
from crag.options import RunOptions
from crag.settings import Settings
from crag.websearch import Quota


@dataclass(frozen=True, slots=True)
class Server:
    """State of the Ollama server; without a version it is not responding, and `fault` says why."""

    version: str = ""
    installed: tuple[InstalledModel, ...] = ()
    fault: ModelFault | None = None

    def find(self, model: str) -> InstalledModel | None:
        """Return the installed model of this name, where a missing tag means `latest`."""
        return named(model, self.installed)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts for the checks. `model` and `embedder` are what answers and embeds under `auto`.

    `options` apply to the next question. `llama` is the recommended Llama 3, by its Ollama name, and its size in bytes.
    `begun` is an unfinished download of a Llama 3. `movable` passages have vectors, but none from Nomic, whose weights
    are present; they count until the last one has moved.
    """

    settings: Settings
    options: RunOptions
    model: ModelChoice
    embedder: ModelChoice
    searches: Quota
    server: Server
    llama: tuple[str, int]
    begun: Download | None = None
    movable: int = 0

    @property
    def server_is_here(self) -> bool:
        """Whether Ollama runs, or would run, on this machine."""
        return not destination("ollama:", self.settings)

    @property
    def answering(self) -> str:
        """The name of the model that answers the next question."""
        return self.model.name if self.options.model == "auto" else self.options.model


def look_at_server(settings: Settings) -> Server:
    """Query the server, waiting half a second at most."""
    try:
        installed = tuple(installed_models(settings, PROBE_SECONDS))
    except ModelFault as fault:
        return Server(fault=fault)
    return Server(ollama_version(settings) or "of an unknown version", installed)
