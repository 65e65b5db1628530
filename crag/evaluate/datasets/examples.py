"""Values of datasets: questions, each with what is known about its right answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crag.types import Action

DatasetKind = Literal["builtin", "uploaded", "pinned"]


@dataclass(frozen=True, slots=True)
class Example:
    """One row of a dataset: a question and what is known about its right answer; empty fields are unknown.

    `key` identifies the same question in every version of a dataset. Any of the `references` is a right answer, any of
    the `steps` a right trajectory. Right passages are identified by `sources` (ids or names of their documents) and
    `phrases` (text they contain); retrieval should find every one of these.
    """

    key: str
    question: str
    references: tuple[str, ...] = ()
    steps: tuple[tuple[str, ...], ...] = ()
    action: Action | None = None
    answerable: bool | None = None
    sources: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    must_mention: tuple[str, ...] = ()
    must_not_mention: tuple[str, ...] = ()
    language: str = ""

    @property
    def has_reference(self) -> bool:
        """Whether there is a right answer to compare with, word by word or by a judge."""
        return self.answerable is not False and bool(self.references)

    @property
    def can_be_right(self) -> bool:
        """Whether an answer can be called right or wrong: a reference or a required phrase is known."""
        return self.answerable is not False and bool(self.references or self.must_mention)

    @property
    def names_passages(self) -> bool:
        """Whether the right passages are known; an unanswerable question has none, which counts as known."""
        return self.answerable is False or bool(self.sources or self.phrases)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples under a name. `person` is the owner's key; empty: shared by everybody who uses this home."""

    id: str
    name: str
    kind: DatasetKind
    examples: tuple[Example, ...]
    made_at: float = 0.0
    person: str = ""
