"""Graph state and the dependencies handed to every node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from crag.cancellation import Cancellation
from crag.events import Event
from crag.options import RunOptions
from crag.protocols import Engine, PageReader, Retriever, WebSearch
from crag.reference_systems import ReferenceSystem, find_system
from crag.text.questions import drop_document_reference, is_long_question
from crag.text.small_talk import strip_small_talk
from crag.types import Assessment, Knowledge, NodeName, Passage, Route, Ruling, Strip, Thresholds, Turn, Verdict


class GraphState(TypedDict, total=False):
    """Working memory of one run; each node returns only the keys it changes.

    `short_question` is set when the question does not fit a model's window. `rulings` are the user's overrides by
    passage id. `extra_query` is a web query that the user requested on top of what the verdicts call for; `sought`
    holds that query for each passage it found. `web_passages` may be set from the start when an earlier version of the
    answer found them. `is_fact` is set when another way to answer led to nothing, `unmatched_topic` if that was a list
    of what no passage holds, of which `passages_read` were read. `route` is the route that a model chose, `parts` how
    it divides the question. `begun_answer` is the text that the answer continues. `begin_at` is the first node of a run
    whose state comes from an earlier run. `consent` is the user's reply to a query, as in `ConsentDecision`, for a run
    that was rebuilt from its events. `meant_documents` are the ids of those that the question means by “this document”,
    to which all nodes are limited. `no_table_answers` is set when no table holds what a comparison or a list asks for.
    `lacks_web` is set when the documents may cover the question only in part and the web cannot be searched. `steps`
    are those of a question about something that it describes, set when no passage answers it as a whole; `missing_step`
    is the first one if nothing answers that.
    """

    begin_at: NodeName
    question: str
    short_question: str
    history: tuple[Turn, ...]
    standalone_question: str
    meant_documents: tuple[str, ...]
    route: Route
    parts: tuple[str, ...]
    passages: tuple[Passage, ...]
    web_passages: tuple[Passage, ...]
    verdicts: dict[int, Verdict]
    assessment: Assessment | None
    rulings: dict[int, Ruling]
    search_web: bool
    lacks_web: bool
    steps: tuple[str, ...]
    missing_step: str
    query: str
    extra_query: str
    sought: dict[int, str]
    consent: dict[str, str | None]
    strips: dict[int, tuple[Strip, ...]]
    begun_answer: str
    is_fact: bool
    no_table_answers: bool
    unmatched_topic: str
    passages_read: int
    knowledge: tuple[Knowledge, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Deps:
    """Dependencies of the nodes.

    `thresholds` turn scores into verdict words. `web` is None when the web cannot be searched; `web_missing` then gives
    the reason as a clause without a full stop. `pages` reads web results in full, where wanted. `elapsed` returns the
    seconds since the run began. `emit` records what happens, at once and in the caller's thread.
    """

    retriever: Retriever
    engine: Engine
    options: RunOptions
    thresholds: Thresholds
    stop: Cancellation
    elapsed: Callable[[], float]
    emit: Callable[[Event], None]
    web: WebSearch | None = None
    web_missing: str = ""
    pages: PageReader | None = None

    @property
    def system(self) -> ReferenceSystem | None:
        """The reference system that the run follows, if any."""
        return find_system(self.options)


def fitted_question(state: GraphState) -> str:
    """Return the question, shortened if it does not fit a model's window."""
    return state.get("short_question") or state["question"]


def question_to_answer(state: GraphState) -> str:
    """Return the question to answer: condensed if there was history, always with the text that came with it."""
    return fitted_question(state) if is_long_question(fitted_question(state)) else retrieval_question(state)


def retrieval_question(state: GraphState) -> str:
    """Return the question for retrieval and grading: condensed if needed, without greetings and “does it say”."""
    return drop_document_reference(strip_small_talk(state.get("standalone_question") or fitted_question(state)))
