"""What a question is answered with under its options: engine, retriever, web search, thresholds, put together."""

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
    """What grades, by name, and where its scores turn into words; `calibrated`: fitted to the collection."""

    grader: str
    thresholds: Thresholds
    calibrated: bool


@dataclass(frozen=True, slots=True)
class Equipping:
    """Safe to share between threads. `answering` names what answers under some options.

    `fitted` gives the thresholds that were kept for a collection and a grader.
    """

    engines: Engines
    web: WebAccess
    embedders: EmbedderChoices
    recuts: Recuts
    traces: Traces
    answering: Callable[[RunOptions], str]
    fitted: Callable[[str, str], Thresholds | None]

    def equip(self, options: RunOptions) -> Equipment:
        """Everything for one question. Raises `ModelFault`, `BadRequest`, `NotFound`."""
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
        """What would grade under these options. Raises as `equip`."""
        equipment = self.equip(options)
        grader = equipment.engine.grader
        return Judging(grader.name, equipment.thresholds or grader.thresholds, equipment.calibrated)
