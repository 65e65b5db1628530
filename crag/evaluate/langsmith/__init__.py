"""Evaluations as datasets and experiments at LangSmith, where a person sends them; nothing is sent otherwise."""

from crag.evaluate.langsmith.uploads import Uploads

__all__ = ["Uploads"]
