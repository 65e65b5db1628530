"""Runs: one execution of the graph for one question, independent of whoever watches."""

from crag.runs.service import RunService
from crag.runs.trace import Step, Trace

__all__ = ["RunService", "Step", "Trace"]
