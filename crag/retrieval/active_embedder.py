"""Active embedder: embeds questions and new passages in the active space, or through a stand-in.

A model is recognized by the vector of one fixed sentence (the canary), and checked again with every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crag.concurrency.caches import TTLCache
from crag.errors import ModelFault
from crag.protocols import Embedder, EmbedderProvider
from crag.storage.engine import Database
from crag.storage.spaces import (
    MIN_CANARY_COSINE,
    ActiveSpace,
    EmbedderChoices,
    read_active_space,
    read_embedder_choices,
    recognize_space,
)
from crag.translation import N_
from crag.types import EmbeddingSpace, Vectors

# Must never change: its vector is compared with stored ones. Three scripts, so that no tokenizer reduces it to nothing.
CANARY = "The canary sings in the coal mine at 7:45. 카나리아가 광산에서 노래한다. 金絲雀在礦坑裡歌唱。"
_CACHE_SECONDS = 15.0
_FAULT_CACHE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class VerifiedEmbedder:
    """An `Embedder` whose space has been recognized.

    Embeds the canary with each batch, so that a changed model is detected.
    """

    embedder: Embedder
    space: EmbeddingSpace
    canary: Vectors
    on_changed: Callable[[], None]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as `Embedder` does; guarantee that every row comes from the model of this space.

        Raises `ModelFault`.
        """
        rows = self.embedder.embed_documents([*texts, CANARY])
        if float(rows[-1] @ self.canary) < MIN_CANARY_COSINE:
            self.on_changed()
            raise ModelFault.make("embedder.embedder_changed", label=self.space.label, name=self.space.name)
        return rows[:-1]

    def embed_query(self, text: str) -> Vectors:
        """Embed a question as `Embedder` does."""
        return self.embedder.embed_query(text)


class EmbedderCache:
    """Opens embedders on demand and caches them for a few seconds, so that a changed model is noticed."""

    def __init__(self, database: Database, provider: EmbedderProvider) -> None:
        """Create an empty cache. `on_change` is called when an embedder returns, or returns with another space."""
        self.on_change: Callable[[], None] = lambda: None
        self._database = database
        self._provider = provider
        self._found: dict[str, VerifiedEmbedder | ModelFault] = {}  # by name, also what has expired in the cache
        self._cache = TTLCache(self._try_open, _seconds_to_cache)

    def open(self, name: str) -> VerifiedEmbedder:
        """Return the embedder with this name. Raises `ModelFault`."""
        found = self._cache.get(name)
        if isinstance(found, VerifiedEmbedder):
            return found
        raise ModelFault(found.code, found.message, found.remedy, found.fault)

    def open_for(self, space: EmbeddingSpace) -> VerifiedEmbedder:
        """Return the embedder of exactly this space. Raises `ModelFault`, also if another model now has its name."""
        known = self.open(space.name)
        if known.space.id != space.id:
            raise ModelFault.make("embedder.embedder_changed", label=space.label, name=space.name)
        return known

    def known_fault(self, space: EmbeddingSpace) -> ModelFault | None:
        """Return why the embedder of this space could not be opened when last tried; opens nothing."""
        found = self._found.get(space.name)
        if isinstance(found, VerifiedEmbedder):
            if found.space.id == space.id:
                return None
            return ModelFault.make("embedder.embedder_changed", label=space.label, name=space.name)
        return found

    def recheck(self) -> None:
        """Expire all cached embedders; each is opened again at its next use."""
        self._cache.forget_all()

    def _try_open(self, name: str) -> VerifiedEmbedder | ModelFault:
        before = self._found.get(name)
        try:
            found = self._found[name] = self._open_and_verify(name)
        except ModelFault as fault:
            self._found[name] = fault
            return fault
        if before is not None and not (isinstance(before, VerifiedEmbedder) and before.space == found.space):
            self.on_change()
        return found

    def _open_and_verify(self, name: str) -> VerifiedEmbedder:
        embedder = self._provider.open(name)
        canary = embedder.embed_documents([CANARY])[0]
        with self._database.read() as connection:
            space = recognize_space(connection, embedder.space, canary)
        return VerifiedEmbedder(embedder, space, canary, lambda: self._cache.forget(name))


def _seconds_to_cache(found: VerifiedEmbedder | ModelFault) -> float:
    return _FAULT_CACHE_SECONDS if isinstance(found, ModelFault) else _CACHE_SECONDS


