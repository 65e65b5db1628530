"""Opens what answers and what grades, by name: the part of the composition root that knows graders and models."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from crag.errors import BadRequest
from crag.ledger import Ledger
from crag.library import Library
from crag.models.choice import ModelChoice
from crag.protocols import ChatModel, Embedder, Engine, Grader, Refiner, TermStatistics
from crag.settings import Settings
from crag.types import GraderKind, RunOptions

BUILTIN = "builtin"
# The action has the model's word, for one or two calls instead of one for each passage. What is lost is what the
# built-in grader, which is trained, surely rejects and should not: docs/measurements.md says how much that is.
AUTOMATIC: GraderKind = "cascade"
_REMEMBERED_SECONDS = 10.0


class Engines:
    """Opens what answers, by name, and remembers it for a few seconds so that changes are noticed soon."""

    def __init__(self, settings: Settings, library: Library, builtin_embedder: Embedder, ledger: Ledger) -> None:
        from crag.grading.cache import GradeMemory

        self._settings = settings
        self._library = library
        self._embedder = builtin_embedder
        self._ledger = ledger
        self._grades = GradeMemory()
        self._lock = threading.Lock()
        self._opened: dict[tuple[str, GraderKind, str], tuple[float, Engine]] = {}

    def open(self, choice: ModelChoice, options: RunOptions) -> Engine:
        """The engine of this choice, with the grader of the options. Raises `ModelFault`, `BadRequest`."""
        kind, model = self.grading(choice.name, options)
        with self._lock:
            opened_at, engine = self._opened.get((choice.name, kind, model), (0.0, None))
            if engine is None or time.monotonic() - opened_at > _REMEMBERED_SECONDS:
                engine = self._assemble(choice, kind, model)
                self._opened[choice.name, kind, model] = (time.monotonic(), engine)
            return engine

    def grading(self, answering: str, options: RunOptions) -> tuple[GraderKind, str]:
        """How and by which model passages are graded when `answering` answers, nothing of it `auto`.

        Raises `BadRequest` where the grader needs a language model and there is none.
        """
        return choose_grader(options.grader, options.grader_model, self._settings.grader_model, answering)

    def grader(self, model: str, statistics: TermStatistics | None = None, kind: GraderKind = "auto") -> Grader:
        """The grader alone, by `builtin` or the name of a chat model. Raises `ModelFault`, `BadRequest`.

        The built-in one weighs words by their rarity in the library, or by the `statistics` given.
        """
        kind, model = choose_grader(kind, model)
        opened = None if kind == BUILTIN else self.chat_model(model)
        return self._judges(kind, opened, statistics or self._library, lambda grader: grader)[0]

    def _assemble(self, choice: ModelChoice, kind: GraderKind, model: str) -> Engine:
        from crag.models.builtin.reader import BuiltinWriter
        from crag.models.builtin.rewriter import BuiltinRewriter
        from crag.models.writing import ModelRewriter, ModelWriter

        opened = {name: self.chat_model(name) for name in {choice.name, model} - {BUILTIN}}
        grader, refiner = self._judges(kind, opened.get(model), self._library, self._remembered)
        if choice.builtin:
            writer = BuiltinWriter(self._embedder, self._library)
            return Engine(choice.name, choice.label, grader, refiner, BuiltinRewriter(), writer)
        answering = opened[choice.name]
        return Engine(choice.name, choice.label, grader, refiner, ModelRewriter(answering), ModelWriter(answering))

    def _judges(
        self,
        kind: GraderKind,
        model: ChatModel | None,
        statistics: TermStatistics,
        remembered: Callable[[Grader], Grader],
    ) -> tuple[Grader, Refiner]:
        """The grader of a kind, and the refiner that scores strips in the same way (the built-in one in a cascade).

        The built-in coefficients hold for the built-in vectors only, whatever embeds the library. Its verdicts are not
        remembered: they are cheap, and change with the words of the library.
        """
        from crag.grading.builtin import BuiltinGrader
        from crag.grading.cascade import CascadeGrader
        from crag.grading.strips import BuiltinRefiner

        builtin, refiner = BuiltinGrader(self._embedder, statistics), BuiltinRefiner(self._embedder, statistics)
        if model is None:
            return builtin, refiner
        if kind == "cascade":
            return CascadeGrader(builtin, remembered(_asking("score", model)[0])), refiner
        grader, asking = _asking(kind, model)
        return remembered(grader), asking

    def _remembered(self, grader: Grader) -> Grader:
        from crag.grading.cache import CachedGrader

        return CachedGrader(grader, self._grades)

    def chat_model(self, name: str) -> ChatModel:
        """The chat model of this name. Raises `ModelFault`."""
        from crag.models.chat import open_chat_model

        return open_chat_model(name, self._settings, self._ledger)


def _asking(kind: GraderKind, model: ChatModel) -> tuple[Grader, Refiner]:
    """The grader of a kind that asks a model about everything, and the refiner that asks in the same way."""
    from crag.grading.explained import ExplainedGrader
    from crag.grading.listwise import ListwiseGrader
    from crag.grading.refining import ExplainedRefiner, ListwiseRefiner, ScoreRefiner
    from crag.grading.score import ScoreGrader

    if kind == "listwise":
        return ListwiseGrader(model), ListwiseRefiner(model)
    if kind == "explained":
        return ExplainedGrader(model), ExplainedRefiner(model)
    return ScoreGrader(model), ScoreRefiner(model)


def choose_grader(kind: GraderKind, *models: str) -> tuple[GraderKind, str]:
    """The grader, and its model: the first of `models` that is named and that such a grader can use.

    Left to the application (`auto`), the built-in engine grades by itself and a language model as `AUTOMATIC` says.
    Raises `BadRequest` where the grader needs a language model and none is named.
    """
    named = [model for model in models if model]
    if kind == "builtin" or (kind == "auto" and named[0] == BUILTIN):
        return "builtin", BUILTIN
    model = next((name for name in named if name != BUILTIN), None)
    if model is None:
        raise BadRequest(
            "This grader needs a language model, and the built-in engine is none.",
            "Choose a model to grade with, or the built-in grader.",
        )
    return (AUTOMATIC if kind == "auto" else kind), model
