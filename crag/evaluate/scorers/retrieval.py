"""Whether the right passages were found, told by the names of their documents and by what they say."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from crag.evaluate.datasets.examples import Example
from crag.evaluate.scorers.words import holds
from crag.runs import Trace
from crag.types import Passage


def library_passages(trace: Trace) -> list[Passage]:
    """What was found in the library, the nearest first."""
    return [trace.passages[found] for found in trace.found.get("library", ())]


def score_retrieval(example: Example, trace: Trace) -> dict[str, float]:
    """`recall`, the share of the sources and phrases that were found, and `reciprocal_rank`, where they are known."""
    wanted = len(example.sources) + len(example.phrases)
    if not wanted or example.answerable is False:
        return {}
    passages = library_passages(trace)
    found = sum(any(is_from(one, source) for one in passages) for source in example.sources)
    found += sum(any(holds(one.text, phrase) for one in passages) for phrase in example.phrases)
    return {"recall": found / wanted, "reciprocal_rank": _reciprocal_rank(example, passages)}


def is_right(example: Example, passage: Passage) -> bool:
    """Whether this is one of the right passages; for what cannot be answered, none is."""
    if example.answerable is False:
        return False
    return any(is_from(passage, source) for source in example.sources) or any(
        holds(passage.text, phrase) for phrase in example.phrases
    )


def is_from(passage: Passage, source: str) -> bool:
    """Whether `source` is the id, title or location of the passage's document, or a whole word in one of them.

    So `set-7` is in `Victoria set-7.txt` and not in `Victoria set-71.txt`. A document that says the same and was left
    out for this one counts as found.
    """
    names = (passage.source_id, passage.title, passage.location, *passage.also_in)
    wanted = _plain(source)
    whole = re.compile(rf"(?<![\w-])(?<!\d\.){re.escape(wanted)}(?![\w-]|\.\d)")
    return bool(wanted) and any(_plain(name) == wanted or whole.search(_plain(name)) for name in names)


def _plain(name: str) -> str:
    """Some systems keep the accents and syllables of file names apart."""
    return unicodedata.normalize("NFC", name).strip().casefold()


def _reciprocal_rank(example: Example, passages: Sequence[Passage]) -> float:
    for rank, passage in enumerate(passages, start=1):
        if is_right(example, passage):
            return 1 / rank
    return 0.0
