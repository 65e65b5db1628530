"""Turns files into documents, in a child process that can be killed."""

from crag.library.parse.limits import Limits
from crag.library.parse.parent import parse

__all__ = ["Limits", "parse"]
