"""Bounds of the numbers in imported events. Pages draw them, and models are called with them."""

from __future__ import annotations

from collections.abc import Iterable

from crag.errors import BadRequest
from crag.events import (
    AnswerWritten,
    ConsentAsked,
    EngineOpened,
    Event,
    NodeEnded,
    NodeStarted,
    PassageGraded,
    PassagesFound,
    PromptBuilt,
    QuestionShortened,
    RunEnded,
    RunStarted,
    StripsScored,
    ThoughtWritten,
)
from crag.options import RunOptions, Thresholds, changes_between
from crag.preferences.catalog import CATALOG
from crag.sharing.document import LATEST

Bounded = tuple[float, float, float]  # lowest, value, highest

_LONGEST_RUN = 1e9  # seconds
_MOST_FOUND = 100  # the maximum on the command line
_MOST_TOKENS = 10**9
_MOST_PAGES = 10**6
_LARGEST_ID = 2**53
_LONGEST_PASSAGE = 100_000  # tokens
_WIDER = {"k": _MOST_FOUND, "web_results": _MOST_FOUND}  # wider than the bounds of saved options


def within_bounds(event: Event) -> bool:
    """Return whether every number of an event is plausible."""
    if isinstance(event, RunStarted) and not possible(event.options):
        return False
    return all(lowest <= value <= highest for lowest, value, highest in _numbers(event))


def possible(options: RunOptions) -> bool:
    """Return whether a question could be asked under these options."""
    for name, value in changes_between(RunOptions(), options).items():
        if name in _WIDER:
            if not 1 <= value <= _WIDER[name]:
                return False
        elif name in CATALOG and not _fits(name, value):
            return False
    bounded = [(0, options.passage_size, _LONGEST_PASSAGE), *_thresholds(options.thresholds)]
    return all(lowest <= value <= highest for lowest, value, highest in bounded)


def _fits(name: str, value: object) -> bool:
    try:
        CATALOG[name].check(value)
    except BadRequest:
        return False
    return True


def _thresholds(thresholds: Thresholds | None) -> Iterable[Bounded]:
    if thresholds is not None:
        yield 0, thresholds.lower, thresholds.upper
        yield thresholds.lower, thresholds.upper, 1


def _numbers(event: Event) -> Iterable[Bounded]:
    match event:
        case RunStarted():
            yield 0, event.started_at, LATEST
        case EngineOpened():
            yield from _thresholds(event.thresholds)
        case NodeStarted() | NodeEnded() | ThoughtWritten() | ConsentAsked() | RunEnded():
            yield 0, event.at, _LONGEST_RUN
        case QuestionShortened():
            yield 0, event.left_out, event.tokens
            yield 0, event.tokens, _MOST_TOKENS
        case PromptBuilt():
            yield from ((0, value, _MOST_TOKENS) for value in (event.tokens, event.window, event.left_out))
        case PassageGraded():
            yield 0, event.verdict.score or 0, 1
        case StripsScored():
            yield from ((0, strip.score or 0, 1) for strip in event.strips)
        case PassagesFound():
            yield from _numbers_of_passages(event)
        case AnswerWritten():
            yield from ((1, cited.n, _MOST_FOUND) for cited in event.citations)
            yield len(event.citations), len({cited.n for cited in event.citations}), _MOST_FOUND


def _numbers_of_passages(event: PassagesFound) -> Iterable[Bounded]:
    """Yield the bounds of passages. Library ids are positive, web ids negative; each occurs once."""
    library = event.origin == "library"
    for passage in event.passages:
        yield (1 if library else -_LARGEST_ID), passage.id, (_LARGEST_ID if library else -1)
        yield 0, passage.page or 0, _MOST_PAGES
    yield 0, event.searched, _LARGEST_ID
    yield len(event.passages), len({passage.id for passage in event.passages}), _MOST_FOUND
