"""Embedders as the library trusts them: opened by name, known by the vector of one sentence, looked at anew in time."""

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

# Never changed: its vector is compared with those that were kept. In three scripts, so that no model sees it empty.
CANARY = "The canary sings in the coal mine at 7:45. 카나리아가 광산에서 노래한다. 金絲雀在礦坑裡歌唱。"
_REMEMBERED_SECONDS = 15.0
_FAULT_REMEMBERED_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class KnownEmbedder:
    """An `Embedder` whose space was recognised. Each batch is embedded with the canary, which tells a changed model."""

    embedder: Embedder
    space: Space
    canary: Vectors
    on_changed: Callable[[], None]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As in `Embedder`; every row was made by the model whose space this is. Raises `ModelFault`."""
        rows = self.embedder.embed_documents([*texts, CANARY])
        if float(rows[-1] @ self.canary) < SAME_MODEL:
            self.on_changed()
            raise changed_model(self.space)
        return rows[:-1]

    def embed_query(self, text: str) -> Vectors:
        """As in `Embedder`."""
        return self.embedder.embed_query(text)


class OpenEmbedders:
    """Opens embedders when they are needed and remembers them for some seconds, so that a changed model is noticed."""

    def __init__(self, database: Database, source: Embedders, on_change: Callable[[], None]) -> None:
        """`on_change` is called when an embedder comes back, or comes back as another than it was."""
        self._database = database
        self._source = source
        self._on_change = on_change
        self._lock = threading.Lock()
        self._cached: dict[str, _CachedEmbedder] = {}

    def open(self, name: str) -> KnownEmbedder:
        """The embedder called so. Raises `ModelFault`."""
        with self._lock:
            cached = self._cached.setdefault(name, _CachedEmbedder(name, self._look, self._on_change))
        return cached.open()

    def open_for(self, space: Space) -> KnownEmbedder:
        """The embedder of this very space. Raises `ModelFault`, also when another model now has its name."""
        known = self.open(space.name)
        if known.space.id != space.id:
            raise changed_model(space)
        return known

    def look_again(self) -> None:
        """Something about the embedders has changed: each is looked at anew when it is next used."""
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
    """One embedder: opened by one thread at a time, without keeping up those that use another."""

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
        assert found is not None  # noqa: S101 — every look finds an embedder or a fault
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
        """The next to come looks anew."""
        self._until = 0.0


def _is_same(before: KnownEmbedder | ModelFault, after: KnownEmbedder) -> bool:
    return isinstance(before, KnownEmbedder) and before.space == after.space
