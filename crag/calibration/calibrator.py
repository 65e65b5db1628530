"""Calibration of a grader on a collection: measures it, and stores the thresholds that runs then use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from crag.calibration.past import replay
from crag.calibration.probes import Probe, ProbeMaker
from crag.calibration.proposal import propose
from crag.calibration.rows import CalibrationRows
from crag.calibration.values import Calibration, Given, Kept, Past, Scored
from crag.calibration.written import QuestionWriter
from crag.database import Database
from crag.errors import BadRequest
from crag.ledger import SERVER, on_behalf_of
from crag.options import RunOptions, Thresholds
from crag.progress import Report, silent
from crag.protocols import ChatModel, Grader
from crag.runs import RunService
from crag.runs.worker import Equip, Equipment
from crag.stopping import Stop
from crag.types import Passage, Progress

PROBES, PROBES_OF_A_MODEL = 200, 30  # each probe and its unanswerable twin takes k model calls
MOST_PROBES = 2_000
_DEPTH = 24  # passages per question, so that enough remain when its document is hidden
_BUILTIN = "builtin:"

OpenModel = Callable[[RunOptions], ChatModel | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure with: the user's `questions`, otherwise `count` generated ones of each kind (0: the default).

    `by_rules` generates them without the chat model, even if there is one. The same `seed` samples the same passages.
    """

    questions: Sequence[Given] = ()
    count: int = 0
    by_rules: bool = False
    seed: int = 0


class Calibrator:
    """Calibrations of one home; thread-safe."""

    def __init__(self, database: Database, equip: Equip, open_model: OpenModel, runs: RunService) -> None:
        """Take `open_model`, which returns the chat model for some options, None for the built-in engine."""
        self._database = database
        self._rows = CalibrationRows(database)
        self._equip = equip
        self._open_model = open_model
        self._runs = runs

    def run(
        self, options: RunOptions, plan: Plan | None = None, report: Report = silent, stop: Stop | None = None
    ) -> Calibration:
        """Score answerable and unanswerable questions with the grader of the options, within their collection.

        Verdicts that users changed count too. Raises `ModelFault`, `Stopped`, or `BadRequest` for an empty collection.
        """
        plan, stop = plan or Plan(), stop or Stop()
        equipment = self._equip(replace(options, web="off"))
        if not equipment.retriever.size(options):
            raise BadRequest("There are no documents to measure on.", "Add some, or choose another collection.")
        grader = equipment.engine.grader
        total = len(plan.questions) or 2 * (plan.count or default_count(grader.name))
        scored: list[Scored] = []
        for number, probe in enumerate(self._probes(equipment, options, plan, total // 2, stop)):
            report(Progress("Asking and grading", number, total))
            best = _best(grader, probe.question, probe.passages, stop)
            if best is not None:
                scored.append(Scored(probe.question, probe.kind, probe.answerable, best))
        with on_behalf_of(SERVER):  # rulings contain users' questions
            scored += self._ruled(grader, options.collection, report, stop)
        return Calibration(
            options.collection, grader.name, grader.thresholds, scored, propose(scored, grader.thresholds), time.time()
        )

    def save(self, measured: Calibration, thresholds: Thresholds | None = None) -> Thresholds:
        """Have the grader use these thresholds from now on, by default the proposed ones.

        Raises `BadRequest` if there are none or they are out of order, `NotFound` if the collection is gone.
        """
        chosen = thresholds or measured.proposal.thresholds
        if chosen is None:
            raise BadRequest("No thresholds could be proposed, so none were kept.", " ".join(measured.proposal.remarks))
        if not 0 <= chosen.lower <= chosen.upper <= 1:
            raise BadRequest("The lower threshold lies above the upper one.", "Move one of them.")
        self._rows.save(measured.collection, measured.grader, chosen, measured)
        return chosen

    def load(self, collection: str, grader: str) -> Thresholds | None:
        """Return the saved thresholds of this grader on this collection ("": the whole library)."""
        return self._rows.load(collection, grader)

    def forget(self, collection: str, grader: str) -> bool:
        """Restore the grader's own thresholds; return whether others were saved."""
        return self._rows.forget(collection, grader)

    def all(self) -> list[Kept]:
        """Return all saved thresholds, newest first."""
        return self._rows.all()

    def past(self, collection: str, grader: str, thresholds: Thresholds, person: str | None = None) -> list[Past]:
        """Replay a user's latest questions to this collection under these thresholds, newest first.

        The actions come from stored scores; no model is called.
        """
        return replay(self._runs, collection, grader, thresholds, person)

    def follow_collection(self, name: str, new_name: str) -> None:
        """Move thresholds and rulings to the new name of a renamed collection."""
        self._rows.follow_collection(name, new_name)

    def forget_collection(self, name: str) -> None:
        """Delete the thresholds and rulings of a deleted collection."""
        self._rows.forget_collection(name)

    def _probes(self, equipment: Equipment, options: RunOptions, plan: Plan, count: int, stop: Stop) -> Iterator[Probe]:
        def find(question: str, depth: int = _DEPTH) -> list[Passage]:
            return equipment.retriever.retrieve(question, replace(options, k=max(depth, options.k)))

        if plan.questions:
            for given in plan.questions:
                found = tuple(find(given.question, options.k))
                yield Probe(given.question, "given", given.answerable, found)
            return
        model = None if plan.by_rules else self._open_model(options)
        maker = ProbeMaker(self._database, find, options.k, QuestionWriter(model) if model else None, plan.seed)
        yield from maker.make(options.collection, count, stop)

    def _ruled(self, grader: Grader, collection: str, report: Report, stop: Stop) -> Iterator[Scored]:
        """Grade the passages that users ruled on, once more, with this grader."""
        labels = self._rows.labels(collection)
        for number, (question, ruled) in enumerate(labels.items()):
            report(Progress("Grading what you overruled", number, len(labels)))
            for index, grade in grader.grade(question, [passage for passage, _ in ruled], stop):
                if grade.score is not None:
                    yield Scored(question, "ruling", ruled[index][1], grade.score)


def default_count(grader: str) -> int:
    """Return the default number of questions of each kind: it takes seconds built in, minutes with a model."""
    return PROBES if grader.startswith(_BUILTIN) else PROBES_OF_A_MODEL


def _best(grader: Grader, question: str, passages: Sequence[Passage], stop: Stop) -> float | None:
    """Return the best score among the passages; 0 if there are none, None if none could be graded."""
    stop.check()
    if not passages:
        return 0.0
    scores = [grade.score for _, grade in grader.grade(question, passages, stop) if grade.score is not None]
    return max(scores, default=None)
