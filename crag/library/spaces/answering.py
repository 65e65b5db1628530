"""What embeds questions and new passages: the embedder of the space that answers, or what stands in for it."""

from __future__ import annotations

from crag.database import Database
from crag.errors import ModelFault
from crag.library.spaces.embedders import KnownEmbedder, OpenEmbedders
from crag.library.spaces.rows import ActiveSpace, Choices, read_active_space, read_choices
from crag.protocols import Embedders, Vectors
from crag.types import Space

# The space that every installation can have: anything else that the application would choose is better.
_LEAST = "builtin"


class Answering:
    """Reads which space answers at each use, so that a switch by any process is followed at once."""

    def __init__(self, database: Database, source: Embedders, opened: OpenEmbedders) -> None:
        self._database = database
        self._source = source
        self._opened = opened
        self._fault: ModelFault | None = None

    def active(self) -> ActiveSpace:
        """The space that answers now."""
        with self._database.read() as connection:
            return read_active_space(connection)

    def choices(self) -> Choices:
        """What a person decided by hand."""
        with self._database.read() as connection:
            return read_choices(connection)

    def wanted(self) -> str:
        """The name of the embedder that is to answer: what a person chose, else what the settings name.

        A choice by hand holds against the settings until they name an embedder that was not known when it was made.
        What the application chooses by itself is for an empty library; one that holds passages stays where it is, and
        is offered to move (`offered`).
        """
        settings, choices, space = self._source.wanted(), self.choices(), self.active().space
        if choices.chosen:
            is_new = settings.explicit and settings.name not in choices.refused
            return settings.name if is_new else choices.chosen
        if space and not settings.explicit:
            return space.name
        return settings.name

    def offered(self) -> str:
        """The embedder to which the library could move from the built-in vectors, while nobody has decided; else empty.

        It is the one that the application would choose for an empty library.
        """
        settings, choices, space = self._source.wanted(), self.choices(), self.active().space
        if space is None or space.name != _LEAST or settings.explicit or choices.chosen:
            return ""
        return settings.name if settings.name != _LEAST else ""

    def embed_query(self, query: str) -> tuple[Space, Vectors] | None:
        """The question's vector, and of which space; None where nothing can embed it. See `notice`."""
        space = self.active().space
        if space is None:
            return None
        try:
            known = self._opened.open_for(space)
            vector = known.embed_query(query)
        except ModelFault as fault:
            self._fault = fault
            return self._stand_in(query)
        self._fault = None
        return known.space, vector

    def to_store(self) -> tuple[ActiveSpace, KnownEmbedder]:
        """The embedder for new passages, and the `ActiveSpace` as which they may be stored. Raises `ModelFault`."""
        active = self.active()
        if active.space is None:
            return active, self._opened.open(self.wanted())
        try:
            return active, self._opened.open_for(active.space)
        except ModelFault as fault:
            self._fault = fault
            return active, self._opened.open(self._fallback())

    def check(self) -> ModelFault | None:
        """Opens the embedder that answers, or is to, and says what is wrong with it."""
        space = self.active().space
        self._fault = None
        try:
            self._opened.open_for(space) if space else self._opened.open(self.wanted())
        except ModelFault as fault:
            self._fault = fault
        return self._fault

    def look_again(self) -> None:
        """An embedder may be there that was not: the next use finds out."""
        self._opened.look_again()

    def overruled(self) -> str:
        """The embedder that the settings name in vain, for a person decided otherwise by hand; else empty."""
        settings = self._source.wanted()
        return settings.name if settings.explicit and settings.name != self.wanted() else ""

    def notice(self) -> str:
        """What a person should know of the last use, in their words; empty while all is well."""
        fault, space = self._fault, self.active().space
        if fault is None or space is None:
            return ""
        if fault.code == "embedder_changed":
            return f"{fault.message} Till your documents are embedded anew, passages are found mostly by their words."
        why = f"{fault.message} {fault.remedy}".strip()
        return f"The embedder of your documents ({space.name}) could not be used, so they were searched by words: {why}"

    def _stand_in(self, query: str) -> tuple[Space, Vectors] | None:
        try:
            known = self._opened.open(self._fallback())
            return known.space, known.embed_query(query)
        except ModelFault:
            return None

    def _fallback(self) -> str:
        """What the settings name, though it does not answer yet; what a person refused stands in for nothing."""
        settings, choices = self._source.wanted(), self.choices()
        return choices.chosen if settings.name in choices.refused else settings.name
