"""Figures of this process for Prometheus: counts and times alone, no text and no person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from crag.errors import CragError
from crag.runs.trace import Trace
from crag.types import ModelCall

_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class Metrics:
    """Counters of the runs that ended in this process, and what is true when they are read. Thread-safe."""

    def __init__(
        self, count_runs: Callable[[], tuple[int, int]], count_documents: Callable[[], tuple[int, int, int]]
    ) -> None:
        """Count from zero. `count_runs` returns active and waiting runs, `count_documents` documents and passages."""
        self._registry = CollectorRegistry()
        self._registry.register(_Gauges(count_runs, count_documents))
        self._questions = self._counter("crag_questions", "Questions by outcome, those of evaluations too", "outcome")
        self._faults = self._counter("crag_faults", "Questions that failed, by code", "code")
        self._tokens = self._counter("crag_tokens", "Tokens read and written", "model", "kind")
        self._steps = Histogram(
            "crag_step_seconds", "Duration of steps", ("step",), buckets=_SECONDS, registry=self._registry
        )

    def count(self, trace: Trace, calls: Iterable[ModelCall]) -> None:
        """Count a run that ended, and its calls of models."""
        if trace.error_code:
            self._faults.labels(trace.error_code).inc()
        for step in trace.steps:
            if step.seconds is not None and not step.kept:
                self._steps.labels(step.node).observe(step.seconds)
        for call in calls:
            for kind, tokens in (("prompt", call.prompt_tokens), ("answer", call.answer_tokens)):
                if tokens:  # a model that answered nothing may have any name
                    self._tokens.labels(call.model, kind).inc(tokens)
        outcome = trace.outcome if trace.state == "done" else None
        self._questions.labels(outcome or trace.state).inc()

    def render(self) -> bytes:
        """Return all figures in Prometheus' text format."""
        return generate_latest(self._registry)

    def _counter(self, name: str, description: str, *labels: str) -> Counter:
        return Counter(name, description, labels, registry=self._registry)


class _Gauges(Collector):
    def __init__(
        self, count_runs: Callable[[], tuple[int, int]], count_documents: Callable[[], tuple[int, int, int]]
    ) -> None:
        self._count_runs = count_runs
        self._count_documents = count_documents

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the state of now; without documents while the database does not answer."""
        active, waiting = self._count_runs()
        yield GaugeMetricFamily("crag_questions_active", "Questions being answered by this process", active)
        yield GaugeMetricFamily("crag_questions_waiting", "Questions waiting for a model or the processor", waiting)
        with suppress(CragError):
            documents, passages, _ = self._count_documents()
            yield GaugeMetricFamily("crag_documents", "Documents of the home", documents)
            yield GaugeMetricFamily("crag_passages", "Passages of the home", passages)
