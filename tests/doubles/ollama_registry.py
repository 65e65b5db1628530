"""The models that the scripted Ollama server can pull, in layers, with faults on the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.doubles.ollama_values import LLAMA, NOMIC, Model

_STEPS = 20


@dataclass
class Mishap:
    """How an attempt to pull ends: as soon as `after` of all bytes are there (0 to 1), with or without a word.

    `kind`: a connection reset, a clean end without `success`, silence, or a line that says `error`.
    """

    after: float
    kind: Literal["reset", "close", "hang", "error"] = "reset"
    error: str = ""


@dataclass
class Offer:
    """A model to pull. `seconds` are what all of it takes, spread over `steps` lines; `there` are the bytes so far.

    Its layers are its weights and two small ones, one after the other. `mishaps` end the next attempts, one each.
    """

    model: Model
    seconds: float = 0.0
    steps: int = _STEPS
    mishaps: deque[Mishap] = field(default_factory=deque)
    there: int = 0
    silence: float = 0.0  # seconds before anything is said

    @property
    def layers(self) -> dict[str, int]:
        """The sizes by their digests; together those of the model."""
        small = {"sha256:" + "e" * 64: 12_000, "sha256:" + "f" * 64: 500}
        return {f"sha256:{self.model.digest}": self.model.size - sum(small.values()), **small}

    def lines(self) -> Iterator[tuple[float, dict[str, Any] | Mishap]]:
        """Seconds to wait, and then the next line or the mishap."""
        mishap = self.mishaps.popleft() if self.mishaps else None
        yield self.silence, {"status": "pulling manifest"}
        for layer, size, done in self._progress():
            if mishap and self.there >= mishap.after * self.model.size:
                yield 0.0, mishap
                return
            line = {"status": f"pulling {layer[7:19]}", "digest": layer, "total": size}
            yield self.seconds / self.steps, line | ({"completed": done} if done else {})
        for status in ("verifying sha256 digest", "writing manifest", "success"):
            yield 0.0, {"status": status}

    def _progress(self) -> Iterator[tuple[str, int, int]]:
        """Layer, its size, how much of it is there: from where the last attempt ended."""
        before = 0
        for layer, size in self.layers.items():
            done = min(size, max(0, self.there - before))
            yield layer, size, done
            while done < size:
                step = max(1, self.model.size // self.steps)
                yield layer, size, (done := min(size, done + step))
                self.there = max(self.there, before + done)
            before += size


def usual_offers() -> dict[str, Offer]:
    """The models that people begin with."""
    smaller = {"llama3.2:3b": (2_000_000_000, "3.2B"), "llama3.2:1b": (1_300_000_000, "1.2B")}
    models = [LLAMA, NOMIC]
    for name, (size, parameters) in smaller.items():
        models.append(replace(LLAMA, name=name, size=size, parameters=parameters, digest=name[-2] * 64))
    return {model.name: Offer(model) for model in models}
