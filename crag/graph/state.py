"""What flows through the graph, and what its nodes are given to work with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from crag.events import Node
from crag.options import RunOptions, Thresholds
from crag.protocols import Engine, PageReader, Retriever, WebSearch
from crag.questions import is_long
from crag.stopping import Stop
from crag.types import Knowledge, Passage, Ruling, Strip, Turn, Verdict


class State(TypedDict, total=False):
    """The working memory of one run; each node returns only the keys it changes.

    `short_question` is there where the question does not fit a model's window. `rulings` are what a person decided of
    passages, by id. `extra_query` is a query that a person asked for beside what the verdicts call for, `sought` what
    was sought with it, by the ids of the passages found. `web_passages` may be there from the start: found for an
    earlier version of the answer, as may `begun_answer`, the text that the answer is to go on from. `begin_at` is the
    node that a run begins with whose state comes from an earlier one.
    """

    begin_at: Node
    question: str
    short_question: str
    history: tuple[Turn, ...]
    standalone_question: str
    passages: tuple[Passage, ...]
    web_passages: tuple[Passage, ...]
    verdicts: dict[int, Verdict]
    rulings: dict[int, Ruling]
    search_web: bool
    query: str
    extra_query: str
    sought: dict[int, str]
    strips: dict[int, tuple[Strip, ...]]
    begun_answer: str
    knowledge: tuple[Knowledge, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Deps:
    """What the nodes work with.

    `thresholds` turn scores into words. `web` is None when it cannot be searched; `web_missing` then says why, in a
    clause without its full stop. `pages` reads what the web search found, where that is wanted. `elapsed` gives the
    seconds since the run began.
    """

    retriever: Retriever
    engine: Engine
    options: RunOptions
    thresholds: Thresholds
    stop: Stop
    elapsed: Callable[[], float]
    web: WebSearch | None = None
    web_missing: str = ""
    pages: PageReader | None = None


def asked(state: State) -> str:
    """The question as far as it fits into a model's window."""
    return state.get("short_question") or state["question"]


def to_answer(state: State) -> str:
    """The question that is answered: condensed if there was history, but never without the text that came with it."""
    return asked(state) if is_long(asked(state)) else standalone(state)


def standalone(state: State) -> str:
    """The question that is retrieved and graded by: condensed if there was history or it is long, else as asked."""
    return state.get("standalone_question") or asked(state)
