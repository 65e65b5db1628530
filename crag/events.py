"""The events of a run. The trace of a run is the list of its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from crag.options import RunOptions
from crag.types import (
    Action,
    Assessment,
    Citation,
    Match,
    NodeName,
    Origin,
    Outcome,
    Passage,
    Route,
    RunState,
    SmallTalk,
    Strip,
    SubQuestion,
    Support,
    TableResult,
    Thresholds,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What a node of the graph is called.

    `activity` names it while it runs, `meaning` explains it in the legend of the trace (empty: not listed there),
    `restart` completes “again from …” (empty: no run starts again from it), and `trajectory_step` is its name in
    trajectories (empty: not listed there).
    """

    title: str
    activity: str
    meaning: str = ""
    restart: str = ""
    trajectory_step: str = ""
    asks_model: bool = False


NODES: dict[NodeName, NodeSpec] = {
    "reply": NodeSpec(title="Reply", activity="Replying"),
    "condense_question": NodeSpec(
        title="Understand the question",
        activity="Understanding the question",
        restart="the beginning",
        trajectory_step="condense_question",
        asks_model=True,
    ),
    "read_documents": NodeSpec(
        title="Read everything",
        activity="Reading every passage",
        trajectory_step="read_documents",
        asks_model=True,
    ),
    "list_matches": NodeSpec(title="List matches", activity="Reading every passage", trajectory_step="list_matches"),
    "query_table": NodeSpec(
        title="Query the table", activity="Querying the tables", trajectory_step="query_table", asks_model=True
    ),
    "answer_parts": NodeSpec(
        title="Answer in steps", activity="Answering each part", trajectory_step="answer_parts", asks_model=True
    ),
    "retrieve": NodeSpec(
        title="Find passages",
        activity="Searching your documents",
        meaning="those nearest to your question",
        restart="finding passages",
        trajectory_step="retrieve_documents",
    ),
    "grade_documents": NodeSpec(
        title="Grade",
        activity="Grading passages",
        meaning="each passage gets a verdict",
        restart="grading",
        trajectory_step="grade_document_retrieval",
        asks_model=True,
    ),
    "decide": NodeSpec(title="Decide", activity="Deciding", meaning="do your documents answer?", restart="deciding"),
    "transform_query": NodeSpec(
        title="Rewrite query",
        activity="Rewriting the query",
        meaning="if they do not",
        restart="rewriting the query",
        trajectory_step="transform_query",
        asks_model=True,
    ),
    "web_search": NodeSpec(
        title="Search the web",
        activity="Searching the web",
        meaning="only when you allow it",
        restart="searching the web",
        trajectory_step="web_search",
        asks_model=True,
    ),
    "refine_knowledge": NodeSpec(
        title="Keep excerpts",
        activity="Keeping excerpts",
        meaning="only what helps to answer",
        restart="keeping excerpts",
        asks_model=True,
    ),
    "generate": NodeSpec(
        title="Write",
        activity="Writing the answer",
        meaning="with citations you can open",
        restart="writing",
        trajectory_step="generate_answer",
        asks_model=True,
    ),
    "check_answer": NodeSpec(title="Check", activity="Checking the answer", meaning="each sentence against its source"),
}
"""The nodes in the order in which the graph can reach them."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The question and the options of the run. `started_at` is in seconds since the epoch."""

    question: str
    options: RunOptions
    started_at: float
    type: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class EngineOpened:
    """Display names of the chat model, embedder and grader. `calibrated`: the thresholds were fitted in this home.

    `reason` says why this model answers; it is empty unless the model was chosen automatically.
    """

    model: str
    embedder: str
    grader: str = ""
    thresholds: Thresholds | None = None
    calibrated: bool = False
    reason: str = ""
    type: Literal["engine_opened"] = "engine_opened"


@dataclass(frozen=True, slots=True)
class NodeStarted:
    """A node started, `at` seconds after the start of the run."""

    node: NodeName
    at: float
    type: Literal["node_started"] = "node_started"


@dataclass(frozen=True, slots=True)
class NodeEnded:
    """A node ended, `at` seconds after the start of the run."""

    node: NodeName
    at: float
    type: Literal["node_ended"] = "node_ended"


