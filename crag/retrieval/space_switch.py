"""Embedding space switch: build a new space alongside the active one, swap in one commit, keep the old one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from crag.cancellation import Cancellation
from crag.concurrency.workers import BackgroundWorker
from crag.errors import BadRequest, CragError, ModelFault, NotFound, Stopped
from crag.protocols import Embedder, EmbedderProvider
from crag.retrieval.active_embedder import ActiveEmbedder, EmbedderCache, VerifiedEmbedder
from crag.retrieval.embedding_batches import fill_vectors
from crag.retrieval.ranking import VectorWeight, read_vector_weight
from crag.storage.engine import is_owner_alive, owner_name
from crag.storage.passages import SearchScope, count_passages
from crag.storage.sources import SourceStore, advance_epoch
from crag.storage.spaces import (
    ActiveSpace,
    SpaceUsage,
    drop_vector_batch,
    ensure_space,
    read_active_space,
    read_previous_space,
    read_space_usage,
    switch_space,
    write_embedder_choices,
)
from crag.types import EmbeddingSpace, Progress, ProgressCallback

# The lowest and the highest possible id.
_ALL_PASSAGE_IDS = (1, 2**63 - 1)

SpaceState = Literal["answering", "building", "kept"]


@dataclass(frozen=True, slots=True)
class SpaceStatus:
    """The state of one space.

    `vectors` of the library's `passages` are computed. `weight` is the share of vector similarity in a search.
    """

    space: EmbeddingSpace
    vectors: int
    passages: int
    state: SpaceState
    weight: VectorWeight


class SpaceSwitcher:
    """Lists, builds, switches and drops the embedding spaces of a library.

    Several processes may switch at once: the last commit wins, and no commit is undone. `prepare` is called with a
    space shortly before it becomes active, so that the first question does not wait. `weigh` is called with its
    embedder soon after.
    """

    def __init__(
        self,
        store: SourceStore,
        provider: EmbedderProvider,
        cache: EmbedderCache,
        active_embedder: ActiveEmbedder,
        prepare: Callable[[EmbeddingSpace], None],
        weigh: Callable[[Embedder, ProgressCallback, Cancellation], None],
    ) -> None:
        self.active_embedder = active_embedder
        self._store = store
        self._database = store.database
        self._provider = provider
        self._cache = cache
        self._prepare = prepare
        self._weigh = weigh
        self._folder = self._database.home / "index"

    def statuses(self) -> list[SpaceStatus]:
        """Return the status of every space, the active one first."""
        passages = count_passages(self._database, SearchScope(None))
        now, wanted = self.active_embedder.active_space().space, self.active_embedder.wanted()

        def state(space: EmbeddingSpace) -> SpaceState:
            if space == now:
                return "answering"
            return "building" if space.name == wanted and not (now and now.name == wanted) else "kept"

        made = [
            SpaceStatus(
                one.space, one.vectors, passages, state(one.space), read_vector_weight(self._database, one.space)
            )
            for one in self._space_usage()
        ]
        return sorted(made, key=lambda report: report.state != "answering")

    def previous_space(self) -> EmbeddingSpace | None:
        """Return the space that `go_back` returns to."""
        with self._database.read() as connection:
            return read_previous_space(connection)

    def use(self, name: str, report: ProgressCallback, stop: Cancellation) -> EmbeddingSpace:
        """Embed the passages that the named embedder lacks, then switch to it, overruling the settings.

        Raises `ModelFault` and `Stopped`; the previous space then stays active, and vectors computed so far are kept.
        """
        return self._use(self._cache.open(name), report, stop)

    def go_back(self, report: ProgressCallback, stop: Cancellation) -> EmbeddingSpace:
        """Switch by hand to the previous space, as `use` does. Raises `NotFound` if no previous space is left."""
        space = self.previous_space()
        if space is None:
            raise NotFound("There are no earlier embeddings to go back to.")
        return self._use(self._cache.open_for(space), report, stop)

    def choose(self, name: str) -> None:
        """Store the user's choice for `apply_choice` to apply; an empty name returns the choice to the settings."""
        refused = self._other_names(name) if name else set()
        with self._database.write() as connection:
            write_embedder_choices(connection, name, refused)

    def drop(self, space_id: str) -> EmbeddingSpace:
        """Delete the vectors of a space that is not in use. Raises `NotFound`, `BadRequest`."""
        found = [report for report in self.statuses() if report.space.id == space_id]
        if not found:
            raise NotFound("No embeddings have this id.", "See `spaces` for their ids.")
        space = found[0].space
        if found[0].state != "kept":
            raise BadRequest(f"The embeddings {space.label} are in use.", "Switch to another one first.")
        while self._drop_batch(space):  # in batches, so that other writers get their turn
            pass
        (self._folder / f"{space.id}.faiss").unlink(missing_ok=True)
        return space

    def apply_choice(self, report: ProgressCallback, stop: Cancellation) -> None:
        """Build the wanted space and switch to it, or fill the gaps of the active one.

        Meant for the application's background thread: one-shot commands leave the spaces unchanged. Raises
        `ModelFault`, `Stopped`; vectors computed so far are kept, so that the next start resumes from there.
        """
        done = False
        while not done:
            active = self.active_embedder.active_space()
            if active.space is None:
                return
            done = self._follow(active, report, stop)
        with suppress(ModelFault):  # the active space keeps its default weight, and the next start tries again
            if space := self.active_embedder.active_space().space:
                self._weigh(self._cache.open_for(space), report, stop)

    def _follow(self, active: ActiveSpace, report: ProgressCallback, stop: Cancellation) -> bool:
        """Switch to the wanted space; return False if another choice was made meanwhile."""
        choices = self.active_embedder.choices()
        name = self.active_embedder.wanted()
        if active.space and name != choices.chosen and self._is_owned_by_another_process(active):
            name = active.space.name
        known = self._cache.open(name)
        overruled = choices.chosen not in ("", name)
        return self._switch(known, report, stop, active.number, ("", set()) if overruled else None)

    def _use(self, known: VerifiedEmbedder, report: ProgressCallback, stop: Cancellation) -> EmbeddingSpace:
        name = known.space.name
        self._switch(known, report, stop, None, (name, self._other_names(name)))
        with suppress(ModelFault):
            self._weigh(known, report, stop)
        return known.space

    def _switch(
        self,
        known: VerifiedEmbedder,
        report: ProgressCallback,
        stop: Cancellation,
        since: int | None,
        choice: tuple[str, set[str]] | None,
    ) -> bool:
        """Embed until no vector is missing, then switch and store the choice.

        Passages added meanwhile are embedded as well.
        """
        with self._database.write() as connection:
            ensure_space(connection, known.space, known.canary)
        while True:
            fill_vectors(self._store, known, report, stop)
            self._prepare(known.space)
            stop.check()
            with self._database.write() as connection:
                outcome = switch_space(connection, known.space, since)
                if outcome == "done":
                    advance_epoch(connection)
                if outcome == "done" and choice:
                    write_embedder_choices(connection, *choice)
            if outcome != "lacking":
                return outcome == "done"

    def _other_names(self, name: str) -> set[str]:
        """Return all known embedders except this one: choosing it rejects them."""
        return ({one.space.name for one in self._space_usage()} | {self._provider.wanted().name}) - {name}

    def _space_usage(self) -> list[SpaceUsage]:
        with self._database.read() as connection:
            return read_space_usage(connection)

    def _drop_batch(self, space: EmbeddingSpace) -> int:
        """Delete one batch of vectors; return how many were deleted. Raises `BadRequest` if the space is active."""
        with self._database.write() as connection:
            if read_active_space(connection).space == space:
                raise BadRequest(f"The embeddings {space.label} are in use.", "Switch to another one first.")
            removed = drop_vector_batch(connection, space.id)
            if not removed:
                advance_epoch(connection, _ALL_PASSAGE_IDS)
            return removed

    def _is_owned_by_another_process(self, active: ActiveSpace) -> bool:
        """Return whether another live process activated the current space.

        Prevents two processes with different settings from switching back and forth.
        """
        with self._database.read() as connection:
            return active.owner not in ("", owner_name(connection)) and is_owner_alive(connection, active.owner)


