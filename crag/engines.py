"""Opens what answers and what grades, by name: the part of the composition root that knows graders and models."""

from __future__ import annotations

import threading
import time

from crag.ledger import Ledger
from crag.library import Library
from crag.models.choice import ModelChoice
from crag.protocols import Embedder, Engine, Grader, TermStatistics
from crag.settings import Settings
from crag.types import RunOptions

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
        self._opened: dict[tuple[str, str], tuple[float, Engine]] = {}

    def open(self, choice: ModelChoice, options: RunOptions) -> Engine:
        """The engine of this choice, with the grader of the options. Raises `ModelFault` when one is not there."""
        wanted = choice.name, options.grader_model or self._settings.grader_model or choice.name
        with self._lock:
            opened_at, engine = self._opened.get(wanted, (0.0, None))
            if engine is None or time.monotonic() - opened_at > _REMEMBERED_SECONDS:
                engine = self._builtin(choice, wanted[1]) if choice.builtin else self._model(choice, wanted[1])
                self._opened[wanted] = (time.monotonic(), engine)
            return engine

    def grader(self, name: str, statistics: TermStatistics | None = None) -> Grader:
        """The grader alone: `builtin`, or the name of a chat model. Raises `ModelFault`.

        The built-in one weighs words by their rarity in the library, or by the `statistics` given.
        """
        from crag.grading.builtin import BuiltinGrader
        from crag.grading.explained import ExplainedGrader
        from crag.models.chat import open_chat_model

        if name == "builtin":  # its coefficients hold for the built-in vectors only, whatever embeds the library
            return BuiltinGrader(self._embedder, statistics or self._library)
        return ExplainedGrader(open_chat_model(name, self._settings, self._ledger))

    def _cached_grader(self, name: str) -> Grader:
        """Verdicts of the built-in grader are not kept: they are cheap, and change with the words of the library."""
        from crag.grading.cache import CachedGrader

        return self.grader(name) if name == "builtin" else CachedGrader(self.grader(name), self._grades)

    def _builtin(self, choice: ModelChoice, grader_name: str) -> Engine:
        from crag.grading.strips import BuiltinRefiner
        from crag.models.builtin.reader import BuiltinWriter
        from crag.models.builtin.rewriter import BuiltinRewriter

        grader = self._cached_grader(grader_name)
        refiner = BuiltinRefiner(self._embedder, self._library)
        writer = BuiltinWriter(self._embedder, self._library)
        return Engine(choice.name, choice.label, grader, refiner, BuiltinRewriter(), writer)

    def _model(self, choice: ModelChoice, grader_name: str) -> Engine:
        from crag.grading.refining import ExplainedRefiner
        from crag.models.chat import open_chat_model
        from crag.models.writing import ModelRewriter, ModelWriter

        model = open_chat_model(choice.name, self._settings, self._ledger)
        grader = self._cached_grader(grader_name)
        return Engine(
            choice.name, choice.label, grader, ExplainedRefiner(model), ModelRewriter(model), ModelWriter(model)
        )