@dataclass(frozen=True, slots=True)
class SmallTalkDetected:
    """The message asks nothing of the documents, so nothing is searched."""

    kind: SmallTalk
    type: Literal["small_talk_detected"] = "small_talk_detected"


@dataclass(frozen=True, slots=True)
class RouteChosen:
    """How the question is answered, and why. A later choice replaces an earlier one, which led to nothing."""

    route: Route
    reason: str
    type: Literal["route_chosen"] = "route_chosen"


@dataclass(frozen=True, slots=True)
class PassagesRead:
    """Progress of reading whole documents: `read` of `of` passages."""

    read: int
    of: int
    type: Literal["passages_read"] = "passages_read"


@dataclass(frozen=True, slots=True)
class MatchesListed:
    """Every match of what the question asks to list, in document order; `topic` is what was looked for."""

    topic: str
    matches: tuple[Match, ...]
    type: Literal["matches_listed"] = "matches_listed"


@dataclass(frozen=True, slots=True)
class TableQueried:
    """A query over a table of the documents returned this result."""

    result: TableResult
    type: Literal["table_queried"] = "table_queried"


@dataclass(frozen=True, slots=True)
class PartAnswered:
    """One part of the question has been answered, or its passages do not answer it."""

    part: SubQuestion
    type: Literal["part_answered"] = "part_answered"


@dataclass(frozen=True, slots=True)
class QuestionCondensed:
    """The follow-up question, rewritten to stand alone; `reason` says why it was changed or not.

    `documents` are the ids of those that it means by “this document”, to which it is limited.
    """

    question: str
    reason: str = ""
    documents: tuple[str, ...] = ()
    type: Literal["question_condensed"] = "question_condensed"


@dataclass(frozen=True, slots=True)
class QuestionShortened:
    """The question exceeds a model's window: `left_out` of its `tokens` tokens were dropped from the middle."""

    tokens: int
    left_out: int
    type: Literal["question_shortened"] = "question_shortened"


@dataclass(frozen=True, slots=True)
class ThoughtWritten:
    """The next piece of the model's reasoning, `at` seconds into the run. It is never part of the answer."""

    text: str
    at: float = 0.0
    type: Literal["thought_written"] = "thought_written"


@dataclass(frozen=True, slots=True)
class PassagesFound:
    """Passages found in the library (`searched`: passages searched) or on the web (`searched`: results returned).

    `again`: they were reused from an earlier version of the answer, and nothing was sent this time. `sought` maps
    passage ids to what was searched for, where that differs from the question. `scored` is the number of candidates
    that the evaluator scored.
    """

    origin: Origin
    passages: tuple[Passage, ...]
    searched: int
    again: bool = False
    sought: dict[int, str] = field(default_factory=dict)
    scored: int = 0
    type: Literal["passages_found"] = "passages_found"


@dataclass(frozen=True, slots=True)
class PassageGraded:
    """One verdict, reported as soon as it is available."""

    verdict: Verdict
    type: Literal["passage_graded"] = "passage_graded"


@dataclass(frozen=True, slots=True)
class SufficiencyJudged:
    """Whether the best excerpts of the library together answer the question; decided once in a run, or not at all."""

    assessment: Assessment
    type: Literal["sufficiency_judged"] = "sufficiency_judged"


@dataclass(frozen=True, slots=True)
class ActionDecided:
    """The action that follows from the verdicts, and the reason in one sentence with figures.

    `action` is None if the policy is off. `wants_web` asks for a web search.
    """

    action: Action | None
    reason: str
    wants_web: bool
    type: Literal["action_decided"] = "action_decided"


@dataclass(frozen=True, slots=True)
class QueryWritten:
    """The web search query, written from the question alone."""

    query: str
    type: Literal["query_written"] = "query_written"


@dataclass(frozen=True, slots=True)
class ConsentAsked:
    """The run waits for consent to send the query to `host`, `at` seconds after its start.

    `from_answer`: the query is based on a sentence of an answer, so it may contain words from documents.
    """

    query: str
    provider: str
    host: str
    at: float
    from_answer: bool = False
    type: Literal["consent_asked"] = "consent_asked"


