"""The values that every room of the application speaks in: plain, frozen, without behaviour beyond themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

VerdictWord = Literal["relevant", "irrelevant", "ambiguous", "unknown"]
Action = Literal["correct", "ambiguous", "incorrect"]
Origin = Literal["library", "web"]
Ruling = Literal["use", "drop"]
DepartureKind = Literal["web search", "web page", "model", "embedding", "account", "download", "evaluation", "trace"]
Outcome = Literal["documents", "documents_and_web", "web", "not_answered"]
Strength = Literal["supported", "weak", "unsupported"]
RunState = Literal["running", "waiting", "done", "stopped", "failed", "interrupted"]
AddStatus = Literal["added", "unchanged", "replaced", "failed"]

DEFAULT_COLLECTION = "Documents"


@dataclass(frozen=True, slots=True)
class Space:
    """An embedding space; vectors of two spaces never meet.

    `digest` names the exact weights (two models may share a name and a dimension).
    """

    provider: str
    model: str
    digest: str
    dimension: int
    document_prefix: str = ""
    query_prefix: str = ""

    @property
    def id(self) -> str:
        """A short fingerprint over every field: equal exactly when vectors may be compared."""
        parts = (self.provider, self.model, self.digest, str(self.dimension), self.document_prefix, self.query_prefix)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """What its embedder is called in the settings: `builtin`, `nomic`, `ollama:NAME` or `provider:NAME`."""
        return self.provider if self.provider in ("builtin", "nomic") else self.label

    @property
    def label(self) -> str:
        """The name to show, such as `builtin:wordllama`."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True, slots=True)
class Source:
    """One added document. `size` in bytes, `added_at` in seconds since the epoch, `pages` None where there are none.

    `author` and `published` (YYYY-MM-DD) are empty where the document does not say them. `found_by` is the question
    whose web search found it, empty for what people added themselves.
    """

    id: str
    title: str
    kind: str
    location: str
    collection: str
    sha256: str
    size: int
    pages: int | None
    passages: int
    added_at: float
    space: str
    author: str = ""
    published: str = ""
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """A named part of the library, with how much it holds."""

    name: str
    sources: int
    passages: int


@dataclass(frozen=True, slots=True)
class MoveResult:
    """What became of a document that was to go to another collection (`Collections.move`)."""

    id: str
    title: str
    status: Literal["moved", "merged", "kept"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that is searched and graded.

    Library passages carry their positive database id; web passages carry -1, -2, … within one run.
    `context` is the wider parent text around `text` (or equal to it); `score` is the retrieval score, higher is nearer.
    `also_in` names, once each, the documents of passages that say the same and were left out for this one.
    """

    id: int
    source_id: str
    title: str
    location: str
    text: str
    context: str
    page: int | None = None
    heading: str = ""
    origin: Origin = "library"
    score: float = 0.0
    also_in: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """What was kept with the state of a run comes back with lists."""
        if not isinstance(self.also_in, tuple):
            object.__setattr__(self, "also_in", tuple(self.also_in))


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage as a search found it, and why; ranks count from 1 among all candidates of the search.

    `words` is its BM25 score, 0 without a rank where it holds no term of the query. `cosine` is None where it has no
    vector in the space that answers. `matched` are the terms of the query that it or its title holds.
    """

    passage: Passage
    words: float
    words_rank: int | None
    cosine: float | None
    meaning_rank: int | None
    matched: frozenset[str]


@dataclass(frozen=True, slots=True)
class Grade:
    """What a grader says of one passage: a score in 0..1, or None when it could not be judged, and why.

    `usage` are the tokens it took where a model was asked; those of a call for several passages stand with one of them.
    """

    score: float | None
    reason: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Strip:
    """One to three sentences of a passage, kept or struck out by refinement."""

    text: str
    score: float | None
    kept: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The grader's word on one passage, as shown and stored; a person's `ruling` takes its place."""

    passage_id: int
    word: VerdictWord
    score: float | None
    reason: str
    ruling: Ruling | None = None

    def ruled(self, ruling: Ruling) -> Verdict:
        """The same verdict as a person overruled it; the grader's score and reason stay to be seen."""
        return replace(self, word="relevant" if ruling == "use" else "irrelevant", ruling=ruling)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What the writer may use of one passage: its citation number `n` (from 1) and the text that was kept.

    `strips` are the kept strips that `text` is made of, in order; empty where the passage was not cut.
    """

    n: int
    passage: Passage
    text: str
    strips: tuple[Strip, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered source under an answer. `quote` is the sentence of the source that the answer rests on."""

    n: int
    passage_id: int
    source_id: str
    title: str
    location: str
    page: int | None
    quote: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Support:
    """How far one sentence of the answer is carried by what it cites; `quote` is the text that carries it most."""

    sentence: str
    strength: Strength
    citations: tuple[int, ...] = ()
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation, as models see it."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the model server; None where it did not say.

    `prompt_cut`: its count is a sign that it read less of the prompt than was sent.
    """

    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    finish_reason: str | None = None
    prompt_cut: bool = False

    @property
    def answer_cut(self) -> bool:
        """Whether the reply ended before it was whole."""
        return self.finish_reason in ("length", "incomplete", "repetition")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one piece of work is: `stage` in the user's words, `done` of `total` units (total 0: not yet known)."""

    stage: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done: a code of the contract and a sentence in the user's words."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class AddResult:
    """What became of one file or address that was to be added; `note`: what is missing of it, in the user's words.

    `older` are the ids of documents that stay under the same name: uploads of other content, which replace nothing.
    """

    source: str
    id: str | None
    title: str
    status: AddStatus
    passages: int = 0
    pages: int | None = None
    error: Refusal | None = None
    older: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Departure:
    """One thing that left the machine: when (seconds since the epoch), where to, and what, in full."""

    at: float
    host: str
    kind: DepartureKind
    what: str


@dataclass(frozen=True, slots=True)
class Version:
    """One of the answers to the same message, numbered from 1; `change` says in what it differs from the one before."""

    number: int
    run_id: str
    change: str
    state: RunState


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat kept on disk; times in seconds since the epoch. `changes`: in which options it differs from the home.

    `person` is whose it is: the key of a browser, empty where it is anybody's who has this home.
    """

    id: str
    title: str
    created_at: float
    updated_at: float
    changes: Mapping[str, Any] = field(default_factory=dict)
    person: str = ""
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person said of an answer: whether it helped and, where they said so, what was wrong with it."""

    helpful: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Answers name the run that made them; `state` is that of the run.

    `branches` are the questions that were asked at its place, by id in order, itself among them; `versions` is how many
    answers to the same question there are.
    """

    id: int
    conversation_id: str
    role: Literal["user", "assistant"]
    text: str
    created_at: float
    run_id: str | None = None
    state: RunState = "done"
    branches: tuple[int, ...] = ()
    versions: int = 1
