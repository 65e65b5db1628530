"""The settings of an evaluation as rows of titles and values: shared by all variants, or different."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crag.evaluate.values import Environment, Variant
from crag.foreign_text import one_line
from crag.inspection.names import GRADERS, POLICIES
from crag.models.choice import model_label
from crag.options import RunOptions, Thresholds, changes_between, names_of_options, value_of
from crag.preferences import CATALOG

_TITLES = {
    "model": "Model that answers",
    "grader_model": "Model that grades",
    "rewriter_model": "Model that rewrites",
    "k": "Passages (k)",
    "web_results": "Web results",
    "join_web": "Web results as one passage",
    "passage_size": "Passage size in tokens",
    "collection": "Collection",
    "source_ids": "Documents asked",
    "thresholds": "Thresholds",
    "preset": "Preset",
}
_ENVIRONMENT = {
    "model": "Answered by",
    "fingerprint": "Digest of that model",
    "grader": "Graded by",
    "embedder": "Embedded by",
    "space": "Embedding space",
    "library": "Digest of the library",
    "documents": "Documents",
    "passages": "Passages",
    "thresholds": "Thresholds in force",
    "version": "Version of CRAG Chat",
}
_NAMES: Mapping[str, Mapping[Any, tuple[str, str]]] = {"policy": POLICIES, "grader": GRADERS}
_LEFT_OPEN = {
    "grader_model": "automatic",
    "rewriter_model": "automatic",
    "collection": "the whole library",
    "source_ids": "all",
    "thresholds": "automatic",
    "passage_size": "as in the library",
}


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting with its value in each variant; a single value if all variants share it."""

    title: str
    values: Sequence[str]


def setting_rows(variants: Sequence[Variant]) -> list[SettingRow]:
    """Return the environment first, then every setting, without rows that are empty in all variants."""
    names = _told_names(variants)
    columns = [_environment(variant.environment) | _options(variant, names) for variant in variants]
    rows = [(title, [column[title] for column in columns]) for title in columns[0]]
    return [SettingRow(title, values[:1] if len(set(values)) == 1 else values) for title, values in rows if any(values)]


def _environment(environment: Environment) -> dict[str, str]:
    values = asdict(environment)
    return {title: _value(values[name]) for name, title in _ENVIRONMENT.items()}


def _options(variant: Variant, names: Sequence[str]) -> dict[str, str]:
    told = {}
    for name in names:
        value = value_of(variant.options, name)
        title = _TITLES.get(name) or CATALOG[name].title
        told[title] = _LEFT_OPEN[name] if name in _LEFT_OPEN and not value else _named(name, value)
    return told


def _named(name: str, value: Any) -> str:
    """Return the on-screen label of a value."""
    if name.endswith("model"):
        return one_line(model_label(value))
    words = _NAMES.get(name, {})
    return words[value][0] if value in words else _value(value)


def _told_names(variants: Sequence[Variant]) -> list[str]:
    """Return all options with a title; model tuning only if any variant changes it."""
    usual = RunOptions()
    tuned = {name for one in variants for name in changes_between(usual, one.options)}
    names = [name for name in names_of_options() if name in _TITLES or name in CATALOG]
    return [name for name in names if "." not in name or name in tuned]


def _value(value: object) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case Thresholds():
            return f"{value.lower:g} and {value.upper:g}"
        case int():
            return f"{value:,}"
        case tuple():
            return f"{len(value):,}"
        case None:
            return ""
    return one_line(str(value))
