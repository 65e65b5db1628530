"""Regression runs: the pinned questions asked again after a change, on demand or automatically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crag.errors import CragError
from crag.evaluate.datasets.datasets import Datasets
from crag.evaluate.evaluations import Evaluations
from crag.evaluate.figures.comparison import Comparison, compare
from crag.evaluate.regression.changes import changes_since
from crag.evaluate.values import Cutoffs, Environment, Evaluation, Plan, Variant
from crag.moments import day_and_minute
from crag.options import RunOptions
from crag.preferences import Preferences

QUIET_SECONDS = 60.0  # idle time without changes or questions before an automatic run


@dataclass(frozen=True, slots=True)
class RegressionState:
    """State of a user's `pinned` questions; `changes` describes what changed since the `last` evaluation.

    `due`: they should be asked again, or for the first time. `held_back` says why they are not asked automatically
    although that is enabled. `fault` says why changes cannot be determined. Both are usually empty. `environment` is
    the one they would be asked under now, None if unknown.
    """

    pinned: int
    last: Evaluation | None = None
    changes: tuple[str, ...] = ()
    due: bool = False
    automatic: bool = False
    held_back: str = ""
    fault: str = ""
    environment: Environment | None = None


@dataclass(frozen=True, slots=True)
class RegressionReport:
    """The change in the pinned questions from one evaluation to the one `after` it."""

    before: Evaluation
    after: Evaluation
    comparison: Comparison

    @property
    def broken(self) -> int:
        """Number of questions that are right less often than before."""
        return sum(one.what == "broken" for one in self.comparison.changed)

    @property
    def mended(self) -> int:
        """Number of questions that are right more often than before."""
        return len(self.comparison.changed) - self.broken

    def in_words(self) -> str:
        """Return a sentence such as: 2 of 14 broke since 21 Nov, 09:30; 1 was mended."""
        of, since = self.comparison.examples, day_and_minute(self.before.started_at)
        if not self.comparison.changed:
            return f"None of {of:,} broke since {since}."
        mended = f"; {self.mended:,} {'was' if self.mended == 1 else 'were'} mended" if self.mended else ""
        return f"{self.broken or 'None'} of {of:,} broke since {since}{mended}."


class Regression:
    """Asks the pinned questions of each user. Thread-safe."""

    def __init__(
        self,
        evaluations: Evaluations,
        datasets: Datasets,
        look_up: Callable[[RunOptions], Environment],
        leaving: Callable[[RunOptions], list[str]],
        preferences: Preferences,
        is_busy: Callable[[], bool],
    ) -> None:
        """Take `leaving`, which lists the external hosts of options, and `is_busy`, whether any work is in progress."""
        self._evaluations = evaluations
        self._datasets = datasets
        self._look_up = look_up
        self._leaving = leaving
        self._preferences = preferences
        self._is_busy = is_busy
        self._seen: dict[str, tuple[Environment | None, float]] = {}

    def state(self, person: str | None) -> RegressionState:
        """Return the state of this user's pinned questions; looking up the models may take a moment."""
        pinned = len(self._datasets.pinned(person).examples)
        last = next(iter(self._evaluated(person)), None)
        automatic = (person or "") in self._preferences.whose_pinned_run()
        if not pinned:
            return RegressionState(0, last, automatic=automatic)
        options = self._preferences.options()
        try:
            environment = self._look_up(options)
            leaving = self._leaving(options) if automatic else []
        except CragError as error:
            return RegressionState(pinned, last, automatic=automatic, fault=str(error))
        changes = changes_since(last.variants[0], options, environment) if last else ()
        under_way = last is not None and last.is_under_way
        due = (last is None or bool(changes)) and not under_way
        held_back = f"Not by themselves: questions would go to {', '.join(leaving)}." if leaving else ""
        return RegressionState(pinned, last, changes, due, automatic, held_back, environment=environment)

    def run(self, person: str | None) -> Evaluation:
        """Ask the questions now. Raises `BadRequest` if none are pinned, or they are already being asked."""
        pinned = self._datasets.pinned(person)
        asked = (Variant("as settled", self._preferences.options()),)
        return self._evaluations.begin(Plan(pinned, asked, kind="regression", person=pinned.person))

    def report(self, person: str | None, cutoffs: Cutoffs = Cutoffs()) -> RegressionReport | None:  # noqa: B008 — it is frozen
        """Compare the last two completed evaluations; None before there are two."""
        done = [one for one in self._evaluated(person) if one.state == "done"]
        if len(done) < 2:
            return None
        after, before = done[:2]
        answers = self._evaluations.results
        return RegressionReport(before, after, compare(answers(before.id), answers(after.id), cutoffs))

    def set_automatic(self, person: str | None, on: bool) -> None:
        """Turn automatic runs after a change on or off; they start only while the application is idle.

        They never start if a question would leave this machine: see `RegressionState.held_back`.
        """
        self._preferences.let_pinned_run(person or "", on)

    def look(self, now: float) -> Evaluation | None:
        """Start one user's questions if they are due and nothing has changed for a minute before `now`.

        `now` is in seconds of any monotonic clock.
        """
        for person in self._preferences.whose_pinned_run():
            if self._is_busy() or any(one.is_under_way for one in self._evaluations.list()):
                self._seen.clear()
                return None
            if self._is_quiet(person, self.state(person or None), now):
                return self.run(person or None)
        return None

    def _is_quiet(self, person: str, state: RegressionState, now: float) -> bool:
        """Return whether the questions are due and nothing has changed for long enough."""
        if not state.due or state.held_back or state.fault:
            self._seen.pop(person, None)
            return False
        seen, since = self._seen.get(person, (None, now))
        if seen != state.environment:
            self._seen[person] = state.environment, now
            return False
        return now - since >= QUIET_SECONDS

    def _evaluated(self, person: str | None) -> list[Evaluation]:
        """Return the regression evaluations of this user, newest first."""
        of = self._datasets.pinned(person).id
        return [one for one in self._evaluations.list(person, kind="regression") if one.dataset_id == of]
