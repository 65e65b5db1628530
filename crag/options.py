"""What a question runs under: every choice a person can make, as plain values, and changes of them by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from crag.types import VerdictWord

PolicyName = Literal["paper", "any", "none", "off"]
WebMode = Literal["off", "ask", "auto"]
RewriteStyle = Literal["none", "question", "keywords"]
GraderKind = Literal["auto", "builtin", "score", "explained", "listwise", "cascade"]

Changes = Mapping[str, Any]  # values by the names of `names_of_options`, such as `k` or `answering.window`


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores ≥ upper are *relevant*, scores < lower *irrelevant*, between them *ambiguous*; 0 ≤ lower ≤ upper ≤ 1."""

    lower: float
    upper: float

    def word(self, score: float | None) -> VerdictWord:
        """The verdict word for a score in 0..1; None (could not be judged) is `unknown`."""
        if score is None:
            return "unknown"
        if score >= self.upper:
            return "relevant"
        return "irrelevant" if score < self.lower else "ambiguous"


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a language model plays one role.

    `window` and `answer_limit` in tokens; `keep_alive` in seconds after the last use, -1 for as long as the server
    runs; `parallelism` is how many requests are sent at once, 0 as many as the server is known to work on.
    """

    temperature: float = 0.0
    window: int = 8192
    answer_limit: int = 1024
    keep_alive: int = 1800
    parallelism: int = 0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything a person can choose for one question. `collection` and `source_ids` empty mean the whole library.

    `grader_model` and `rewriter_model` empty mean the model that answers; `thresholds` None those that were calibrated
    for the collection, else the grader's own; `thinking` lets the model that answers think aloud first, where it can;
    `fetch_pages` reads the pages that a web search found. `passage_size` in tokens: how the documents are cut for an
    evaluation; 0, as the library is.
    """

    model: str = "auto"
    k: int = 4
    policy: PolicyName = "paper"
    web: WebMode = "off"
    refine: bool = True
    rewrite: RewriteStyle = "question"
    web_results: int = 3
    join_web: bool = False
    parent_context: bool = False
    grader: GraderKind = "auto"
    grader_model: str = ""
    rewriter_model: str = ""
    answering: Tuning = Tuning()
    grading: Tuning = Tuning()
    rewriting: Tuning = Tuning()
    thinking: bool = False
    thresholds: Thresholds | None = None
    fetch_pages: bool = False
    collection: str = ""
    source_ids: tuple[str, ...] = ()
    preset: str = ""
    passage_size: int = 0


ROLES = ("answering", "grading", "rewriting")


def names_of_options() -> tuple[str, ...]:
    """Every name by which an option can be changed; those of a role's tuning as `answering.window`."""
    own = (field.name for field in fields(RunOptions) if field.name not in ROLES)
    return *own, *(f"{role}.{field.name}" for role in ROLES for field in fields(Tuning))


def value_of(options: RunOptions, name: str) -> Any:
    """The value of the option of this name."""
    role, _, own = name.rpartition(".")
    return getattr(getattr(options, role) if role else options, own)


def with_changes(options: RunOptions, changes: Changes) -> RunOptions:
    """The options with these values in place of theirs."""
    for name, value in changes.items():
        role, _, own = name.rpartition(".")
        changed = replace(getattr(options, role), **{own: value}) if role else value
        options = replace(options, **{role or own: changed})
    return options


def changes_between(before: RunOptions, after: RunOptions) -> dict[str, Any]:
    """What has to be changed of `before` to have `after`."""
    names = names_of_options()
    return {name: value_of(after, name) for name in names if value_of(after, name) != value_of(before, name)}


def dump_changes(changes: Changes) -> str:
    """The changes as JSON."""
    return json.dumps(dict(changes), default=lambda value: [value.lower, value.upper])


def load_changes(text: str) -> dict[str, Any]:
    """The changes from their JSON; what another version wrote that means nothing here is left out."""
    try:
        written = json.loads(text)
    except ValueError:
        return {}
    named = written if isinstance(written, dict) else {}
    thawed = {name: _thawed(name, value) for name, value in named.items() if name in names_of_options()}
    return {name: value for name, value in thawed.items() if _is_of_its_kind(name, value)}


def _thawed(name: str, value: Any) -> Any:
    """What JSON makes a list or a mapping of."""
    if name == "thresholds" and isinstance(value, dict | list):
        values = list(value.values()) if isinstance(value, dict) else value
        is_two = len(values) == 2 and all(isinstance(one, int | float) for one in values)
        return Thresholds(*sorted(values)) if is_two else value
    return tuple(map(str, value)) if name == "source_ids" and isinstance(value, list) else value


def _is_of_its_kind(name: str, value: Any) -> bool:
    """Whether a value is such as its option has."""
    if name == "thresholds":
        return value is None or isinstance(value, Thresholds)
    usual = type(value_of(RunOptions(), name))
    return isinstance(value, int | float if usual is float else usual) and isinstance(value, bool) == (usual is bool)
