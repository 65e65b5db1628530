"""Opens what answers and what grades, by name: the part of the composition root that knows graders and models."""

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
# The action has the model's word, for one or two calls instead of one for each passage. What is lost is what the
# built-in grader, which is trained, surely rejects and should not: docs/measurements.md says how much that is.
AUTOMATIC: GraderKind = "cascade"
_REMEMBERED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Role:
    """A model by its name, and how it is to play its role; the built-in engine plays it in its own way."""

    model: str
    tuning: Tuning = field(default_factory=Tuning)
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays which role."""

    answering: Role
    kind: GraderKind
    grading: Role
    rewriting: Role


class Engines:
    """Opens what answers, by name, and remembers it for a few seconds so that changes are noticed soon."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        builtin_embedder: Embedder,
        ledger: Ledger,
        may_send_to: Callable[[str], bool],
    ) -> None:
        """`may_send_to` says of a model that runs elsewhere, by its name, whether a person allowed it."""
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
        """The engine in which the model `answering` answers, with all else as in the options.

        Raises `ModelFault`, also for a model elsewhere that nobody allowed; `BadRequest`.
        """
        cast = self.cast(answering, options)
        with self._lock:
            opened_at, engine = self._opened.get(cast, (0.0, None))
            if engine is None or time.monotonic() - opened_at > _REMEMBERED_SECONDS:
                engine = self._assemble(cast)
                self._opened[cast] = (time.monotonic(), engine)
            return engine

    def cast(self, answering: str, options: RunOptions) -> Cast:
        """Who plays which role when `answering` answers, nothing of it `auto`.

        Raises `BadRequest` where the grader needs a language model and there is none.
        """
        kind, grading = choose_grader(options.grader, options.grader_model, self._settings.grader_model, answering)
        rewriting = options.rewriter_model or answering
        tunings = ((answering, options.answering), (grading, options.grading), (rewriting, options.rewriting))

        def role(model: str, tuning: Tuning, *, thinking: bool = False) -> Role:
            # Another window would make the server load the model anew, at every change of role.
            window = max(other.window for name, other in tunings if name == model)
            return Role(BUILTIN) if model == BUILTIN else Role(model, replace(tuning, window=window), thinking)

        return Cast(
            role(answering, options.answering, thinking=options.thinking),
            kind,
            role(grading, options.grading),
            role(rewriting, options.rewriting),
        )

    def grader(self, model: str, statistics: TermStatistics | None = None, kind: GraderKind = "auto") -> Grader:
        """The grader alone, by `builtin` or the name of a chat model. Raises `ModelFault`, `BadRequest`.

        The built-in one weighs words by their rarity in the library, or by the `statistics` given.
        """
        kind, model = choose_grader(kind, model)
        opened = None if kind == BUILTIN else self.chat_model(Role(model))
        return self._judges(kind, opened, statistics or self._library, lambda grader: grader)[0]

    def may_send(self, name: str, host: str) -> bool:
        """Whether questions and passages may go to this model, which runs at `host`; always where that is empty.

        An Ollama server on another machine was named by a person: what it runs itself needs no more leave.
        """
        return host in ("", host_label(self._settings)) or self._may_send_to(name)

    def chat_model(self, role: Role) -> ChatModel:
        """The chat model that plays this role. Raises `ModelFault`, also where it may not be sent to."""
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
            require_leave=require_leave,  # also asked before each prompt: leave may be taken back meanwhile
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
