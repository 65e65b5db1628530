"""Run interface: the events so far and a way to follow new ones, live or from the log."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from crag.cancellation import Cancellation, Wait
from crag.events import ConsentAsked, Event, RunEnded
from crag.runs.event_log import EventLog, NumberedEvent

_POLL_SECONDS = 0.2


class Run(Protocol):
    """One execution of the graph. Event numbers increase from 1 and never change; some may be missing."""

    @property
    def id(self) -> str:
        """The run's identifier."""
        ...

    @property
    def question(self) -> str:
        """The question as asked."""
        ...

    @property
    def ended(self) -> bool:
        """Whether its last event has happened."""
        ...

    @property
    def settled(self) -> bool:
        """Whether it ended or waits for the user, so that it gets no more events."""
        ...

    def current_wait(self) -> Wait | None:
        """Return the longest current wait of a run in this process; None if it is not waiting."""
        ...

    def follow(self, after: int = 0, seconds: float | None = None) -> Iterator[NumberedEvent]:
        """Yield the events numbered above `after`, then new ones as they happen.

        Returns when the run ends, waits for the user, or `seconds` have passed.
        """
        ...


class LiveRun:
    """A run of this process: recorded in memory and written to the log."""

    def __init__(
        self, run_id: str, question: str, log: EventLog, events: Iterable[Event] = (), elapsed: float = 0.0
    ) -> None:
        """Begin a run; a resumed one passes its `events` so far and the seconds it had taken (`elapsed`)."""
        self.id = run_id
        self.question = question
        self.stop = Cancellation()
        self._log = log
        self._began = time.monotonic() - elapsed
        self._events: list[Event] = list(events)
        self._changed = threading.Condition()

    def elapsed(self) -> float:
        """Return the seconds since the question was sent."""
        return time.monotonic() - self._began

    @property
    def ended(self) -> bool:
        """Whether its last event has happened."""
        return bool(self._events) and isinstance(self._events[-1], RunEnded)

    @property
    def settled(self) -> bool:
        """Whether the run ended, or waits and will resume as another object."""
        return bool(self._events) and isinstance(self._events[-1], RunEnded | ConsentAsked)

    @property
    def events(self) -> tuple[Event, ...]:
        """All events so far."""
        with self._changed:
            return tuple(self._events)

    @property
    def event_list(self) -> Sequence[Event]:
        """The live list of events, which grows as new ones are recorded."""
        return self._events

    def record(self, event: Event) -> None:
        """Add an event, write it to the log, and wake all followers."""
        with self._changed:
            self._events.append(event)
            self._log.append(self.id, len(self._events), event)
            self._changed.notify_all()

    def settle(self, event: RunEnded | ConsentAsked) -> None:
        """Add the final event or consent request, which is already on disk, and wake all followers."""
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def current_wait(self) -> Wait | None:
        """Return what it waits for, as described in `Run`."""
        return next(iter(self.stop.list_waits()), None)

    def follow(self, after: int = 0, seconds: float | None = None) -> Iterator[NumberedEvent]:
        """Follow as described in `Run`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        number = after
        while True:
            fresh = self._wait_for_more(number, deadline)
            for event in fresh:
                number += 1
                yield number, event
            if (self.settled and number >= len(self._events)) or _deadline_passed(deadline):
                return

    def _wait_for_more(self, number: int, deadline: float | None) -> list[Event]:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        with self._changed:
            self._changed.wait_for(lambda: len(self._events) > number or self.settled, timeout=left)
            return self._events[number:]


class LoggedRun:
    """A run read from the log: ended, or live in another process and polled."""

    def __init__(self, run_id: str, question: str, log: EventLog) -> None:
        self.id = run_id
        self.question = question
        self._log = log

    @property
    def ended(self) -> bool:
        """Whether its last event has happened."""
        return self._log.has_ended(self.id)

    @property
    def settled(self) -> bool:
        """Whether it ended, no longer exists, or waits for the user."""
        return self._log.is_settled(self.id)

    def current_wait(self) -> Wait | None:
        """Return None: nothing is known about runs of other processes."""
        return None

    def follow(self, after: int = 0, seconds: float | None = None) -> Iterator[NumberedEvent]:
        """Follow as described in `Run`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            settled = self.settled  # checked before reading: nothing is written after the end
            for number, event in self._log.read(self.id, after):
                after = number
                yield number, event
            if settled or _deadline_passed(deadline):
                return
            time.sleep(_POLL_SECONDS)


def _deadline_passed(deadline: float | None) -> bool:
    return deadline is not None and time.monotonic() >= deadline
