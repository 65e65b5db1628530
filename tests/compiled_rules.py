"""Compiles the language rules when it is imported, so that no process forked after that has to."""

import gc

from crag.text.patterns import _LazyPattern

for pattern in gc.get_objects():
    if isinstance(pattern, _LazyPattern):
        pattern.search("")
