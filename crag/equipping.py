"""Run dependencies for given options: engine, retriever, web search and thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crag.embedder_choices import EmbedderChoices
from crag.engines import Engines
from crag.evaluate.recut.recut import Recuts
from crag.langsmith.traces import Traces
from crag.options import RunOptions, Thresholds
from crag.runs.worker import Equipment, no_callbacks
from crag.web_access import WebAccess

AWAY = "{} runs on another machine: your question and the passages it needed went there."


@dataclass(frozen=True, slots=True)
class Judging:
    """The grader, by name, and its thresholds; `calibrated`: fitted to the collection."""

    grader: str
    thresholds: Thresholds
    calibrated: bool


@dataclass(frozen=True, slots=True)
class Equipping:
    """Factory of the resources of runs. Safe to share between threads.

    `answering` returns the name of the model that answers under some options. `fitted` returns the stored thresholds of
    a collection and a grader.
    """

    engines: Engines
    web: WebAccess
    embedders: EmbedderChoices
    recuts: Recuts
    traces: Traces
    answering: Callable[[RunOptions], str]
    fitted: Callable[[str, str], Thresholds | None]

    def equip(self, options: RunOptions) -> Equipment:
        """Open all resources for one question. Raises `ModelFault`, `BadRequest`, `NotFound`."""
        web, missing = self.web.search(options)
        engine = self.engines.open(self.answering(options), options)
        fitted = None if options.thresholds else self.fitted(options.collection, engine.grader.name)
        away = tuple(AWAY.format(label) for label in engine.away)
        traced = self.traces.on
        return Equipment(
            engine=engine,
            retriever=self.recuts.retriever(options),
            embedder=self.embedders.answering(),
            web=web,
            web_missing=missing,
            thresholds=options.thresholds or fitted,
            calibrated=fitted is not None,
            pages=self.web.pages(options),
            notes=(*away, self.traces.note) if traced else away,
            callbacks=self.traces.begin if traced else no_callbacks,
        )

    def judging(self, options: RunOptions) -> Judging:
        """Return what would grade under these options. Raises as `build`."""
        equipment = self.equip(options)
        grader = equipment.engine.grader
        return Judging(grader.name, equipment.thresholds or grader.thresholds, equipment.calibrated)
