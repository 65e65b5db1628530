"""Choice of the embedder: the part of the composition root that knows embedders and embedding spaces."""

from __future__ import annotations

from crag.library import Library
from crag.models.choice import ModelChoice, available_embedders, choose_embedder, embedder_label
from crag.models.nomic.weights import NOMIC
from crag.settings import Settings


class EmbedderChoices:
    """Embedders of a home; each method reads the current state."""

    def __init__(self, settings: Settings, library: Library) -> None:
        self._settings = settings
        self._library = library

    def wanted(self) -> ModelChoice:
        """Return the embedder to use, and why. It answers once it has embedded all documents: see `answering`."""
        answering, choice = self._library.spaces.answering, choose_embedder(self._settings)
        name = answering.wanted()
        if name == answering.choices().chosen:
            return ModelChoice(name, embedder_label(name), "Chosen by hand.")
        if name == choice.name:
            return choice
        return ModelChoice(name, embedder_label(name), "It embedded your documents before, so it goes on.")

    def answering(self) -> str:
        """Return the label of the embedder that answers now."""
        space = self._library.spaces.answering.active().space
        return embedder_label(space.name) if space else self.wanted().label

    def offered(self) -> int:
        """Count the passages that could move to Nomic's space, if its weights are present and no choice was made yet.

        `library.space_work.choose("nomic")` moves them in the background.
        """
        return self._passages() if self._library.spaces.answering.offered() == NOMIC else 0

    def outside_nomic(self) -> int:
        """Count the passages that could move to Nomic's space or are moving there."""
        answering = self._library.spaces.answering
        space = answering.active().space
        on_their_way = answering.wanted() == NOMIC and space is not None and space.name != NOMIC
        return self._passages() if on_their_way else self.offered()

    def available(self) -> list[ModelChoice]:
        """Return every embedder that can be chosen now."""
        return available_embedders(self._settings)

    def _passages(self) -> int:
        return self._library.counts()[1]
