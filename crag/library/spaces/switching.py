"""Embedding space switch: a new space is built alongside the active one and swapped in one commit.

The old space is kept for going back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from crag.errors import BadRequest, ModelFault, NotFound
from crag.library.passages import count_passages
from crag.library.rows import move_epoch
from crag.library.search.weights import Weight, read_weight
from crag.library.spaces.answering import Answering
from crag.library.spaces.embedders import KnownEmbedder, OpenEmbedders
from crag.library.spaces.filling import fill_vectors
from crag.library.spaces.rows import (
    ActiveSpace,
    Holding,
    drop_some,
    ensure_space,
    read_active_space,
    read_holdings,
    read_previous,
    switch_space,
    write_choice,
)
from crag.library.store import Store
from crag.processes import is_alive, this_process
from crag.progress import Report
from crag.protocols import Embedder, Embedders
from crag.stopping import Stop
from crag.types import Space

# The lowest and the highest possible id.
_EVERY_PASSAGE = (1, 2**63 - 1)

SpaceState = Literal["answering", "building", "kept"]


@dataclass(frozen=True, slots=True)
class SpaceReport:
    """The state of one space.

    `vectors` of the library's `passages` are computed. `weight` is the share of vector similarity in a search.
    """

    space: Space
    vectors: int
    passages: int
    state: SpaceState
    weight: Weight


class Spaces:
    """Lists, builds, switches and drops the embedding spaces of a library.

    Several processes may switch at once: the last commit wins, and no commit is undone. `prepare` is called with a
    space shortly before it becomes active, so that the first question does not wait. `weigh` is called with its
    embedder soon after.
    """

    def __init__(
        self,
        store: Store,
        source: Embedders,
        opened: OpenEmbedders,
        answering: Answering,
        prepare: Callable[[Space], None],
        weigh: Callable[[Embedder, Report, Stop], None],
    ) -> None:
        self.answering = answering
        self._store = store
        self._database = store.database
        self._source = source
        self._opened = opened
        self._prepare = prepare
        self._weigh = weigh
        self._folder = self._database.home / "index"

    def reports(self) -> list[SpaceReport]:
        """Return the status of every space, the active one first."""
        passages = count_passages(self._database, "", ())
        now, wanted = self.answering.active().space, self.answering.wanted()

        def state(space: Space) -> SpaceState:
            if space == now:
                return "answering"
            return "building" if space.name == wanted and not (now and now.name == wanted) else "kept"

        made = [
            SpaceReport(one.space, one.vectors, passages, state(one.space), read_weight(self._database, one.space))
            for one in self._holdings()
        ]
        return sorted(made, key=lambda report: report.state != "answering")

    def previous(self) -> Space | None:
        """Return the space that `go_back` returns to."""
        with self._database.read() as connection:
            return read_previous(connection)

    def use(self, name: str, report: Report, stop: Stop) -> Space:
        """Embed what the named embedder lacks, then switch to it by hand, whatever the settings say.

        Raises `ModelFault` and `Stopped`; the previous space then stays active, and vectors computed so far are kept.
        """
        return self._use(self._opened.open(name), report, stop)

    def go_back(self, report: Report, stop: Stop) -> Space:
        """Switch by hand to the previous space, as `use` does. Raises `NotFound` if there is none."""
        space = self.previous()
        if space is None:
            raise NotFound("There is no space to go back to.")
        return self._use(self._opened.open_for(space), report, stop)

    def choose(self, name: str) -> None:
        """Store the user's choice for `apply_choice` to apply; an empty name returns the choice to the settings."""
        refused = self._others(name) if name else set()
        with self._database.write() as connection:
            write_choice(connection, name, refused)

    def drop(self, space_id: str) -> Space:
        """Delete the vectors of a space that is not in use. Raises `NotFound`, `BadRequest`."""
        found = [report for report in self.reports() if report.space.id == space_id]
        if not found:
            raise NotFound("There is no such space.", "See `spaces` for their ids.")
        space = found[0].space
        if found[0].state != "kept":
            raise BadRequest(f"The space {space.label} is in use.", "Switch to another one first.")
        while self._drop_some(space):  # in batches, so that other writers get their turn
            pass
        (self._folder / f"{space.id}.faiss").unlink(missing_ok=True)
        return space

    def keep_up(self, report: Report, stop: Stop) -> None:
        """Build the wanted space and switch to it, or fill the gaps of the active one.

        Meant for the application's background thread: one-shot commands leave the spaces unchanged. Raises
        `ModelFault`, `Stopped`; vectors computed so far are kept, so that the next start resumes from there.
        """
        done = False
        while not done:
            active = self.answering.active()
            if active.space is None:
                return
            done = self._follow(active, report, stop)
        with suppress(ModelFault):  # the active space keeps its default weight, and the next start tries again
            if space := self.answering.active().space:
                self._weigh(self._opened.open_for(space), report, stop)

    def _follow(self, active: ActiveSpace, report: Report, stop: Stop) -> bool:
        """Switch to the wanted space; return False if another choice was made meanwhile."""
        choices = self.answering.choices()
        name = self.answering.wanted()
        if active.space and name != choices.chosen and _is_held_by_another(active):
            name = active.space.name
        known = self._opened.open(name)
        overruled = choices.chosen not in ("", name)
        return self._switch(known, report, stop, active.number, ("", set()) if overruled else None)

    def _use(self, known: KnownEmbedder, report: Report, stop: Stop) -> Space:
        name = known.space.name
        self._switch(known, report, stop, None, (name, self._others(name)))
        with suppress(ModelFault):
            self._weigh(known, report, stop)
        return known.space

    def _switch(
        self,
        known: KnownEmbedder,
        report: Report,
        stop: Stop,
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
                    move_epoch(connection)
                if outcome == "done" and choice:
                    write_choice(connection, *choice)
            if outcome != "lacking":
                return outcome == "done"

    def _others(self, name: str) -> set[str]:
        """Return all known embedders except this one: choosing it rejects them."""
        return ({one.space.name for one in self._holdings()} | {self._source.wanted().name}) - {name}

    def _holdings(self) -> list[Holding]:
        with self._database.read() as connection:
            return read_holdings(connection)

    def _drop_some(self, space: Space) -> int:
        """Delete one batch of vectors; return how many were deleted. Raises `BadRequest` if the space is active."""
        with self._database.write() as connection:
            if read_active_space(connection).space == space:
                raise BadRequest(f"The space {space.label} is in use.", "Switch to another one first.")
            removed = drop_some(connection, space.id)
            if not removed:
                move_epoch(connection, _EVERY_PASSAGE)
            return removed


def _is_held_by_another(active: ActiveSpace) -> bool:
    """Return whether another live process activated the current space.

    Prevents two processes with different settings from switching back and forth.
    """
    return active.owner not in ("", this_process()) and is_alive(active.owner)
