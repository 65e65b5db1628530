"""Libraries with documents split to another passage size for evaluations, kept as a cache in the home."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from crag.amounts import count
from crag.database import Database
from crag.errors import BadRequest, ModelFault, NotFound
from crag.evaluate.recut.cutting import CutLibrary, Cutting
from crag.library import Library, LibraryRetriever
from crag.library.adding.reading import CHUNK_TOKENS
from crag.library.exchange.staging import put_in_place, staging_folder
from crag.models.tokens import passage_counter_name
from crag.options import RunOptions
from crag.processes import is_alive
from crag.progress import Report, silent
from crag.protocols import Retriever
from crag.settings import Settings
from crag.stopping import Stop
from crag.types import Passage, Source

# Offset of the passage ids of these libraries, so that none equals an id of the home's library.
BEYOND = 2**40
_SCOPE = "scope.json"  # stores which documents were requested
_LAYOUT = "1"  # changes whenever documents are split differently
# A run may still be using a library: stale ones go after a short time unused, any other after a day.
_STALE_SECONDS, _IDLE_SECONDS = 600.0, 86_400.0
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Scope:
    """Which documents are rechunked, as the options limit them, and the passage size in tokens."""

    size: int
    collection: str = ""
    source_ids: tuple[str, ...] = ()


class CutRetriever(LibraryRetriever):
    """Searches a library of rechunked documents."""

    def __init__(self, cut: CutLibrary, size: int) -> None:
        super().__init__(cut.library)
        self._folder = cut.folder
        self._told = _in_words(size, cut.uncut())

    def retrieve(self, query: str, options: RunOptions) -> list[Passage]:
        """See `Retriever`; ids are offset so that none equals an id of the home's library."""
        with suppress(OSError):
            os.utime(self._folder)  # mark it as in use
        return [replace(found, id=found.id + BEYOND) for found in super().retrieve(query, options)]

    def notice(self) -> str:
        """See `Retriever`; also says that these passages were made for an evaluation."""
        return f"{self._told} {super().notice()}".strip()


