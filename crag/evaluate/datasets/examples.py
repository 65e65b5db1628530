"""What datasets hold: questions, each with what is known of a right answer to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crag.types import Action

DatasetKind = Literal["builtin", "uploaded", "pinned"]


@dataclass(frozen=True, slots=True)
class Example:
    """One row of a dataset: a question, and what is known of a right answer to it; what is empty is not known.

    `key` is the same for the same question in every version of a dataset. Any of the `references` is a right answer,
    any of the `steps` a right trajectory. The right passages are told by `sources` (ids or names of their documents)
    and `phrases` (text that they hold); each of either is one thing to be found.
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
        """Whether there is a right answer to hold one against, word by word or by a judge."""
        return self.answerable is not False and bool(self.references)

    @property
    def can_be_right(self) -> bool:
        """Whether an answer can be told right from wrong: there is something to hold it against."""
        return self.answerable is not False and bool(self.references or self.must_mention)

    @property
    def names_passages(self) -> bool:
        """Whether it is known which passages are right; for what cannot be answered, none is."""
        return self.answerable is False or bool(self.sources or self.phrases)


@dataclass(frozen=True, slots=True)
class Dataset:
    """Examples under a name. `person` is whose it is; empty: everybody's who uses this home."""

    id: str
    name: str
    kind: DatasetKind
    examples: tuple[Example, ...]
    made_at: float = 0.0
    person: str = ""
