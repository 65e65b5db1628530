"""Trace of a run: the fold of its events that screen, command line and export share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from crag.events import (
    NODES,
    ActionDecided,
    AnswerChecked,
    AnswerWritten,
    ConsentAsked,
    ConsentGiven,
    EngineOpened,
    Event,
    MatchesListed,
    NodeEnded,
    NodeStarted,
    Noted,
    PartAnswered,
    PassageGraded,
    PassagesFound,
    PassagesRead,
    PromptBuilt,
    QueryWritten,
    QuestionCondensed,
    QuestionShortened,
    RouteChosen,
    RunEnded,
    RunStarted,
    SmallTalkDetected,
    StripsScored,
    SufficiencyJudged,
    TableQueried,
    ThoughtWritten,
    TokensWritten,
    VersionBegun,
    WebQuerySent,
    WebSkipped,
)
from crag.options import RunOptions
from crag.text.tables import label_row
from crag.types import (
    Action,
    Assessment,
    Citation,
    NodeName,
    Origin,
    Outcome,
    Passage,
    Route,
    RunState,
    SmallTalk,
    Strip,
    SubQuestion,
    Sufficiency,
    Support,
    TableResult,
    Thresholds,
    Usage,
    Verdict,
)

Titled = TypeVar("Titled", Passage, Citation)


def retitle(named: Titled, titles: Mapping[str, str]) -> Titled:
    """Return a passage or citation with the title that its document has by now, where it is among `titles`, by id."""
    title = titles.get(named.source_id, named.title)
    return named if title == named.title else replace(named, title=title)


@dataclass(slots=True)
class Step:
    """One execution of a node. `started` and `seconds` are in seconds; `seconds` is None while it runs.

    `kept`: it ran for the previous version, and its results are reused.
    """

    node: NodeName
    started: float
    state: RunState = "running"
    seconds: float | None = None
    kept: bool = False


@dataclass(slots=True)
class Trace:
    """Everything known about a run so far, built by applying its events in order."""

    question: str = ""
    options: RunOptions = field(default_factory=RunOptions)
    model: str = ""
    model_reason: str = ""
    embedder: str = ""
    grader: str = ""
    thresholds: Thresholds | None = None
    calibrated: bool = False
    parent: str = ""
    change: str = ""
    started_at: float = 0.0
    steps: list[Step] = field(default_factory=list)
    passages: dict[int, Passage] = field(default_factory=dict)
    found: dict[Origin, tuple[int, ...]] = field(default_factory=dict)
    sought: dict[int, str] = field(default_factory=dict)
    searched: int = 0
    scored: int = 0
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    strips: dict[int, tuple[Strip, ...]] = field(default_factory=dict)
    assessment: Assessment | None = None
    action: Action | None = None
    action_reason: str = ""
    wants_web: bool = False
    small_talk: SmallTalk | None = None
    route: Route | None = None
    route_reason: str = ""
    read: PassagesRead | None = None
    listed: MatchesListed | None = None
    table: TableResult | None = None
    parts: list[SubQuestion] = field(default_factory=list)
    shortened: QuestionShortened | None = None
    condensed: str = ""
    condensed_reason: str = ""
    meant_documents: tuple[str, ...] = ()
    query: str = ""
    query_sent: str = ""
    web_provider: str = ""
    web_skipped: str = ""
    waiting: ConsentAsked | None = None
    prompt: PromptBuilt | None = None
    pieces: int = 0
    thought: str = ""
    thought_from: float = 0.0
    thought_until: float = 0.0
    text: str = ""
    citations: tuple[Citation, ...] = ()
    outcome: Outcome | None = None
    usage: Usage = field(default_factory=Usage)
    sentences: tuple[Support, ...] = ()
    notes: list[str] = field(default_factory=list)
    state: RunState = "running"
    error: str = ""
    remedy: str = ""
    error_code: str = ""
    error_model: str = ""
    seconds: float | None = None

    @property
    def unfinished(self) -> bool:
        """Whether there is text of an incomplete answer (interrupted, truncated or stopped) that can be continued."""
        if not self.text or self.outcome == "not_answered":
            return False
        return self.state in ("stopped", "interrupted", "failed") or self.usage.answer_cut

    @property
    def trajectory(self) -> list[str]:
        """The steps taken, under the names by which trajectories are compared; bookkeeping steps are not listed."""
        return [name for step in self.steps if (name := NODES[step.node].trajectory_step)]

    @property
    def sufficiency(self) -> Sufficiency | None:
        """Whether the excerpts together answer the question; None if this was not judged or stayed open."""
        return self.assessment.sufficiency if self.assessment else None

    @property
    def nearest_passages(self) -> list[Passage]:
        """The passages found in the library, those graded best first."""
        found = [self.passages[one] for one in self.found.get("library", ())]
        scores = {one: verdict.score or 0.0 for one, verdict in self.verdicts.items()}
        return sorted(found, key=lambda passage: -scores.get(passage.id, 0.0))

    def step(self, node: NodeName) -> Step | None:
        """Return the last execution of a node; None if it never ran."""
        return next((step for step in reversed(self.steps) if step.node == node), None)

    def quote(self, passage_id: int) -> str:
        """Return the quote for which the answer cites a passage; empty if it does not cite it."""
        return next((cited.quote for cited in self.citations if cited.passage_id == passage_id), "")

    def citations_of(self, sentence: Support) -> tuple[Citation, ...]:
        """Return the sources of a sentence, each with the quote that supports it, else with the citation's own."""
        return tuple(self._quote_for(cited, sentence) for cited in self.citations if cited.n in sentence.citations)

    def _quote_for(self, cited: Citation, sentence: Support) -> Citation:
        passage = self.passages.get(cited.passage_id)
        if passage is None or not sentence.quote or sentence.quote not in passage.text:
            return cited
        row = label_row(sentence.quote, passage)
        return replace(cited, quote=sentence.quote, page=passage.page_of(sentence.quote), row=row)

    def source_ids(self) -> set[str]:
        """Return the ids of the documents that were found or are cited."""
        return {one.source_id for named in (self.passages.values(), self.citations) for one in named}

    def with_titles(self, titles: Mapping[str, str]) -> Trace:
        """Return the trace with these titles of documents, by id."""
        passages = {id_: retitle(passage, titles) for id_, passage in self.passages.items()}
        return replace(self, passages=passages, citations=tuple(retitle(one, titles) for one in self.citations))

    def apply_all(self, events: Iterable[Event]) -> Trace:
        """Apply several events and return the trace itself."""
        for event in events:
            self.apply(event)
        return self

    def apply(self, event: Event) -> None:  # noqa: C901 — one case per event, nothing nested
        """Apply one event."""
        match event:
            case RunStarted():
                self.question, self.options, self.started_at = event.question, event.options, event.started_at
            case EngineOpened():
                self.model, self.model_reason, self.embedder = event.model, event.reason, event.embedder
                self.grader, self.thresholds, self.calibrated = event.grader, event.thresholds, event.calibrated
            case VersionBegun():
                self.parent, self.change = event.parent, event.change
            case NodeStarted():
                self._start_step(event)
            case NodeEnded():
                self._end_step(event)
            case QuestionShortened():
                self.shortened = event
            case SmallTalkDetected():
                self.small_talk = event.kind
            case QuestionCondensed():
                self.condensed, self.condensed_reason = event.question, event.reason
                self.meant_documents = event.documents
            case RouteChosen():
                self.route, self.route_reason = event.route, event.reason
            case PassagesRead():
                self.read = event
            case MatchesListed():
                self.listed = event
            case TableQueried():
                self.table = event.result
            case PartAnswered():
                self.parts.append(event.part)
            case PassagesFound():
                self._find(event)
            case PassageGraded():
                self.verdicts[event.verdict.passage_id] = event.verdict
            case SufficiencyJudged():
                self.assessment = event.assessment
            case ActionDecided():
                self.action, self.action_reason, self.wants_web = event.action, event.reason, event.wants_web
            case QueryWritten():
                self.query = event.query
            case ConsentAsked():
                self._wait_for_consent(event)
            case ConsentGiven():
                self.waiting, self.state = None, "running"
            case WebQuerySent():
                self.query_sent, self.web_provider = event.query, event.provider
            case WebSkipped():
                self.web_skipped = event.reason
            case StripsScored():
                self.strips[event.passage_id] = event.strips
            case PromptBuilt():
                self.prompt = event
            case ThoughtWritten():
                self._think(event)
            case TokensWritten():
                self.text += event.text
                self.pieces += 1
            case AnswerWritten():
                self.text, self.citations = event.text, event.citations
                self.outcome, self.usage = event.outcome, event.usage
            case AnswerChecked():
                self.sentences = event.sentences
            case Noted():
                self.notes.append(event.text)
            case RunEnded():
                self._end(event)

    def _find(self, event: PassagesFound) -> None:
        self.sought |= event.sought
        self.passages |= {passage.id: passage for passage in event.passages}
        self.found[event.origin] = tuple(passage.id for passage in event.passages)
        if event.origin == "library":
            self.searched, self.scored = event.searched, event.scored

    def _start_step(self, event: NodeStarted) -> None:
        """Start a step; a step that waited for the user and starts again stays the same one."""
        if self.steps and self.steps[-1].node == event.node and self.steps[-1].seconds is None:
            self.steps[-1].state = "running"
        else:
            self.steps.append(Step(event.node, event.at, kept=bool(self.parent) and not self.model))

    def _think(self, event: ThoughtWritten) -> None:
        if not self.thought:
            self.thought_from = event.at
        self.thought += event.text
        self.thought_until = event.at

    def _wait_for_consent(self, event: ConsentAsked) -> None:
        self.waiting, self.state = event, "waiting"
        if self.steps:
            self.steps[-1].state = "waiting"

    def _end_step(self, event: NodeEnded) -> None:
        if step := self.step(event.node):
            step.seconds = event.at - step.started
            step.state = "done"

    def _end(self, event: RunEnded) -> None:
        self.state, self.seconds, self.waiting = event.state, event.at, None
        self.error, self.remedy, self.error_code = event.error, event.remedy, event.error_code
        self.error_model = event.error_model
        for step in self.steps:
            if step.seconds is None:
                step.seconds = event.at - step.started
                step.state = event.state
