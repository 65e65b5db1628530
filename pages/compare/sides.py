"""One of the two runs of a comparison, with its display name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.errors import NotFound
from crag.runs import Trace
from crag.types import Version
from pages.parts import markdown, words
from pages.parts.person import person
from pages.parts.resources import application

_ON_ITS_WAY = ("running", "waiting")


@dataclass(frozen=True, slots=True)
class Side:
    """A run with its name, such as *Version 2*, and a distinguishing detail; both are safe Markdown."""

    run_id: str
    trace: Trace
    name: str
    detail: str

    @property
    def on_its_way(self) -> bool:
        """Whether the run has not ended yet."""
        return self.trace.state in _ON_ITS_WAY


def both(run_ids: tuple[str, str]) -> tuple[Side, Side]:
    """Load two runs of this user: versions of one answer, or any two.

    Raises `NotFound`, also if both ids are equal: the keys of a run's widgets must be unique on the page.
    """
    if run_ids[0] == run_ids[1]:
        raise NotFound("There is one answer only.")
    for run_id in run_ids:
        application().conversations.of_run(run_id, person())
    versions = application().runs.versions(run_ids[0])
    one, other = run_ids
    if other in {version.run_id for version in versions}:
        return _version(one, versions), _version(other, versions)
    return _run(one, "First"), _run(other, "Second")


def _version(run_id: str, versions: Sequence[Version]) -> Side:
    own = next(version for version in versions if version.run_id == run_id)
    trace = application().runs.trace(run_id)
    return Side(run_id, trace, f"Version {own.number}", words.version_change(own.change))


def _run(run_id: str, name: str) -> Side:
    trace = application().runs.trace(run_id)
    return Side(run_id, trace, name, f"{markdown.label(trace.question, 80)} · {words.day(trace.started_at)}")