SpaceTask = Callable[[ProgressCallback, Cancellation], object]
_CLOSING_SECONDS = 5.0
_log = logging.getLogger(__name__)


class SpaceSwitchWorker:
    """Background thread for work on spaces: one task at a time, observable and cancellable from any screen.

    Does nothing before `begin`, so that one-shot commands never switch.
    """

    def __init__(self, spaces: SpaceSwitcher) -> None:
        self._spaces = spaces
        self._worker = BackgroundWorker("spaces", self._run_next)
        self._worker.start()
        self._lock = threading.Lock()
        self._next: SpaceTask | None = None
        self._stop = Cancellation()
        self._begun = False
        self.progress: Progress | None = None
        self.fault = ""

    def begin(self) -> None:
        """Apply the wanted choice now and after every later change."""
        self._begun = True
        self.wake()

    def wake(self) -> None:
        """Schedule a check because the available embedders have changed."""
        if self._begun:
            self._submit(self._spaces.apply_choice, at_once=False)

    def choose(self, name: str) -> None:
        """Switch to this embedder in the background; an empty name returns the choice to the settings."""
        self._spaces.choose(name)
        self._submit(self._spaces.apply_choice, at_once=True)

    def cancel(self) -> None:
        """Stay with the active space permanently; vectors computed so far are kept until the space is dropped."""
        space = self._spaces.active_embedder.active_space().space
        self.choose(space.name if space else "")

    def go_back(self) -> None:
        """Switch to the previous space in the background."""
        self._submit(self._spaces.go_back, at_once=True)

    def wait(self, seconds: float) -> bool:
        """Wait up to this many seconds; return whether all work is done."""
        return self._worker.wait(seconds)

    def close(self) -> None:
        """Cancel the running task; the next start resumes it."""
        self._worker.close(_CLOSING_SECONDS)

    def _submit(self, work: SpaceTask, *, at_once: bool) -> None:
        """Schedule a task in place of the pending one; `at_once` also cancels the running task."""
        with self._lock:
            self._next = work
            self.progress = self.progress or Progress("Starting")  # set now, so that the next screen refresh shows it
            if at_once:
                self._stop.cancel()
        self._worker.wake()

    def _run_next(self, closing: Cancellation) -> None:
        with self._lock:
            work, self._next, stop = self._next, None, Cancellation()
            self._stop = stop
        if work is not None:
            with closing.on_cancel(stop.cancel):
                self._run(work, stop)
        with self._lock:
            if self._next is None:
                self.progress = None

    def _run(self, work: SpaceTask, stop: Cancellation) -> None:
        self.fault = ""
        try:
            work(self._report, stop)
        except Stopped:
            pass
        except CragError as error:
            self.fault = str(error)
        except Exception:  # noqa: BLE001 — the thread must survive for the next task; the error is logged
            _log.exception("Could not maintain the embedding spaces")
            self.fault = "Something unexpected went wrong. The embeddings were not switched."

    def _report(self, progress: Progress) -> None:
        self.progress = progress
