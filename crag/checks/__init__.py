"""The set-up checklist: what is there, what is not, and the one action that mends it."""

from crag.checks.facts import Facts, look_at_server
from crag.checks.library import answering_check, library_checks
from crag.checks.setup import setup_checks

__all__ = ["Facts", "answering_check", "library_checks", "look_at_server", "setup_checks"]
