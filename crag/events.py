"""The events of a run: small frozen values, appended in order; the trace is nothing but their list."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from crag.options import RunOptions, Thresholds
from crag.types import Action, Citation, Origin, Outcome, Passage, RunState, Strip, Support, Usage, Verdict

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Node = Literal[
    "condense_question",
    "retrieve",
    "grade_documents",
    "decide",
    "transform_query",
    "web_search",
    "refine_knowledge",
    "generate",
    "check_answer",
]


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The question and the settings it runs under. `started_at` is in seconds since the epoch."""

    question: str
    options: RunOptions
    started_at: float
    type: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class EngineOpened:
    """What answers, embeds and grades, by the names that are shown; `calibrated`: its thresholds were fitted here."""

    model: str
    embedder: str
    grader: str = ""
    thresholds: Thresholds | None = None
    calibrated: bool = False
    type: Literal["engine_opened"] = "engine_opened"


@dataclass(frozen=True, slots=True)
class NodeStarted:
    """A node began `at` seconds after the run did."""

    node: Node
    at: float
    type: Literal["node_started"] = "node_started"


@dataclass(frozen=True, slots=True)
class NodeEnded:
    """A node ended `at` seconds after the run began."""

    node: Node
    at: float
    type: Literal["node_ended"] = "node_ended"


@dataclass(frozen=True, slots=True)
class QuestionCondensed:
    """The follow-up question, made to stand alone."""

    question: str
    type: Literal["question_condensed"] = "question_condensed"


@dataclass(frozen=True, slots=True)
class QuestionShortened:
    """The question does not fit a model's window: of its `tokens` tokens, `left_out` from the middle are not used."""

    tokens: int
    left_out: int
    type: Literal["question_shortened"] = "question_shortened"


@dataclass(frozen=True, slots=True)
class ThoughtWritten:
    """The next piece of what the model thinks aloud, `at` seconds after the run began; never a part of the answer."""

    text: str
    at: float = 0.0
    type: Literal["thought_written"] = "thought_written"


@dataclass(frozen=True, slots=True)
class PassagesFound:
    """Passages found in the library (`searched` = how many there are) or on the web (`searched` = results returned).

    `again`: they were found for an earlier version of the answer, and nothing was sent for them now. `sought` is what
    some were sought for, by their ids, where that is not the question.
    """

    origin: Origin
    passages: tuple[Passage, ...]
    searched: int
    again: bool = False
    sought: dict[int, str] = field(default_factory=dict)
    type: Literal["passages_found"] = "passages_found"


@dataclass(frozen=True, slots=True)
class PassageGraded:
    """One verdict, as soon as it is known."""

    verdict: Verdict
    type: Literal["passage_graded"] = "passage_graded"


@dataclass(frozen=True, slots=True)
class ActionDecided:
    """What the verdicts add up to (None: policy off), in one sentence with figures, and whether the web is wanted."""

    action: Action | None
    reason: str
    wants_web: bool
    type: Literal["action_decided"] = "action_decided"


@dataclass(frozen=True, slots=True)
class QueryWritten:
    """The query for the web, written from the question alone."""

    query: str
    type: Literal["query_written"] = "query_written"


@dataclass(frozen=True, slots=True)
class ConsentAsked:
    """The run waits for a person to let the query go to `host`, `at` seconds after it began.

    `from_answer`: the query was made of a sentence of an answer, so it may hold words of documents.
    """

    query: str
    provider: str
    host: str
    at: float
    from_answer: bool = False
    type: Literal["consent_asked"] = "consent_asked"


@dataclass(frozen=True, slots=True)
class ConsentGiven:
    """What the person decided: the query to send, perhaps edited, or None for their documents only."""

    query: str | None
    type: Literal["consent_given"] = "consent_given"


@dataclass(frozen=True, slots=True)
class VersionBegun:
    """This run answers the question of run `parent` anew; `change` says with what difference, in the user's words.

    The events before `decide` are those of the parent where `kept` is true.
    """

    parent: str
    change: str
    kept: bool
    type: Literal["version_begun"] = "version_begun"


@dataclass(frozen=True, slots=True)
class WebQuerySent:
    """From here on the query has left the machine."""

    query: str
    provider: str
    host: str = ""
    type: Literal["web_query_sent"] = "web_query_sent"


@dataclass(frozen=True, slots=True)
class WebSkipped:
    """The web was wanted and not searched, or its search failed; `reason` in the user's words."""

    reason: str
    type: Literal["web_skipped"] = "web_skipped"


@dataclass(frozen=True, slots=True)
class StripsScored:
    """The strips of one passage, kept and struck out, in document order."""

    passage_id: int
    strips: tuple[Strip, ...]
    type: Literal["strips_scored"] = "strips_scored"


@dataclass(frozen=True, slots=True)
class PromptBuilt:
    """The writer's prompt in tokens, of a window of `window` tokens (0: no window), and how many strips did not fit."""

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
    """The whole answer, with invalid citations removed, and what it cites; replaces the streamed pieces."""

    text: str
    citations: tuple[Citation, ...]
    outcome: Outcome
    usage: Usage
    type: Literal["answer_written"] = "answer_written"


@dataclass(frozen=True, slots=True)
class AnswerChecked:
    """How each sentence of the answer is supported."""

    sentences: tuple[Support, ...]
    type: Literal["answer_checked"] = "answer_checked"


@dataclass(frozen=True, slots=True)
class Noted:
    """A thing to know about the answer, shown below it."""

    text: str
    type: Literal["noted"] = "noted"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The last event of every run. `error` is empty unless the state is failed; `remedy` says what to do next.

    `error_model` is the model to get, or to allow, where that is what can be done about it.
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
    | QuestionCondensed
    | PassagesFound
    | PassageGraded
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
def _adapter() -> TypeAdapter[Event]:
    from pydantic import Field, TypeAdapter  # imported late: pydantic is slow to import

    return TypeAdapter(Annotated[Event, Field(discriminator="type")])


def encode(event: Event) -> bytes:
    """The event as JSON."""
    return _adapter().dump_json(event)


def decode(data: bytes | str) -> Event:
    """The event from its JSON; raises `pydantic.ValidationError` on anything else."""
    return _adapter().validate_json(data)
