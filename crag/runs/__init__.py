"""Runs: one execution of the graph for one question, independent of whoever watches."""

from crag.runs.service import QUESTION_LIMIT, RunService
from crag.runs.trace import Step, Trace

__all__ = ["QUESTION_LIMIT", "RunService", "Step", "Trace"]
