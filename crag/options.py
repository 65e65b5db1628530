"""Options of a run as plain values, and changes to them by name."""

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

Changes = Mapping[str, Any]  # option values by name, such as `k` or `answering.window`


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores ≥ upper are *relevant*, scores < lower *irrelevant*, others *ambiguous*. 0 ≤ lower ≤ upper ≤ 1."""

    lower: float
    upper: float

    def word(self, score: float | None) -> VerdictWord:
        """Return the verdict for a score in 0..1, or `unknown` for None (could not be judged)."""
        if score is None:
            return "unknown"
        if score >= self.upper:
            return "relevant"
        return "irrelevant" if score < self.lower else "ambiguous"


@dataclass(frozen=True, slots=True)
class Tuning:
    """Parameters of a language model in one role.

    `window` and `answer_limit` are in tokens. `keep_alive` is in seconds after the last use; -1 keeps the model loaded
    as long as the server runs. `parallelism` is the number of concurrent requests; 0 uses the server's known capacity.
    """

    temperature: float = 0.0
    window: int = 8192
    answer_limit: int = 1024
    keep_alive: int = 1800
    parallelism: int = 0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """All options of one question. Empty `collection` and `source_ids` mean the whole library.

    An empty `grader_model` or `rewriter_model` means the answering model. `thresholds` None means those calibrated for
    the collection, or else the grader's own. `thinking` lets the answering model reason first, if it can. `fetch_pages`
    reads the full pages found by a web search. `passage_size` is the chunk size in tokens for an evaluation; 0 keeps
    the library's.
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
    """Return the names of all options; a model parameter of a role is named like `answering.window`."""
    own = (field.name for field in fields(RunOptions) if field.name not in ROLES)
    return *own, *(f"{role}.{field.name}" for role in ROLES for field in fields(Tuning))


def value_of(options: RunOptions, name: str) -> Any:
    """Return the value of the named option."""
    role, _, own = name.rpartition(".")
    return getattr(getattr(options, role) if role else options, own)


def with_changes(options: RunOptions, changes: Changes) -> RunOptions:
    """Return the options with the given changes applied."""
    for name, value in changes.items():
        role, _, own = name.rpartition(".")
        changed = replace(getattr(options, role), **{own: value}) if role else value
        options = replace(options, **{role or own: changed})
    return options


def changes_between(before: RunOptions, after: RunOptions) -> dict[str, Any]:
    """Return the changes that turn `before` into `after`."""
    names = names_of_options()
    return {name: value_of(after, name) for name in names if value_of(after, name) != value_of(before, name)}


def dump_changes(changes: Changes) -> str:
    """Return the changes as JSON."""
    return json.dumps(dict(changes), default=lambda value: [value.lower, value.upper])


def load_changes(text: str) -> dict[str, Any]:
    """Parse changes from JSON. Entries that this version does not know or cannot interpret are dropped."""
    try:
        written = json.loads(text)
    except ValueError:
        return {}
    named = written if isinstance(written, dict) else {}
    thawed = {name: _thawed(name, value) for name, value in named.items() if name in names_of_options()}
    return {name: value for name, value in thawed.items() if _is_of_its_kind(name, value)}


def _thawed(name: str, value: Any) -> Any:
    """Convert a JSON list or object back to the option's type."""
    if name == "thresholds" and isinstance(value, dict | list):
        values = list(value.values()) if isinstance(value, dict) else value
        is_two = len(values) == 2 and all(isinstance(one, int | float) for one in values)
        return Thresholds(*sorted(values)) if is_two else value
    return tuple(map(str, value)) if name == "source_ids" and isinstance(value, list) else value


def _is_of_its_kind(name: str, value: Any) -> bool:
    """Return whether the value has the type of the option."""
    if name == "thresholds":
        return value is None or isinstance(value, Thresholds)
    usual = type(value_of(RunOptions(), name))
    return isinstance(value, int | float if usual is float else usual) and isinstance(value, bool) == (usual is bool)
