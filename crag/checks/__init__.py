"""The set-up checklist: what is there, what is not, and the one action that mends it.

What a page needs is imported from here: threads that import a package and a part of it at once get half of it.
"""

from crag.checks.facts import Facts, look_at_server
from crag.checks.library import answering_check, library_checks
from crag.checks.models import LLAMA
from crag.checks.setup import setup_checks, shown_checks, unknown_checks
from crag.checks.values import Check, CheckAction

__all__ = [
    "LLAMA",
    "Check",
    "CheckAction",
    "Facts",
    "answering_check",
    "library_checks",
    "look_at_server",
    "setup_checks",
    "shown_checks",
    "unknown_checks",
]
