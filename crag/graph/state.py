"""What flows through the graph, and what its nodes are given to work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from crag.protocols import Engine, Retriever, WebSearch
from crag.stopping import Stop
from crag.types import Knowledge, Passage, RunOptions, Strip, Turn, Verdict

Consent = Callable[[str], str | None]


class State(TypedDict, total=False):
    """The working memory of one run; each node returns only the keys it changes."""

    question: str
    history: tuple[Turn, ...]
    standalone_question: str
    passages: tuple[Passage, ...]
    web_passages: tuple[Passage, ...]
    verdicts: dict[int, Verdict]
    search_web: bool
    query: str
    strips: dict[int, tuple[Strip, ...]]
    knowledge: tuple[Knowledge, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Deps:
    """What the nodes work with.

    `web` is None when it cannot be searched; `web_missing` then says why, in a clause without its full stop.
    `consent` shows a person the query and returns it, perhaps edited, or None for no; `elapsed` gives the seconds
    since the run began.
    """

    retriever: Retriever
    engine: Engine
    options: RunOptions
    stop: Stop
    elapsed: Callable[[], float]
    web: WebSearch | None = None
    web_missing: str = ""
    consent: Consent | None = None


def standalone(state: State) -> str:
    """The question that is retrieved and graded by: condensed if there was history, else as asked."""
    return state.get("standalone_question") or state["question"]
