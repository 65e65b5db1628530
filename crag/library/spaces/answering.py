"""Active embedder: the embedder of the active space, or its stand-in."""

from __future__ import annotations

from crag.database import Database
from crag.errors import ModelFault
from crag.library.spaces.embedders import KnownEmbedder, OpenEmbedders
from crag.library.spaces.rows import ActiveSpace, Choices, read_active_space, read_choices
from crag.protocols import Embedders, Vectors
from crag.types import Space

# Available in every installation. Any other embedder that the application would choose is better.
_LEAST = "builtin"


class Answering:
    """Embeds questions and new passages.

    Reads the active space at each use, so that a switch by any process takes effect at once.
    """

    def __init__(self, database: Database, source: Embedders, opened: OpenEmbedders) -> None:
        self._database = database
        self._source = source
        self._opened = opened
        self._fault: ModelFault | None = None

    def active(self) -> ActiveSpace:
        """Return the active space."""
        with self._database.read() as connection:
            return read_active_space(connection)

    def choices(self) -> Choices:
        """Return the user's explicit choices."""
        with self._database.read() as connection:
            return read_choices(connection)

    def wanted(self) -> str:
        """Return the name of the embedder to use: the user's choice, else the one from the settings.

        A user's choice takes precedence until the settings name an embedder that was unknown when the choice was made.
        The application's own preference applies to an empty library only; a library with passages stays in its space
        and is offered the move (`offered`).
        """
        settings, choices, space = self._source.wanted(), self.choices(), self.active().space
        if choices.chosen:
            is_new = settings.explicit and settings.name not in choices.refused
            return settings.name if is_new else choices.chosen
        if space and not settings.explicit:
            return space.name
        return settings.name

    def offered(self) -> str:
        """Return the embedder that a library with built-in vectors could move to; empty after any explicit choice.

        It is the embedder that the application would choose for an empty library.
        """
        settings, choices, space = self._source.wanted(), self.choices(), self.active().space
        if space is None or space.name != _LEAST or settings.explicit or choices.chosen:
            return ""
        return settings.name if settings.name != _LEAST else ""

    def embed_query(self, query: str) -> tuple[Space, Vectors] | None:
        """Return the question's vector and its space, or None if no embedder is available (see `notice`)."""
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
        """Return the embedder for new passages and the `ActiveSpace` to store them under. Raises `ModelFault`."""
        active = self.active()
        if active.space is None:
            return active, self._opened.open(self.wanted())
        try:
            return active, self._opened.open_for(active.space)
        except ModelFault as fault:
            self._fault = fault
            return active, self._opened.open(self._fallback())

    def check(self) -> ModelFault | None:
        """Open the active or wanted embedder and return its fault, if any."""
        space = self.active().space
        self._fault = None
        try:
            self._opened.open_for(space) if space else self._opened.open(self.wanted())
        except ModelFault as fault:
            self._fault = fault
        return self._fault

    def look_again(self) -> None:
        """Re-check which embedders are available, at the next use."""
        self._opened.look_again()

    def overruled(self) -> str:
        """Return the embedder named in the settings if the user's choice overrides it; else empty."""
        settings = self._source.wanted()
        return settings.name if settings.explicit and settings.name != self.wanted() else ""

    def notice(self) -> str:
        """Return the problem of the last use in words for the user; empty if there was none."""
        fault, space = self._fault, self.active().space
        if fault is None or space is None:
            return ""
        if fault.code == "embedder_changed":
            return f"{fault.message} Till your documents are embedded anew, passages are found mostly by their words."
        why = f"{fault.message} {fault.remedy}".strip()
        return f"The embedder of your documents ({space.name}) could not be used, so they were searched by words: {why}"

    def _stand_in(self, query: str) -> tuple[Space, Vectors] | None:
        """Embed the question with the stand-in embedder; None if that fails too."""
        try:
            known = self._opened.open(self._fallback())
            return known.space, known.embed_query(query)
        except ModelFault:
            return None

    def _fallback(self) -> str:
        """Return the embedder from the settings, though its space is not active; never one that the user rejected."""
        settings, choices = self._source.wanted(), self.choices()
        return choices.chosen if settings.name in choices.refused else settings.name
