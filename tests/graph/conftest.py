"""Runs the real graph over doubles and returns its trace."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from crag.cancellation import Cancellation
from crag.events import RunEnded, RunStarted
from crag.graph.build import build_graph
from crag.graph.state import Deps
from crag.options import RunOptions
from crag.protocols import CoverageCheck, PageReader, QueryWriter, Summarizer, WebSearch
from crag.runs.trace import Trace
from crag.tables.calculator import TableCalculator
from crag.tables.data_table import TableCache
from crag.types import Assessment, Passage, Turn
from tests.doubles.engine import THRESHOLDS, ListRetriever, QuotingWriter, TableAssessor, TableGrader, engine, passage


@dataclass
class Bench:
    """One question through the graph. `scores` grade library passages 1, 2, … and web passages -1, -2, …."""

    scores: dict[int, float | None]
    options: RunOptions = field(default_factory=RunOptions)
    web: WebSearch | None = None
    web_missing: str = "Web search is off"
    writer: QuotingWriter = field(default_factory=QuotingWriter)
    passages: list[Passage] | None = None
    consent: Any = None
    pages: PageReader | None = None
    state: dict[str, Any] = field(default_factory=dict)
    engine_name: str = "double"
    coverage: CoverageCheck | None = None
    quoting_writer: QuotingWriter | None = None
    assessment: Assessment | None = None
    summarizer: Summarizer | None = None
    query_writer: QueryWriter | None = None

    def ask(self, question: str = "What holds?", history: tuple[Turn, ...] = ()) -> Trace:
        ids = [number for number in self.scores if number > 0]
        self.retriever = ListRetriever([passage(n) for n in ids] if self.passages is None else self.passages)
        self.grader = TableGrader(self.scores)
        self.assessor = TableAssessor(self.grader, self.assessment) if self.assessment else None
        played = replace(
            engine(self.grader, self.writer, self.engine_name),
            coverage=self.coverage,
            quoting_writer=self.quoting_writer,
            assessor=self.assessor,
            summarizer=self.summarizer,
            calculator=TableCalculator(TableCache(), self.query_writer),
        )
        self.rewriter = played.rewriter
        trace = Trace()
        given = (self.options, THRESHOLDS, Cancellation(), lambda: 0.0, trace.apply)
        deps = Deps(self.retriever, played, *given, self.web, self.web_missing, self.pages)
        trace.apply(RunStarted(question, self.options, 0.0))
        start = {"question": question, "history": history} | self.state
        graph, config = build_graph(InMemorySaver()), {"configurable": {"thread_id": "one"}}
        graph.invoke(start, config, context=deps)
        for waiting in graph.get_state(config).interrupts:
            answer = {"query": self.consent(waiting.value["query"]), "reason": "No."}
            graph.invoke(Command(resume=answer), config, context=deps)
        trace.apply(RunEnded("done", 0.0))
        return trace


@pytest.fixture
def bench() -> type[Bench]:
    return Bench
