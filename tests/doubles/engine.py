"""Scripted players for each role of a run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from crag.cancellation import Cancellation
from crag.options import RunOptions
from crag.protocols import CondensedQuestion, Engine, PassageFinder, PromptFit, ReplyPiece, Retrieval
from crag.types import Assessment, Grade, Knowledge, Passage, Strip, Thresholds, Turn, Usage

THRESHOLDS = Thresholds(lower=0.3, upper=0.6)


def passage(number: int, text: str = "", **changes: object) -> Passage:
    text = text or f"Passage {number} says that fact{number} holds."
    given = {"title": f"Paper {number}.pdf", "location": f"paper{number}.pdf", "page": number}
    source = str(changes.pop("source_id", f"s{number}"))
    return Passage(number, source, text=text, context=f"Before. {text} After.", **(given | changes))


@dataclass
class ListRetriever:
    passages: Sequence[Passage] = ()
    queries: list[str] = field(default_factory=list)
    said: str = ""
    as_asked: str = ""  # of the last query

    def retrieve(
        self, query: str, options: RunOptions, stop: Cancellation | None = None, *, as_asked: str = ""
    ) -> Retrieval:
        self.queries.append(query)
        self.as_asked = as_asked
        return Retrieval(list(self._within(options))[: options.k], self.said)

    def size(self, options: RunOptions) -> int:
        return len(list(self._within(options)))

    def titles(self, options: RunOptions) -> list[str]:
        return list(dict.fromkeys(passage.title for passage in self._within(options)))

    def read_all(self, options: RunOptions, *, with_tables: bool = False) -> Iterator[Passage]:
        return (one for one in self._within(options) if " | " in one.text or not with_tables)

    def _within(self, options: RunOptions) -> Iterator[Passage]:
        return (one for one in self.passages if not options.source_ids or one.source_id in options.source_ids)


@dataclass
class TableGrader:
    """Scores by passage id; those not in the table score 0."""

    scores: dict[int, float | None]
    name: str = "table"
    thresholds: Thresholds = THRESHOLDS
    graded: list[int] = field(default_factory=list)
    complete: bool | None = None
    questions: dict[int, str] = field(default_factory=dict)
    shown: dict[int, str] = field(default_factory=dict)

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        for index, item in enumerate(passages):
            stop.check()
            self.graded.append(item.id)
            self.questions[item.id], self.shown[item.id] = question, item.text
            yield index, Grade(self.scores.get(item.id, 0.0), f"Because of {item.id}.", complete=self.complete)


@dataclass
class TableAssessor:
    """Passes on the grades, then the assessment; `questions` are those it was asked."""

    grader: TableGrader
    assessment: Assessment
    questions: list[str] = field(default_factory=list)

    def assess(
        self, question: str, passages: Sequence[Passage], stop: Cancellation, **_written_from: object
    ) -> Iterator[tuple[int, Grade] | Assessment]:
        self.questions.append(question)
        yield from self.grader.grade(question, passages, stop)
        yield self.assessment


class KeepEverySecond:
    """Cuts at full stops and keeps the first, third, … strip."""

    def refine(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[tuple[int, tuple[Strip, ...]]]:
        for index, item in enumerate(passages):
            texts = [text.strip() + "." for text in item.text.split(".") if text.strip()]
            yield index, tuple(Strip(text, 1.0 - n % 2, n % 2 == 0) for n, text in enumerate(texts))


@dataclass
class MarkingRewriter:
    seen: list[str] = field(default_factory=list)

    def condense(
        self, question: str, history: Sequence[Turn], find_passages: PassageFinder, stop: Cancellation
    ) -> CondensedQuestion:
        return CondensedQuestion(f"{question} (about {history[0].text})", "It refers back.")

    def rewrite(self, question: str, options: RunOptions, stop: Cancellation) -> str:
        self.seen.append(question)
        return f"{options.rewrite} of {question}"


@dataclass
class QuotingWriter:
    """Quotes each text it is given with its number; `reply` says something else instead.

    `seen` is the server's count of a prompt that it did not read whole; `repeated` as in `Piece`.
    """

    reply: Callable[[Sequence[Knowledge]], Sequence[str]] | None = None
    finish: str | None = "stop"
    fit: PromptFit = field(default_factory=lambda: PromptFit(10, 100, 0))
    given: list[Knowledge] = field(default_factory=list)
    gate: threading.Event | None = None
    seen: int | None = None
    repeated: int = 0

    def write(
        self,
        question: str,
        knowledge: Sequence[Knowledge],
        history: Sequence[Turn],
        stop: Cancellation,
        *,
        partial_answer: str = "",
    ) -> Iterator[PromptFit | ReplyPiece]:
        self.given = list(knowledge)
        yield self.fit
        if partial_answer:
            yield ReplyPiece(partial_answer)
        pieces = self.reply(knowledge) if self.reply else [f"{item.text} [{item.n}] " for item in knowledge]
        for number, piece in enumerate(pieces):
            stop.check()
            yield ReplyPiece(piece)
            if number == 0 and self.gate:
                while not self.gate.wait(0.01):
                    stop.check()
        yield ReplyPiece(
            "",
            Usage(self.seen or 10, len(pieces), self.finish, prompt_cut=self.seen is not None),
            repeated=self.repeated,
        )


@dataclass
class ListWeb:
    results: Sequence[Passage] = ()
    failure: Exception | None = None
    queries: list[str] = field(default_factory=list)
    name: str = "Tavily"
    host: str = "api.tavily.com"

    def search(self, query: str, results: int, stop: Cancellation) -> list[Passage]:
        self.queries.append(query)
        if self.failure:
            raise self.failure
        return list(self.results[:results])


def engine(grader: TableGrader, writer: QuotingWriter | None = None, name: str = "double") -> Engine:
    return Engine(name, "Double", grader, KeepEverySecond(), MarkingRewriter(), writer or QuotingWriter())
