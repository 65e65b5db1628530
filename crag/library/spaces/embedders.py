"""Cache of embedders, each verified by the vector of one fixed sentence and re-checked after a few seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crag.database import Database
from crag.errors import ModelFault
from crag.library.spaces.rows import SAME_MODEL, changed_model, recognize_space
from crag.protocols import Embedder, Embedders, Vectors
from crag.types import Space

# Must never change: its vector is compared with stored ones. Three scripts, so that no tokenizer reduces it to nothing.
CANARY = "The canary sings in the coal mine at 7:45. 카나리아가 광산에서 노래한다. 金絲雀在礦坑裡歌唱。"
_REMEMBERED_SECONDS = 15.0
_FAULT_REMEMBERED_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class KnownEmbedder:
    """An `Embedder` whose space has been recognized.

    Embeds the canary with each batch, so that a changed model is detected.
    """

    embedder: Embedder
    space: Space
    canary: Vectors
    on_changed: Callable[[], None]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as `Embedder` does; guarantee that every row comes from the model of this space.

        Raises `ModelFault`.
        """
        rows = self.embedder.embed_documents([*texts, CANARY])
        if float(rows[-1] @ self.canary) < SAME_MODEL:
            self.on_changed()
            raise changed_model(self.space)
        return rows[:-1]

    def embed_query(self, text: str) -> Vectors:
        """Embed a question as `Embedder` does."""
        return self.embedder.embed_query(text)


class OpenEmbedders:
    """Opens embedders on demand and caches them for a few seconds, so that a changed model is noticed."""

    def __init__(self, database: Database, source: Embedders, on_change: Callable[[], None]) -> None:
        """Create an empty cache. `on_change` is called when an embedder returns, or returns with another space."""
        self._database = database
        self._source = source
        self._on_change = on_change
        self._lock = threading.Lock()
        self._cached: dict[str, _CachedEmbedder] = {}

    def open(self, name: str) -> KnownEmbedder:
        """Return the embedder with this name. Raises `ModelFault`."""
        with self._lock:
            cached = self._cached.setdefault(name, _CachedEmbedder(name, self._look, self._on_change))
        return cached.open()

    def open_for(self, space: Space) -> KnownEmbedder:
        """Return the embedder of exactly this space. Raises `ModelFault`, also if another model now has its name."""
        known = self.open(space.name)
        if known.space.id != space.id:
            raise changed_model(space)
        return known

    def look_again(self) -> None:
        """Expire all cached embedders; each is opened again at its next use."""
        with self._lock:
            for cached in self._cached.values():
                cached.expire()

    def _look(self, name: str, on_changed: Callable[[], None]) -> KnownEmbedder:
        embedder = self._source.open(name)
        canary = embedder.embed_documents([CANARY])[0]
        with self._database.read() as connection:
            space = recognize_space(connection, embedder.space, canary)
        return KnownEmbedder(embedder, space, canary, on_changed)


class _CachedEmbedder:
    """One cached embedder. One thread opens it at a time; other embedders are not blocked meanwhile."""

    def __init__(
        self,
        name: str,
        look: Callable[[str, Callable[[], None]], KnownEmbedder],
        on_change: Callable[[], None],
    ) -> None:
        self._name = name
        self._look = look
        self._on_change = on_change
        self._lock = threading.Lock()
        self._until = 0.0
        self._found: KnownEmbedder | ModelFault | None = None

    def open(self) -> KnownEmbedder:
        with self._lock:
            if time.monotonic() >= self._until:
                self._look_again()
            found = self._found
        if isinstance(found, KnownEmbedder):
            return found
        assert found is not None  # noqa: S101 — opening yields an embedder or a fault
        raise ModelFault(found.code, found.message, found.remedy, found.fault)

    def _look_again(self) -> None:
        before = self._found
        try:
            self._found = self._look(self._name, self.expire)
            self._until = time.monotonic() + _REMEMBERED_SECONDS
        except ModelFault as fault:
            self._found = fault
            self._until = time.monotonic() + _FAULT_REMEMBERED_SECONDS
        if before is not None and isinstance(self._found, KnownEmbedder) and not _is_same(before, self._found):
            self._on_change()

    def expire(self) -> None:
        """Make the next call open the embedder again."""
        self._until = 0.0


def _is_same(before: KnownEmbedder | ModelFault, after: KnownEmbedder) -> bool:
    return isinstance(before, KnownEmbedder) and before.space == after.space
