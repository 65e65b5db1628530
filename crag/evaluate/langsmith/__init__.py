"""Evaluations as datasets and experiments in LangSmith, sent only when a user asks for it."""

from crag.evaluate.langsmith.uploads import Uploads

__all__ = ["Uploads"]
