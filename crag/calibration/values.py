"""Values of calibration: probe scores, the effect of thresholds with its uncertainty, and what is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crag.options import Thresholds
from crag.types import Action

# Answerable: made from a passage, or given. Unanswerable: with its passage hidden, with a fact swapped, made from
# another collection, or given. Rulings are labels of single passages.
ProbeKind = Literal["passage", "hidden", "swapped", "elsewhere", "given", "ruling"]


@dataclass(frozen=True, slots=True)
class Given:
    """A question from the user's file, and whether the collection answers it."""

    question: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """The best passage score of a question (of a ruling: its passage's score), and whether it is answerable."""

    question: str
    kind: ProbeKind
    answerable: bool
    score: float


@dataclass(frozen=True, slots=True)
class Share:
    """A share in 0..1 of `n` questions, with its 95 % bootstrap interval; None if undefined."""

    value: float | None
    n: int
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Share of each action among questions of one kind; all 0 without questions."""

    n: int
    shares: dict[Action, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """Effect of thresholds on each kind of question, and the precision of both decisions.

    Precision weights both kinds as equally frequent, however many of each were tried.
    """

    answerable: Outcomes
    unanswerable: Outcomes
    correct: Share
    incorrect: Share


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed thresholds, None if the scores do not support any; `remarks` explain the result."""

    thresholds: Thresholds | None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """One measurement of a grader on a collection ("": the whole library). `made_at` is in seconds since the epoch."""

    collection: str
    grader: str
    own: Thresholds
    scored: Sequence[Scored]
    proposal: Proposal
    made_at: float


@dataclass(frozen=True, slots=True)
class Kept:
    """Thresholds in use for a grader on a collection, measured with `n` questions."""

    collection: str
    grader: str
    thresholds: Thresholds
    made_at: float
    n: int


@dataclass(frozen=True, slots=True)
class Past:
    """A past question with the action it led to and the action it would lead to now."""

    run_id: str
    question: str
    best: float | None
    then: Action | None
    now: Action | None

    @property
    def changes(self) -> bool:
        """Whether the action would be different."""
        return self.then != self.now