@dataclass(frozen=True, slots=True)
class ConsentGiven:
    """The user's decision: the query to send, possibly edited, or None to use only their documents."""

    query: str | None
    type: Literal["consent_given"] = "consent_given"


@dataclass(frozen=True, slots=True)
class VersionBegun:
    """This run answers the question of run `parent` again. `change` describes the difference in the user's words.

    If `kept` is true, the events before `decide` are those of the parent.
    """

    parent: str
    change: str
    kept: bool
    type: Literal["version_begun"] = "version_begun"


@dataclass(frozen=True, slots=True)
class WebQuerySent:
    """The query has left the machine."""

    query: str
    provider: str
    host: str = ""
    type: Literal["web_query_sent"] = "web_query_sent"


@dataclass(frozen=True, slots=True)
class WebSkipped:
    """A web search was wanted but was skipped or failed; `reason` is in the user's words."""

    reason: str
    type: Literal["web_skipped"] = "web_skipped"


@dataclass(frozen=True, slots=True)
class StripsScored:
    """The strips of one passage, kept and discarded, in document order."""

    passage_id: int
    strips: tuple[Strip, ...]
    type: Literal["strips_scored"] = "strips_scored"


@dataclass(frozen=True, slots=True)
class PromptBuilt:
    """Size of the writer's prompt in tokens.

    `window` is the size of the context window in tokens (0: no window), `left_out` the number of strips that did not
    fit.
    """

    tokens: int
    window: int
    left_out: int
    type: Literal["prompt_built"] = "prompt_built"


@dataclass(frozen=True, slots=True)
class TokensWritten:
    """The next piece of the answer."""

    text: str
    type: Literal["tokens_written"] = "tokens_written"


@dataclass(frozen=True, slots=True)
class AnswerWritten:
    """The complete answer with its citations, invalid ones removed. It replaces the streamed pieces."""

    text: str
    citations: tuple[Citation, ...]
    outcome: Outcome
    usage: Usage
    type: Literal["answer_written"] = "answer_written"


@dataclass(frozen=True, slots=True)
class AnswerChecked:
    """How well each sentence of the answer is supported."""

    sentences: tuple[Support, ...]
    type: Literal["answer_checked"] = "answer_checked"


@dataclass(frozen=True, slots=True)
class Noted:
    """A note shown below the answer."""

    text: str
    type: Literal["noted"] = "noted"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The last event of every run. `error` is empty unless the run failed; `remedy` says what to do next.

    `error_model` is the model to download or to allow, if that resolves the error.
    """

    state: RunState
    at: float
    error: str = ""
    remedy: str = ""
    error_code: str = ""
    error_model: str = ""
    type: Literal["run_ended"] = "run_ended"


Event = (
    RunStarted
    | EngineOpened
    | NodeStarted
    | NodeEnded
    | QuestionShortened
    | SmallTalkDetected
    | QuestionCondensed
    | RouteChosen
    | PassagesRead
    | MatchesListed
    | TableQueried
    | PartAnswered
    | PassagesFound
    | PassageGraded
    | SufficiencyJudged
    | ActionDecided
    | QueryWritten
    | ConsentAsked
    | ConsentGiven
    | VersionBegun
    | WebQuerySent
    | WebSkipped
    | StripsScored
    | PromptBuilt
    | ThoughtWritten
    | TokensWritten
    | AnswerWritten
    | AnswerChecked
    | Noted
    | RunEnded
)


@cache
def _event_adapter() -> TypeAdapter[Event]:
    from pydantic import Field, TypeAdapter  # imported late: pydantic is slow to import

    return TypeAdapter(Annotated[Event, Field(discriminator="type")])


def encode_event(event: Event) -> bytes:
    """Return the event as JSON."""
    return _event_adapter().dump_json(event)


def decode_event(data: bytes | str) -> Event:
    """Parse an event from JSON. Raises `pydantic.ValidationError` for anything else."""
    return _event_adapter().validate_json(data)
