"""Descriptions of what changed since an evaluation: settings, models, documents."""

from __future__ import annotations

from collections.abc import Iterator

from crag.amounts import count
from crag.evaluate.values import Environment, Variant
from crag.inspection.names import change_in_words, grader_in_words
from crag.options import RunOptions
from crag.runs.changes import changed

_DIGEST_SHOWN = 12


def changes_since(before: Variant, options: RunOptions, now: Environment) -> tuple[str, ...]:
    """Return one clause per difference; nothing is said about unknown earlier values."""
    settings = change_in_words(changed(before.options, options))
    said = [] if before.options == options or settings == "asked again" else [f"the settings: {settings}"]
    then = before.environment
    return (*said, *(_environment(then, now) if then != Environment() else ()))


def _environment(then: Environment, now: Environment) -> Iterator[str]:
    if then.model != now.model:
        yield f"the model: {then.model} → {now.model}"
    elif then.fingerprint != now.fingerprint:
        yield f"the model {now.model}: {_updated(then.fingerprint, now.fingerprint)}"
    if _grader(then.grader) != _grader(now.grader):
        yield f"the grader: {_grader(then.grader)} → {_grader(now.grader)}"
    if then.thresholds != now.thresholds:
        yield f"the thresholds: {then.thresholds} → {now.thresholds}"
    if then.embedder != now.embedder:
        yield f"the embedder: {then.embedder} → {now.embedder}"
    elif then.space != now.space:
        yield f"the embedder {now.embedder} has other weights"
    if then.library != now.library:
        yield _documents(now.documents - then.documents)
    if then.version != now.version:
        yield f"the application: {then.version} → {now.version}"


def _grader(name: str) -> str:
    kind, model = grader_in_words(name)
    return f"{kind} by {model}" if model else kind


def _updated(then: str, now: str) -> str:
    """Describe models whose digests changed; a fingerprint lists `NAME@DIGEST` of each model once."""
    held, holds = (dict.fromkeys(text.split(", ")) for text in (then, now))
    gone = ", ".join(_short(one) for one in held if one not in holds)
    come = ", ".join(_short(one) for one in holds if one not in held)
    return f"{gone or 'nothing'} → {come or 'nothing'}"


def _short(fingerprint: str) -> str:
    name, at, digest = fingerprint.rpartition("@")
    return f"{name} with digest {digest[:_DIGEST_SHOWN]}" if at else fingerprint


def _documents(more: int) -> str:
    if more == 0:
        return "documents were replaced, or cut into other passages"
    return f"{count(abs(more), 'document')} {'more' if more > 0 else 'fewer'}"
