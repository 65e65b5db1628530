"""What calibration speaks in: probes, their scores, what is proposed and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crag.options import Thresholds
from crag.types import Action

# Answerable: made from a passage, or given. Unanswerable: its passage hidden, a fact in it swapped, from elsewhere,
# or given. Rulings are labels of single passages.
ProbeKind = Literal["passage", "hidden", "swapped", "elsewhere", "given", "ruling"]


@dataclass(frozen=True, slots=True)
class Given:
    """A question of a person's file, and whether the collection answers it."""

    question: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """The best score that a question's passages got (of a ruling: that passage's), and what would be right."""

    question: str
    kind: ProbeKind
    answerable: bool
    score: float


@dataclass(frozen=True, slots=True)
class Share:
    """A share in 0..1 of `n` questions, with the interval that 95 % of bootstrap samples lie in; None of nothing."""

    value: float | None
    n: int
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What thresholds do to questions of one kind: the share of each action; all 0 where there is no question."""

    n: int
    shares: dict[Action, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """What thresholds do: to either kind of question, and how far their two words can be trusted.

    Precision counts both kinds as equally frequent, however many of each were tried.
    """

    answerable: Outcomes
    unanswerable: Outcomes
    correct: Share
    incorrect: Share


@dataclass(frozen=True, slots=True)
class Proposal:
    """The thresholds proposed, None where the scores do not carry any; `remarks` say why, and what to know of them."""

    thresholds: Thresholds | None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """One measurement of a grader on a collection ("": the whole library). `made_at` in seconds since the epoch."""

    collection: str
    grader: str
    own: Thresholds
    scored: Sequence[Scored]
    proposal: Proposal
    made_at: float


@dataclass(frozen=True, slots=True)
class Kept:
    """Thresholds in use for a grader on a collection; `n` questions were behind them."""

    collection: str
    grader: str
    thresholds: Thresholds
    made_at: float
    n: int


@dataclass(frozen=True, slots=True)
class Past:
    """A question asked before: the action it led to, and the one it would lead to now."""

    run_id: str
    question: str
    best: float | None
    then: Action | None
    now: Action | None

    @property
    def changes(self) -> bool:
        """Whether it would be answered another way."""
        return self.then != self.now
