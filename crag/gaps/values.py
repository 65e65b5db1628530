"""What a gap is: questions about one thing that the documents did not answer, and the pages that did."""

from __future__ import annotations

from dataclasses import dataclass

from crag.types import Action, Outcome


@dataclass(frozen=True, slots=True)
class GapPage:
    """A web page that an answer rests on."""

    title: str
    location: str


@dataclass(frozen=True, slots=True)
class GapQuestion:
    """A question, as it was asked last (`asked_at`, seconds since the epoch), and what came of it.

    `earlier` are the runs in which the same was asked before. `pages` are those that answered in any of them.
    """

    run_id: str
    question: str
    asked_at: float
    action: Action | None
    outcome: Outcome | None
    pages: tuple[GapPage, ...] = ()
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that the documents do not cover, named in a few words of its questions, the latest first."""

    topic: str
    questions: tuple[GapQuestion, ...]

    @property
    def run_ids(self) -> tuple[str, ...]:
        """Every run of it."""
        return tuple(run_id for one in self.questions for run_id in (one.run_id, *one.earlier))

    @property
    def last_asked(self) -> float:
        """In seconds since the epoch."""
        return max(one.asked_at for one in self.questions)
