"""Runs: each is one execution of the graph for one question, independent of any viewer."""

from crag.runs.service import RunService
from crag.runs.texts import QUESTION_LIMIT
from crag.runs.trace import Step, Trace

__all__ = ["QUESTION_LIMIT", "RunService", "Step", "Trace"]