def describe_embedder_fault(fault: ModelFault, space: EmbeddingSpace) -> str:
    """Tell the user why the embedder of the documents, whose space is `space`, could not be used."""
    if fault.code == "embedder_changed":
        return N_(f"{fault.message} Until your documents are embedded again, passages are found mostly by their words.")
    why = f"{fault.message} {fault.remedy}".strip()
    return N_(f"The embedder of your documents ({space.name}) could not be used, so they were searched by words: {why}")


# Available in every installation. Any other embedder that the application would choose is better.
_BUILTIN_SPACE = "builtin"


class ActiveEmbedder:
    """Embeds questions and new passages.

    Reads the active space at each use, so that a switch by any process takes effect at once.
    """

    def __init__(self, database: Database, provider: EmbedderProvider, cache: EmbedderCache) -> None:
        self._database = database
        self._provider = provider
        self._cache = cache

    def active_space(self) -> ActiveSpace:
        """Return the active space."""
        with self._database.read() as connection:
            return read_active_space(connection)

    def choices(self) -> EmbedderChoices:
        """Return the user's explicit choices."""
        with self._database.read() as connection:
            return read_embedder_choices(connection)

    def wanted(self) -> str:
        """Return the name of the embedder to use: the user's choice, else the one from the settings.

        A user's choice takes precedence until the settings name an embedder that was unknown when the choice was made.
        The application's own preference applies to an empty library only; a library with passages stays in its space
        and is offered the move (`offered`).
        """
        settings, choices, space = self._provider.wanted(), self.choices(), self.active_space().space
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
        settings, choices, space = self._provider.wanted(), self.choices(), self.active_space().space
        if space is None or space.name != _BUILTIN_SPACE or settings.explicit or choices.chosen:
            return ""
        return settings.name if settings.name != _BUILTIN_SPACE else ""

    def embed_query(self, query: str) -> tuple[tuple[EmbeddingSpace, Vectors] | None, str]:
        """Return the question's space and vector, None if no embedder is available, and a notice to the user.

        The notice says why the embedder of the documents could not be used; it is empty if it was.
        """
        space = self.active_space().space
        if space is None:
            return None, ""
        try:
            known = self._cache.open_for(space)
            return (known.space, known.embed_query(query)), ""
        except ModelFault as fault:
            return self._stand_in(query), describe_embedder_fault(fault, space)

    def open_for_storing(self) -> tuple[ActiveSpace, VerifiedEmbedder]:
        """Return the embedder for new passages and the `ActiveSpace` to store them under. Raises `ModelFault`."""
        active = self.active_space()
        if active.space is None:
            return active, self._cache.open(self.wanted())
        try:
            return active, self._cache.open_for(active.space)
        except ModelFault:
            return active, self._cache.open(self._fallback_name())

    def check(self) -> ModelFault | None:
        """Open the active or wanted embedder and return its fault, if any."""
        space = self.active_space().space
        try:
            self._cache.open_for(space) if space else self._cache.open(self.wanted())
        except ModelFault as fault:
            return fault
        return None

    def recheck(self) -> None:
        """Re-check which embedders are available, at the next use."""
        self._cache.recheck()

    def overruled(self) -> str:
        """Return the embedder named in the settings if the user's choice overrides it; else empty."""
        settings = self._provider.wanted()
        return settings.name if settings.explicit and settings.name != self.wanted() else ""

    def known_fault(self) -> str:
        """Return why the embedder of the documents could not be used when it was last tried, in words for the user.

        Opens nothing; empty if the embedder was available or has not been tried.
        """
        space = self.active_space().space
        fault = self._cache.known_fault(space) if space else None
        return describe_embedder_fault(fault, space) if fault and space else ""

    def _stand_in(self, query: str) -> tuple[EmbeddingSpace, Vectors] | None:
        """Embed the question with the stand-in embedder; None if that fails too."""
        try:
            known = self._cache.open(self._fallback_name())
            return known.space, known.embed_query(query)
        except ModelFault:
            return None

    def _fallback_name(self) -> str:
        """Return the embedder from the settings, though its space is not active; never one that the user rejected."""
        settings, choices = self._provider.wanted(), self.choices()
        return choices.chosen if settings.name in choices.refused else settings.name
