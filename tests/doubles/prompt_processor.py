"""The arithmetic of a model server's speed: when prompts that are processed in parallel are done."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

_ROUNDING = 1e-9  # of a token


@dataclass
class PromptProcessor:
    """Processes prompts at `rate` tokens a second, which those in work share equally unless each has its own.

    Times are in seconds by any one clock that never goes back; nothing waits here. Not safe to share between threads.
    """

    rate: float
    shared: bool = True
    _left: dict[Hashable, float] = field(default_factory=dict)
    _ended: dict[Hashable, float] = field(default_factory=dict)
    _at: float = 0.0

    def begin(self, prompt: Hashable, tokens: float, now: float) -> None:
        """A prompt with so many tokens to process comes in."""
        self._settle(now)
        self._left[prompt] = tokens

    def due(self, prompt: Hashable, now: float) -> float:
        """When it is, or was, through, if no other comes in before that."""
        self._settle(now)
        if prompt in self._ended:
            return self._ended[prompt]
        own = self._left[prompt]
        others = self._left.values() if self.shared else [own]
        return self._at + sum(min(own, other) for other in others) / self.rate

    def end(self, prompt: Hashable, now: float) -> float:
        """Forgets it, through or not; the tokens that were left."""
        self._settle(now)
        self._ended.pop(prompt, None)
        return self._left.pop(prompt, 0.0)

    def _settle(self, now: float) -> None:
        """Brings what is left up to `now`, one end of a prompt after the other, since each makes the others faster."""
        while self._left:
            each = self.rate / (len(self._left) if self.shared else 1)
            step = min(min(self._left.values()) / each, now - self._at)
            self._at += step
            self._left = {prompt: tokens - step * each for prompt, tokens in self._left.items()}
            through = [prompt for prompt, tokens in self._left.items() if tokens <= _ROUNDING]
            for prompt in through:
                del self._left[prompt]
                self._ended[prompt] = self._at
            if not through:
                break
        self._at = now
