"""Runs as events, as the graph emits them."""

from __future__ import annotations

from crag.events import (
    ActionDecided,
    AnswerChecked,
    AnswerWritten,
    ConsentAsked,
    EngineOpened,
    Event,
    NodeEnded,
    NodeStarted,
    PassageGraded,
    PassagesFound,
    PromptBuilt,
    QueryWritten,
    RunEnded,
    RunStarted,
    StripsScored,
    TokensWritten,
    VersionBegun,
    WebQuerySent,
)
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.types import NodeName, RunState, Strip, Support, Thresholds, Usage, Verdict
from tests.doubles.engine import passage

THRESHOLDS = Thresholds(0.31, 0.59)
FOUND = (passage(1), passage(2))
RESULT = passage(-1, origin="web", location="https://example.org/", page=None)


def node(name: NodeName, start: float, end: float, *events: Event) -> list[Event]:
    return [NodeStarted(name, start), *events, NodeEnded(name, end)]


def begun(**options: object) -> list[Event]:
    chosen = RunOptions(**options)  # type: ignore[arg-type]
    return [RunStarted("Who won?", chosen, 1_000.0), EngineOpened("Llama", "Nomic", "score:llama", THRESHOLDS)]


def graded(first: float, second: float = 0.02) -> list[Event]:
    verdicts = [
        Verdict(one.id, THRESHOLDS.verdict_for(score), score, "Because.")
        for one, score in zip(FOUND, (first, second), strict=True)
    ]
    return [
        *node("retrieve", 0.0, 0.02, PassagesFound("library", FOUND, 1284, scored=20)),
        *node("grade_documents", 0.02, 1.72, *map(PassageGraded, verdicts)),
    ]


def written(start: float) -> list[Event]:
    answer = AnswerWritten("It did [1].", (), "documents", Usage(700, 43, "stop"))
    return [
        *node("generate", start, start + 1.3, PromptBuilt(612, 8192, 0), TokensWritten("It did"), answer),
        *node("check_answer", start + 1.3, start + 1.32, AnswerChecked((Support("It did [1].", "supported", (1,)),))),
    ]


def refined(start: float) -> list[Event]:
    strips = (Strip("Kept.", 0.9, kept=True), Strip("Struck.", 0.1, kept=False))
    return node("refine_knowledge", start, start + 0.2, StripsScored(1, strips))


def ended(at: float, state: RunState = "done", error: str = "") -> list[Event]:
    return [RunEnded(state, at, error)]


def of(*events: list[Event]) -> Trace:
    return Trace().apply_all(event for group in events for event in group)


def correct(**options: object) -> Trace:
    """Answered from the documents."""
    decided = node("decide", 1.72, 1.72, ActionDecided("correct", "1 of 2 passages is relevant.", wants_web=False))
    return of(begun(**options), graded(0.94), decided, refined(1.72), written(1.92), ended(3.3))


def incorrect() -> Trace:
    """Answered from the web."""
    return of(
        begun(web="auto"),
        graded(0.06),
        node("decide", 1.72, 1.72, ActionDecided("incorrect", "Best 0.06.", wants_web=True)),
        node("transform_query", 1.72, 2.6, QueryWritten("winner 2024")),
        node(
            "web_search",
            2.6,
            3.4,
            WebQuerySent("winner of 2024", "Tavily", "api.tavily.com"),
            PassagesFound("web", (RESULT,), 3),
            PassageGraded(Verdict(-1, "relevant", 0.97, "Names the winner.")),
        ),
        refined(3.4),
        written(3.6),
        ended(4.9),
    )


def halted(state: RunState) -> Trace:
    """Ended while it was graded."""
    return of(begun(), [NodeStarted("retrieve", 0.0), NodeEnded("retrieve", 0.1)], graded(0.9)[3:4], ended(0.5, state))


def waiting() -> Trace:
    """Waits for a person to let the query go."""
    asked = ConsentAsked("winner 2024", "Tavily", "api.tavily.com", 2.7)
    decided = node("decide", 1.72, 1.72, ActionDecided("incorrect", "Best 0.06.", wants_web=True))
    written_query = node("transform_query", 1.72, 2.6, QueryWritten("winner 2024"))
    return of(begun(web="ask"), graded(0.06), decided, written_query, [NodeStarted("web_search", 2.6), asked])


def without_web() -> Trace:
    """Wanted the web and could not have it; there is nothing to refine."""
    decided = node("decide", 1.72, 1.72, ActionDecided("incorrect", "Best 0.06.", wants_web=True))
    return of(begun(), graded(0.06), decided, written(1.72), ended(3.1))


def version() -> Trace:
    """Went on from before the decision."""
    decided = node("decide", 0.01, 0.01, ActionDecided("ambiguous", "You dropped 1.", wants_web=False))
    opened = begun()[1:]
    return of(
        begun()[:1],
        [VersionBegun("parent", "you left out p. 1", kept=True)],
        graded(0.94),
        opened,
        decided,
        written(0.1),
    )
