"""Coverage gap values: questions on one topic that the documents did not answer, and the pages that did."""

from __future__ import annotations

from dataclasses import dataclass

from crag.types import Action, Outcome


@dataclass(frozen=True, slots=True)
class GapPage:
    """A web page that an answer cites."""

    title: str
    location: str


@dataclass(frozen=True, slots=True)
class GapQuestion:
    """A question as last asked (`asked_at`, seconds since the epoch), and its result.

    `earlier` are the ids of earlier runs of the same question. `pages` are those that answered in any of these runs.
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
    """A topic that the documents do not cover, named by a few words of its questions, latest first."""

    topic: str
    questions: tuple[GapQuestion, ...]

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The ids of all its runs."""
        return tuple(run_id for one in self.questions for run_id in (one.run_id, *one.earlier))

    @property
    def last_asked(self) -> float:
        """Seconds since the epoch."""
        return max(one.asked_at for one in self.questions)
