"""Models and graders opened by name: the part of the composition root that knows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crag.errors import BadRequest
from crag.ledger import Ledger
from crag.library import Library
from crag.models.choice import model_label
from crag.models.faults import consent_needed, host_label
from crag.options import GraderKind, RunOptions, Tuning
from crag.protocols import ChatModel, Embedder, Engine, Grader, Refiner, TermStatistics
from crag.settings import Settings

BUILTIN = "builtin"
# A cascade leaves the action to the model, for one or two calls instead of one per passage. The cost: relevant passages
# that the built-in, trained grader rejects with high confidence (measured in docs/measurements.md).
AUTOMATIC: GraderKind = "cascade"
_REMEMBERED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Role:
    """A model by name, with the settings of its role; the built-in engine ignores the settings."""

    model: str
    tuning: Tuning = field(default_factory=Tuning)
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Cast:
    """Assignment of models to roles."""

    answering: Role
    kind: GraderKind
    grading: Role
    rewriting: Role


class Engines:
    """Factory of engines, which caches them for a few seconds only, so that changes take effect soon."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        builtin_embedder: Embedder,
        ledger: Ledger,
        may_send_to: Callable[[str], bool],
    ) -> None:
        """Create the factory. `may_send_to` says whether the user allowed the hosted model of this name."""
        from crag.grading.cache import GradeMemory

        self._settings = settings
        self._library = library
        self._embedder = builtin_embedder
        self._ledger = ledger
        self._may_send_to = may_send_to
        self._grades = GradeMemory()
        self._lock = threading.Lock()
        self._opened: dict[Cast, tuple[float, Engine]] = {}

    def open(self, answering: str, options: RunOptions) -> Engine:
        """Open the engine in which the model `answering` answers and the options decide the rest.

        Raises `ModelFault`, also for a hosted model without permission; `BadRequest`.
        """
        cast = self.cast(answering, options)
        with self._lock:
            opened_at, engine = self._opened.get(cast, (0.0, None))
            if engine is None or time.monotonic() - opened_at > _REMEMBERED_SECONDS:
                engine = self._assemble(cast)
                self._opened[cast] = (time.monotonic(), engine)
            return engine

    def cast(self, answering: str, options: RunOptions) -> Cast:
        """Assign models to roles when `answering` answers; the result contains no `auto`.

        Raises `BadRequest` if the grader needs a language model and there is none.
        """
        kind, grading = choose_grader(options.grader, options.grader_model, self._settings.grader_model, answering)
        rewriting = options.rewriter_model or answering
        tunings = ((answering, options.answering), (grading, options.grading), (rewriting, options.rewriting))

        def role(model: str, tuning: Tuning, *, thinking: bool = False) -> Role:
            # A different window would make the server reload the model whenever the role changes.
            window = max(other.window for name, other in tunings if name == model)
            return Role(BUILTIN) if model == BUILTIN else Role(model, replace(tuning, window=window), thinking)

        return Cast(
            role(answering, options.answering, thinking=options.thinking),
            kind,
            role(grading, options.grading),
            role(rewriting, options.rewriting),
        )

    def grader(self, model: str, statistics: TermStatistics | None = None, kind: GraderKind = "auto") -> Grader:
        """Open the grader alone: `builtin` or the name of a chat model. Raises `ModelFault`, `BadRequest`.

        The built-in grader weights words by their rarity in the library, or by the `statistics` given.
        """
        kind, model = choose_grader(kind, model)
        opened = None if kind == BUILTIN else self.chat_model(Role(model))
        return self._judges(kind, opened, statistics or self._library, lambda grader: grader)[0]

    def may_send(self, name: str, host: str) -> bool:
        """Return whether questions and passages may be sent to this model, which runs at `host` (empty: this machine).

        The user configured the address of an Ollama server, so models that it runs itself need no further permission.
        """
        return host in ("", host_label(self._settings)) or self._may_send_to(name)

    def chat_model(self, role: Role) -> ChatModel:
        """Open the chat model of this role. Raises `ModelFault`, also without permission to send to it."""
        from crag.models.chat import open_chat_model

        def require_leave(host: str) -> None:
            if not self.may_send(role.model, host):
                raise consent_needed(role.model, model_label(role.model), host)

        model = open_chat_model(
            role.model,
            self._settings,
            self._ledger,
            role.tuning,
            thinking=role.thinking,
            require_leave=require_leave,  # also checked before each prompt: permission may be revoked meanwhile
        )
        require_leave(model.host)
        return model

    def _assemble(self, cast: Cast) -> Engine:
        from crag.models.builtin.reader import BuiltinWriter
        from crag.models.builtin.rewriter import BuiltinRewriter
        from crag.models.shortening import shortener
        from crag.models.writing import ModelRewriter, ModelWriter

        roles = dict.fromkeys((cast.answering, cast.grading, cast.rewriting))
        models = {role: self.chat_model(role) for role in roles if role.model != BUILTIN}
        answering, grading, rewriting = (models.get(r) for r in (cast.answering, cast.grading, cast.rewriting))
        grader, refiner = self._judges(cast.kind, grading, self._library, self._remembered)
        return Engine(
            cast.answering.model,
            model_label(cast.answering.model),
            grader,
            refiner,
            ModelRewriter(rewriting) if rewriting else BuiltinRewriter(),
            ModelWriter(answering) if answering else BuiltinWriter(self._embedder, self._library),
            away=tuple(dict.fromkeys(model_label(model.name) for model in models.values() if model.host)),
            shorten=shortener(list(models.values())),
        )

    def _judges(
        self,
        kind: GraderKind,
        model: ChatModel | None,
        statistics: TermStatistics,
        remembered: Callable[[Grader], Grader],
    ) -> tuple[Grader, Refiner]:
        """Open the grader of a kind and the refiner that scores strips the same way (built-in in a cascade).

        The built-in coefficients hold for the built-in vectors only, whatever embeds the library. Built-in verdicts are
        not cached: they are cheap, and change with the words of the library.
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


def _asking(kind: GraderKind, model: ChatModel) -> tuple[Grader, Refiner]:
    """Open a grader that asks the model about every passage, and the refiner that asks the same way."""
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
    """Choose the grader and its model: the first named one of `models` that this grader can use.

    Under `auto` the built-in engine grades by itself, and a language model grades as `AUTO_GRADER`. Raises `BadRequest`
    if the grader needs a language model and none is named.
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
