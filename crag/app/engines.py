"""Engines: assign models to roles and open the models and graders they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crag.concurrency.caches import LRUCache, TTLCache
from crag.errors import ModelFault
from crag.grading.registry import BUILTIN, EVALUATOR, GRADER_FACTORIES, GraderResources, choose_grader, open_assessor
from crag.library.library import Library
from crag.models.evaluator_weights import InstalledEvaluator
from crag.models.model_choice import choose_other_model, model_label
from crag.options import GraderKind, ModelParameters, RunOptions
from crag.protocols import ChatModel, Embedder, Engine, Grader
from crag.reference_systems import find_system
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.storage.summary_parts import SummaryParts
from crag.tables.data_table import TableCache
from crag.text.questions import TermStatistics
from crag.types import Grade, Route

_CACHE_SECONDS = 10.0
_MAX_CACHED_GRADES = 10_000
_MAX_CACHED_ROUTES = 2_000


@dataclass(frozen=True, slots=True)
class ModelRole:
    """A model by name, with the settings of its role; the built-in engine ignores the settings."""

    model: str
    tuning: ModelParameters = field(default_factory=ModelParameters)
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class RoleAssignment:
    """Assignment of models to roles."""

    answering: ModelRole
    kind: GraderKind
    grading: ModelRole
    rewriting: ModelRole
    answer_prompt: str = "answer"


class Engines:
    """Factory of engines, which caches them for a few seconds only, so that changes take effect soon."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        builtin_embedder: Embedder,
        outbound_log: OutboundLog,
        may_send_to: Callable[[str], bool],
        evaluator: InstalledEvaluator,
        summary_parts: SummaryParts,
    ) -> None:
        """Create the factory. `may_send_to` says whether the user allowed the hosted model of this name."""
        self._settings = settings
        self._library = library
        self._embedder = builtin_embedder
        self._outbound_log = outbound_log
        self._may_send_to = may_send_to
        self._evaluator = evaluator
        self._grades: LRUCache[tuple[str, str, str], Grade] = LRUCache(_MAX_CACHED_GRADES)
        self._routes: LRUCache[tuple[str, str], Route | None] = LRUCache(_MAX_CACHED_ROUTES)
        self._summary_parts = summary_parts
        self._tables = TableCache()
        self._engines = TTLCache(self._build_engine, _CACHE_SECONDS)

    def open(self, answering: str, options: RunOptions) -> Engine:
        """Open the engine in which the model `answering` answers and the options decide the rest.

        Raises `ModelFault`, also for a hosted model without permission; `BadRequest`.
        """
        return self._engines.get(self.assign_roles(answering, options))

    def assign_roles(self, answering: str, options: RunOptions) -> RoleAssignment:
        """Assign models to roles when `answering` answers; the result contains no `auto`.

        In a reference system the built-in grader replaces one that needs a model which is not there. Otherwise raises
        `BadRequest` if the grader needs a language model or an evaluator and there is none, `ModelFault` if it is an
        evaluator that cannot be opened.
        """
        system = find_system(options)
        named = options.grader_model or self._settings.grader_model
        if system and system.other_grading_model and answering != BUILTIN:
            named = named or choose_other_model(self._settings, answering)
        kind, grading = self._choose_grader(options.grader, named, answering, may_fall_back=system is not None)
        rewriting = options.rewriter_model or answering
        tunings = ((answering, options.answering), (grading, options.grading), (rewriting, options.rewriting))

        def role(model: str, tuning: ModelParameters, *, thinking: bool = False) -> ModelRole:
            # A different window would make the server reload the model whenever the role changes.
            window = max(other.window for name, other in tunings if name == model)
            return (
                ModelRole(BUILTIN) if model == BUILTIN else ModelRole(model, replace(tuning, window=window), thinking)
            )

        return RoleAssignment(
            role(answering, options.answering, thinking=options.thinking),
            kind,
            role(grading, options.grading),
            role(rewriting, options.rewriting),
            system.answer_prompt if system else "answer",
        )

    def grader(self, model: str, statistics: TermStatistics | None = None, kind: GraderKind = "auto") -> Grader:
        """Open the grader alone; `model` is `builtin` or the name of a chat model. Raises `ModelFault`, `BadRequest`.

        The built-in grader weights words by their rarity in the library, or by the `statistics` given.
        """
        kind, model = self._choose_grader(kind, model)
        opened = None if model == BUILTIN else self.chat_model(ModelRole(model))
        resources = GraderResources(
            self._embedder, statistics or self._library, opened, lambda grader: grader, self._evaluator.get()
        )
        return GRADER_FACTORIES[kind](resources)[0]

    def _choose_grader(self, kind: GraderKind, *models: str, may_fall_back: bool = False) -> tuple[GraderKind, str]:
        evaluator = self._evaluator.get()
        if kind == EVALUATOR and evaluator is None and (fault := self._evaluator.fault()):
            raise fault
        return choose_grader(kind, *models, has_evaluator=evaluator is not None, may_fall_back=may_fall_back)

    def may_send(self, name: str, host: str) -> bool:
        """Return whether questions and passages may be sent to this model, which runs at `host` (empty: this machine).

        The user configured the addresses of Ollama, so models that it runs itself need no further permission.
        """
        return not host or self._settings.names_ollama_host(host) or self._may_send_to(name)

    def chat_model(self, role: ModelRole) -> ChatModel:
        """Open the chat model of this role. Raises `ModelFault`, also without permission to send to it."""
        from crag.models.chat_models import open_chat_model

        def require_consent(host: str) -> None:
            if not self.may_send(role.model, host):
                raise ModelFault.make(
                    "model.consent_needed", model=role.model, label=model_label(role.model), host=host
                )

        model = open_chat_model(
            role.model,
            self._settings,
            self._outbound_log,
            role.tuning,
            thinking=role.thinking,
            require_consent=require_consent,  # also checked before each prompt: permission may be revoked meanwhile
        )
        require_consent(model.host)
        return model

    def _build_engine(self, assigned: RoleAssignment) -> Engine:
        from crag.grading.route_judge import ModelRouteJudge
        from crag.models.builtin_rewriter import BuiltinRewriter
        from crag.models.builtin_summarizer import BuiltinSummarizer
        from crag.models.builtin_writer import BuiltinWriter
        from crag.models.prompt_fit import make_shortener
        from crag.models.summarizer import ModelSummarizer
        from crag.models.writer import ModelQueryWriter, ModelRewriter, ModelWriter
        from crag.tables.calculator import TableCalculator
        from crag.text.coverage import BuiltinCoverageCheck

        roles = dict.fromkeys((assigned.answering, assigned.grading, assigned.rewriting))
        models = {role: self.chat_model(role) for role in roles if role.model != BUILTIN}
        answering, grading, rewriting = (
            models.get(r) for r in (assigned.answering, assigned.grading, assigned.rewriting)
        )
        evaluator = None if assigned.kind == BUILTIN else self._evaluator.get()
        resources = GraderResources(self._embedder, self._library, grading, self._cached, evaluator)
        grader, refiner = GRADER_FACTORIES[assigned.kind](resources)
        quoting_writer = BuiltinWriter(self._embedder, self._library)
        return Engine(
            assigned.answering.model,
            model_label(assigned.answering.model),
            grader,
            refiner,
            ModelRewriter(rewriting) if rewriting else BuiltinRewriter(self._library),
            ModelWriter(answering, assigned.answer_prompt) if answering else quoting_writer,
            remote_models=tuple(dict.fromkeys(model_label(model.name) for model in models.values() if model.host)),
            shorten=make_shortener(list(models.values())),
            coverage=BuiltinCoverageCheck(self._embedder, self._library),
            quoting_writer=quoting_writer if answering else None,
            assessor=open_assessor(grader, resources),
            calculator=TableCalculator(self._tables, ModelQueryWriter(answering) if answering else None),
            route_judge=ModelRouteJudge(answering, self._routes) if answering else None,
            summarizer=(
                ModelSummarizer(answering, self._summary_parts) if answering else BuiltinSummarizer(self._embedder)
            ),
        )

    def _cached(self, grader: Grader) -> Grader:
        from crag.grading.composites import CachedGrader

        return CachedGrader(grader, self._grades)
