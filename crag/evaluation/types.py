"""Values of evaluation: datasets, plans, variants, results, and figures with their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from crag.options import RunOptions
from crag.types import Action, Outcome, Route, RunState, Sufficiency

DatasetKind = Literal["builtin", "uploaded", "pinned"]


@dataclass(frozen=True, slots=True)
class Example:
    """One row of a dataset: a question and what is known about its right answer; empty fields are unknown.

    `key` identifies the same question in every version of a dataset. Any of the `references` is a right answer, any of
    the `steps` a right trajectory. `route` is the kind of the question. Right passages are identified by `sources` (ids
    or names of their documents) and `phrases` (text they contain); retrieval should find every one of these.
    """

    key: str
    question: str
    references: tuple[str, ...] = ()
    steps: tuple[tuple[str, ...], ...] = ()
    action: Action | None = None
    answerable: bool | None = None
    sources: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    must_mention: tuple[str, ...] = ()
    must_not_mention: tuple[str, ...] = ()
    language: str = ""
    route: Route | None = None

    @property
    def has_reference(self) -> bool:
        """Whether there is a right answer to compare with, word by word or by a judge."""
        return self.answerable is not False and bool(self.references)

    @property
    def has_known_answer(self) -> bool:
        """Whether an answer can be called right or wrong: a reference or a required phrase is known."""
        return self.answerable is not False and bool(self.references or self.must_mention)

    @property
    def has_known_passages(self) -> bool:
        """Whether the right passages are known; an unanswerable question has none, which counts as known."""
        return self.answerable is False or bool(self.sources or self.phrases)

    @property
    def can_be_answered(self) -> bool | None:
        """Whether the documents answer it, as labelled or because an answer is known; None if unknown.

        Also None if the documents are not expected to hold the answer, so that only a web search can find it: without a
        search a refusal is not wrong, with one an answer is not.
        """
        if self.answerable is not None or self.action == "incorrect":
            return self.answerable
        return True if self.has_known_answer else None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples under a name. `owner_id` is the key of the owner; empty: shared by everyone who uses this home."""

    id: str
    name: str
    kind: DatasetKind
    examples: tuple[Example, ...]
    made_at: float = 0.0
    owner_id: str = ""


EvaluationKind = Literal["plain", "grid", "regression"]
# `failed`: too many consecutive questions could not be answered. Every state but `done` can be resumed.
EvaluationState = Literal["queued", "running", "stopped", "failed", "interrupted", "done"]
ACTIVE_STATES: tuple[EvaluationState, ...] = ("queued", "running")


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything besides the settings that an answer depends on.

    `fingerprint` and `grader` hold the digests of their models. `library` is a digest of the searched documents and how
    they are split. `thresholds` are the ones in force, calibrated or the grader's own, formatted for display.
    """

    model: str = ""
    fingerprint: str = ""
    grader: str = ""
    embedder: str = ""
    space: str = ""
    library: str = ""
    documents: int = 0
    passages: int = 0
    version: str = ""
    thresholds: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """One set of options to answer all questions with; `options.passage_size` also sets how documents are split."""

    name: str
    options: RunOptions
    environment: Environment = Environment()


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """Everything needed to start an evaluation.

    `parallel` is the number of questions asked at once (0: the default). `judge` names the judge model, empty for none.
    """

    dataset: Dataset
    variants: Sequence[Variant]
    repetitions: int = 1
    judge: str = ""
    parallel: int = 0
    name: str = ""
    kind: EvaluationKind = "plain"
    owner_id: str = ""

    @property
    def total(self) -> int:
        """Number of questions to ask: each example under each variant, `repetitions` times."""
        return len(self.dataset.examples) * len(self.variants) * self.repetitions


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A dataset answered under each variant, `repetitions` times; results refer to a variant by its index.

    `done` of `total` questions are processed, `failed` of them without an answer; `judgements` answers were judged.
    `started_at` and `ended_at` are in seconds since the epoch, `seconds` is the time spent on it, and `seconds_left` an
    estimate while it runs. `digest` is the digest of its `size` examples.
    """

    id: str
    name: str
    kind: EvaluationKind
    dataset: str
    dataset_id: str
    digest: str
    size: int
    variants: tuple[Variant, ...]
    repetitions: int
    judge: str
    parallel: int
    owner_id: str
    state: EvaluationState
    fault: str
    started_at: float
    ended_at: float | None
    seconds: float
    done: int = 0
    failed: int = 0
    judgements: int = 0
    seconds_left: float | None = None

    @property
    def is_answered(self) -> bool:
        """Whether every question has an answer."""
        return self.done - self.failed == self.total

    @property
    def total(self) -> int:
        """Number of answers of the complete evaluation."""
        return self.size * self.repetitions * len(self.variants)

    @property
    def is_active(self) -> bool:
        """Whether it is running or queued."""
        return self.state in ACTIVE_STATES


@dataclass(frozen=True, slots=True)
class GradedPassage:
    """A grader's score for one passage (None: not gradable), its decision, and whether the passage is a right one."""

    score: float | None
    relevant: bool
    right: bool


@dataclass(frozen=True, slots=True)
class NodeCost:
    """Cost of one node: seconds, and tokens as counted by its model server."""

    seconds: float
    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of an answer by a model: `score` in 0..1 (None if its reply was unreadable), and the reason."""

    model: str
    score: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """Everything stored about one answer.

    `scores` is keyed by the names of `METRICS` and holds only those that apply. `best` is the grader's highest score.
    `text_score` in 0..1 is how far the answer agrees with the known right answer, None if no right answer is known.
    """

    answer: str = ""
    action: Action | None = None
    outcome: Outcome | None = None
    steps: tuple[str, ...] = ()
    best: float | None = None
    text_score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    grades: tuple[GradedPassage, ...] = ()
    nodes: Mapping[str, NodeCost] = field(default_factory=dict)
    seconds: float = 0.0
    tokens: int = 0
    sufficiency: Sufficiency | None = None


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """One answer: to example `number` (from 0) under variant `variant` (from 0), in `repetition` (from 1).

    `run_id` is the run behind it, which started at `started_at` in seconds since the epoch (0: unknown). `label` is a
    user's judgement of the answer: right, wrong, or None.
    """

    variant: int
    number: int
    repetition: int
    example: Example
    run_id: str
    state: RunState
    error: str = ""
    scored: ScoredAnswer = ScoredAnswer()
    judged: Judgement | None = None
    label: bool | None = None
    started_at: float = 0.0

    @property
    def is_labelled(self) -> bool:
        """Whether a user judged the answer; there is none to judge if the run failed."""
        return self.state == "done" and self.label is not None


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Lowest scores at which an answer counts as right: the judge's score and the text score."""

    judge: float = 0.5
    text: float = 0.5


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric over `n` examples, with its 95 % bootstrap interval over the examples."""

    metric: str
    value: float
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """A metric in two variants, over the `n` examples that both have, with the interval of `after - before`."""

    metric: str
    before: float
    after: float
    n: int
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ChangedExample:
    """A question answered better or worse than before, with its mean score then and now: see `compare_results`."""

    example: Example
    what: Literal["broken", "fixed"]
    before: float
    after: float
    before_run: str
    after_run: str