class Recuts:
    """All rechunked libraries of a home. Safe to share between threads and processes."""

    def __init__(self, database: Database, library: Library, settings: Settings) -> None:
        self._database = database
        self._library = library
        self._settings = settings
        self._folder = database.home / "evaluations"
        self._making = threading.Lock()
        self._lock = threading.Lock()
        self._opened: dict[Scope, CutLibrary] = {}  # most recently made or found

    def prepare(self, options: RunOptions, report: Report = silent, stop: Stop | None = None) -> None:
        """Make sure that the current documents are available in passages of `options.passage_size`.

        Returns at once if they are, or if the library already has that size. Raises `BadRequest` if there is nothing to
        split or a document cannot be split; `ModelFault`, `HomeFault`, `Stopped`. Nothing half-made is left behind.
        """
        scope = _scope(options)
        if scope is None:
            return
        with self._making:
            self.tidy()
            sources = self._sources(scope)
            if not sources:
                raise BadRequest("There are no documents to cut into other passages.", "Add some first.")
            folder = self._folder / self._name(scope, sources)
            if not folder.is_dir():
                self._make(scope, sources, folder, report, stop or Stop())
            self._open(scope, folder)

    def retriever(self, options: RunOptions) -> Retriever:
        """Return the retriever for these options. Raises `NotFound` if the rechunked library is gone."""
        scope = _scope(options)
        if scope is None:
            return LibraryRetriever(self._library)
        with self._lock:
            cut = self._opened.get(scope)
        if cut is None or not cut.folder.is_dir():
            cut = self._find(scope)
        return CutRetriever(cut, scope.size)

    def tidy(self) -> None:
        """Remove libraries unused for a day, those that no longer match the documents, and unfinished ones."""
        for left in self._folder.glob(".cut-*.*"):
            if not is_alive(left.name.split(".")[2]):
                shutil.rmtree(left, ignore_errors=True)
        for folder in self._folder.glob("cut-*"):
            with suppress(OSError, ModelFault):  # another process may be removing it too
                idle = time.time() - folder.stat().st_mtime
                if idle > _IDLE_SECONDS or (idle > _STALE_SECONDS and self._is_stale(folder)):
                    self._forget(folder)
                    shutil.rmtree(folder)

    def close(self) -> None:
        """Close all open libraries."""
        with self._lock:
            opened, self._opened = list(self._opened.values()), {}
        for cut in opened:
            cut.close()

    def _find(self, scope: Scope) -> CutLibrary:
        """Open a library that an earlier process left."""
        folder = self._folder / self._name(scope, self._sources(scope))
        if not folder.is_dir():
            raise NotFound(
                f"The documents cut into passages of {scope.size} tokens are no longer there.",
                "Run the evaluation again, or ask in the chat.",
            )
        return self._open(scope, folder)

    def _make(self, scope: Scope, sources: list[Source], folder: Path, report: Report, stop: Stop) -> None:
        with staging_folder(folder) as work:
            made = work / "made"
            Cutting(self._library, self._database, self._settings, scope.size).cut(sources, made, report, stop)
            asked = {"size": scope.size, "collection": scope.collection, "source_ids": scope.source_ids}
            (made / _SCOPE).write_text(json.dumps(asked), "utf-8")
            with suppress(BadRequest):  # another process has made the same in the meantime
                put_in_place(made, folder)

    def _open(self, scope: Scope, folder: Path) -> CutLibrary:
        with self._lock:
            cut = self._opened.get(scope)
            if cut is None or cut.folder != folder:
                if cut:
                    cut.close()
                cut = self._opened[scope] = CutLibrary(folder, self._library, self._settings)
            os.utime(folder)
            return cut

    def _forget(self, folder: Path) -> None:
        with self._lock:
            for scope in [scope for scope, cut in self._opened.items() if cut.folder == folder]:
                self._opened.pop(scope).close()

    def _sources(self, scope: Scope) -> list[Source]:
        wanted = scope.source_ids
        return [one for one in self._library.sources(scope.collection) if not wanted or one.id in wanted]

    def _name(self, scope: Scope, sources: list[Source]) -> str:
        """Return a name that changes with the documents, the size, the embedder and the token counter."""
        return f"cut-{scope.size}-{_digest(self._said(scope, sources))}"

    def _said(self, scope: Scope, sources: list[Source]) -> Iterator[str]:
        yield from (_LAYOUT, passage_counter_name(), self._library.space().id, scope.collection, *scope.source_ids)
        for one in sorted(sources, key=lambda one: one.id):
            yield from (one.id, one.sha256, one.title, one.collection)

    def _is_stale(self, folder: Path) -> bool:
        try:
            asked = json.loads((folder / _SCOPE).read_text("utf-8"))
            scope = Scope(asked["size"], asked["collection"], tuple(asked["source_ids"]))
        except (ValueError, LookupError, TypeError):
            return True
        return folder.name != self._name(scope, self._sources(scope))


def _scope(options: RunOptions) -> Scope | None:
    """Return None if the home's library already has the wanted passage size."""
    if options.passage_size in (0, CHUNK_TOKENS):
        return None
    return Scope(options.passage_size, options.collection, tuple(sorted(options.source_ids)))


def _digest(said: Iterator[str]) -> str:
    return hashlib.sha256("\x1f".join(said).encode()).hexdigest()[:16]


def _in_words(size: int, uncut: list[str]) -> str:
    told = f"Your documents were searched in passages of up to {size} tokens, cut for an evaluation."
    if not uncut:
        return told
    named = ", ".join(f"“{title}”" for title in uncut[:_NAMED])
    more = f" and {count(len(uncut) - _NAMED, 'more', 'more')}" if len(uncut) > _NAMED else ""
    return f"{told} Not so {named}{more}: there is no file to cut anew, only the passages of the library."
