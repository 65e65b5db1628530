"""Requests, replies and models of the scripted Ollama server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

End = Literal["done", "length", "no_done", "error_line", "bad_line", "close", "reset", "hang"]


@dataclass
class Say:
    """One reply. Times in seconds; `None` takes the server's own. `prompt_tokens` overrides the honest count.

    `end` is how the stream ends after the text: regularly, at the limit, without `done`, with an error line, with
    `line`, with the connection closed or reset, or not at all. A `status` other than 200 sends `error` instead, and a
    `body` is sent whole in place of anything else. `unlimited`: more is said than `num_predict` lets come.
    `alternatives` are the natural log-probabilities at the first token, or at the token with the index
    `alternatives_at`, sent where they are asked for.
    `thought` is a thinking model's reasoning, sent with the text unless thinking is switched off.
    """

    text: str = ""
    end: End = "done"
    first_token_after: float | None = None
    per_token: float | None = None
    prompt_tokens: int | None = None
    status: int = 200
    error: str = "something went wrong"
    line: bytes = b"<html>no model here</html>"
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    unlimited: bool = False
    alternatives: dict[str, float] = field(default_factory=dict)
    alternatives_at: int = 0
    thought: str = ""


@dataclass
class Model:
    """One installed model, as `/api/tags` and `/api/show` tell of it.

    `capabilities` None are those of its kind; empty ones are not told, as servers before 0.6.4 do not.
    """

    name: str
    family: str = "llama"
    size: int = 4_900_000_000
    digest: str = "0" * 64
    context_length: int = 131_072
    embedding_length: int = 4096
    remote_host: str = ""
    parameters: str = "8.0B"
    quantization: str = "Q4_K_M"
    thinks: bool = False
    capabilities: tuple[str, ...] | None = None

    @property
    def details(self) -> dict[str, Any]:
        """As in `/api/tags`, `/api/show` and `/api/ps`."""
        told = {"family": self.family, "families": [self.family], "format": "gguf"}
        return told | {"parameter_size": self.parameters, "quantization_level": self.quantization}

    @property
    def entry(self) -> dict[str, Any]:
        """What every list of models says of it."""
        told = {"name": self.name, "model": self.name, "size": self.size, "digest": self.digest}
        return told | {"details": self.details}

    def tags(self) -> dict[str, Any]:
        return self.entry | ({"remote_host": self.remote_host} if self.remote_host else {})

    def shown(self) -> dict[str, Any]:
        lengths = {"context_length": self.context_length, "embedding_length": self.embedding_length}
        known = {f"{self.family}.{key}": value for key, value in lengths.items()}
        told = {"details": self.details, "model_info": {"general.architecture": self.family} | known}
        capabilities = self._kind() if self.capabilities is None else self.capabilities
        return told | ({"capabilities": list(capabilities)} if capabilities else {})

    def _kind(self) -> tuple[str, ...]:
        if "bert" in self.family:
            return ("embedding",)
        return ("completion", "thinking") if self.thinks else ("completion",)


LLAMA = Model("llama3.1:8b", digest="a" * 64)
CLOUD = Model("gpt-oss:120b-cloud", "gptoss", 384, "d" * 64, remote_host="https://ollama.com:443")
NOMIC = Model("nomic-embed-text:latest", "nomic-bert", 274_000_000, "b" * 64, 2048, 768, "", "137M", "F16")


@dataclass
class Asked:
    """One request that came in. Times by `time.monotonic`; `outcome` is None while it is answered."""

    path: str
    body: dict[str, Any]
    started: float
    ended: float | None = None
    outcome: Literal["finished", "dropped"] | None = None
    tokens_sent: int = 0

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n\n".join(str(message.get("content", "")) for message in self.body.get("messages", []))

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON schema that the reply must match, if one was sent."""
        wanted = self.body.get("format")
        return wanted if isinstance(wanted, dict) else None

    @property
    def writes(self) -> bool:
        """Whether free text is asked for: no value of a schema, and more than one token."""
        return not self.body.get("format") and self.body.get("options", {}).get("num_predict") != 1
