"""What evaluation speaks in: variants of settings, results, figures with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from crag.evaluate.datasets.examples import Dataset, Example
from crag.options import RunOptions
from crag.types import Action, Outcome, RunState

EvaluationKind = Literal["plain", "grid", "regression"]
# `failed`: too many questions in a row could not be answered; all but `done` can be resumed.
EvaluationState = Literal["queued", "running", "stopped", "failed", "interrupted", "done"]
UNDER_WAY: tuple[EvaluationState, ...] = ("queued", "running")


@dataclass(frozen=True, slots=True)
class Environment:
    """What else than the settings an answer hangs on. `fingerprint` and `grader` hold the digests of their models.

    `library` is a digest over the documents that are searched and how they are cut. `thresholds` are those that hold,
    calibrated or the grader's own, as people read them.
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
    """One way to answer all questions; `options.passage_size` also says how the documents are cut."""

    name: str
    options: RunOptions
    environment: Environment = Environment()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be run: `parallel` questions at once (0: as many as pay), `judge` a model, empty for none."""

    dataset: Dataset
    variants: Sequence[Variant]
    repetitions: int = 1
    judge: str = ""
    parallel: int = 0
    name: str = ""
    kind: EvaluationKind = "plain"
    person: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A dataset answered under each of the `variants`, `repetitions` times; `variants[n]` is number n in results.

    `done` of `total` answers are there, `failed` of them without an answer, `judgements` with the word of a judge.
    `started_at` and `ended_at` in seconds since the epoch, `seconds` the time spent on it, `seconds_left` an estimate
    while it runs. `digest` is that of its examples, of which there are `size`.
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
    person: str
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
        """Whether there is an answer to every question."""
        return self.done - self.failed == self.total

    @property
    def total(self) -> int:
        """How many answers it has when it is done."""
        return self.size * self.repetitions * len(self.variants)

    @property
    def is_under_way(self) -> bool:
        """Whether it is worked on, or waits to be."""
        return self.state in UNDER_WAY


@dataclass(frozen=True, slots=True)
class Graded:
    """A grader's score for one passage (None: could not be judged), whether it took it, whether it is a right one."""

    score: float | None
    relevant: bool
    right: bool


@dataclass(frozen=True, slots=True)
class NodeCost:
    """What one node took: seconds, and tokens as its model server counted them."""

    seconds: float
    prompt_tokens: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge model says of an answer: `score` in 0..1, None where its reply could not be read, and why."""

    model: str
    score: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Scored:
    """All that is kept of one answer. `scores` by the names of `metrics.METRICS`; only those that apply to it.

    `text_score` in 0..1 is how far the answer agrees with what is known of the right one, None where that is nothing.
    """

    answer: str = ""
    action: Action | None = None
    outcome: Outcome | None = None
    steps: tuple[str, ...] = ()
    best: float | None = None
    text_score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    grades: tuple[Graded, ...] = ()
    nodes: Mapping[str, NodeCost] = field(default_factory=dict)
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """One answer of an evaluation: of example `number` (from 0) under variant `variant`, in `repetition` (from 1).

    `run_id` is the run behind it, which began at `started_at` in seconds since the epoch, 0 where that is not known.
    `label` is a person's word on the answer: right, wrong, or None.
    """

    variant: int
    number: int
    repetition: int
    example: Example
    run_id: str
    state: RunState
    error: str = ""
    scored: Scored = Scored()
    judged: Judgement | None = None
    label: bool | None = None
    started_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """From which score on an answer counts as right: that of a judge, and that of comparing texts."""

    judge: float = 0.5
    text: float = 0.5


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric over `n` examples, with the interval that 95 % of bootstrap samples of the examples lie in."""

    metric: str
    value: float
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric in two variants, over the `n` examples that both have, and the interval of `after - before`."""

    metric: str
    before: float
    after: float
    n: int
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ChangedExample:
    """A question whose answers went another way; `before` and `after` in 0..1 are the shares of right ones."""

    example: Example
    what: Literal["broken", "mended"]
    before: float
    after: float
    before_run: str
    after_run: str
