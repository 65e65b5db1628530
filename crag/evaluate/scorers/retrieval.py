"""Scores of retrieval: right passages are recognized by the names of their documents and by phrases."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.words import holds
from crag.runs import Trace
from crag.types import Passage


def library_passages(trace: Trace) -> list[Passage]:
    """Return the passages retrieved from the library, best first."""
    return [trace.passages[found] for found in trace.found.get("library", ())]


def score_retrieval(example: Example, trace: Trace) -> dict[str, float]:
    """Return `recall`, the share of sources and phrases found, and `reciprocal_rank`, if these are known."""
    wanted = len(example.sources) + len(example.phrases)
    if not wanted or example.answerable is False:
        return {}
    passages = library_passages(trace)
    found = sum(any(is_from(one, source) for one in passages) for source in example.sources)
    found += sum(any(holds(one.text, phrase) for one in passages) for phrase in example.phrases)
    return {"recall": found / wanted, "reciprocal_rank": _reciprocal_rank(example, passages)}


def is_right(example: Example, passage: Passage) -> bool:
    """Return whether this is one of the right passages; an unanswerable question has none."""
    if example.answerable is False:
        return False
    return any(is_from(passage, source) for source in example.sources) or any(
        holds(passage.text, phrase) for phrase in example.phrases
    )


def is_from(passage: Passage, source: str) -> bool:
    """Return whether `source` is the id, title or location of the passage's document, or a whole word in one.

    So `set-7` matches `Victoria set-7.txt` but not `Victoria set-71.txt`. A duplicate document left out in favour of
    this one also matches.
    """
    names = (passage.source_id, passage.title, passage.location, *passage.also_in)
    wanted = _plain(source)
    whole = re.compile(rf"(?<![\w-])(?<!\d\.){re.escape(wanted)}(?![\w-]|\.\d)")
    return bool(wanted) and any(_plain(name) == wanted or whole.search(_plain(name)) for name in names)


def _plain(name: str) -> str:
    """Normalize a file name; some systems store accents and Korean syllables decomposed."""
    return unicodedata.normalize("NFC", name).strip().casefold()


def _reciprocal_rank(example: Example, passages: Sequence[Passage]) -> float:
    for rank, passage in enumerate(passages, start=1):
        if is_right(example, passage):
            return 1 / rank
    return 0.0
