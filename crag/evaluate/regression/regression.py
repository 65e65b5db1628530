"""The pinned questions asked again after a change, on demand or by themselves, and what broke by it."""

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

QUIET_SECONDS = 60.0  # for so long nothing may have changed or been asked before questions are asked by themselves


@dataclass(frozen=True, slots=True)
class RegressionState:
    """How the `pinned` questions of a person stand; `changes` since they were asked `last`, in words.

    `due`: to be asked again, or for the first time. `held_back` says why they are not asked by themselves though that
    is wanted, `fault` why it cannot be told what has changed; both are mostly empty. `environment` is what they would
    be asked under now, None where that is not known.
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
    """What became of the pinned questions from one evaluation to the one `after` it."""

    before: Evaluation
    after: Evaluation
    comparison: Comparison

    @property
    def broken(self) -> int:
        """How many are right less often than before."""
        return sum(one.what == "broken" for one in self.comparison.changed)

    @property
    def mended(self) -> int:
        """How many are right more often."""
        return len(self.comparison.changed) - self.broken

    def in_words(self) -> str:
        """Such as: 2 of 14 broke since 21 Nov, 09:30; 1 was mended."""
        of, since = self.comparison.examples, day_and_minute(self.before.started_at)
        if not self.comparison.changed:
            return f"None of {of:,} broke since {since}."
        mended = f"; {self.mended:,} {'was' if self.mended == 1 else 'were'} mended" if self.mended else ""
        return f"{self.broken or 'None'} of {of:,} broke since {since}{mended}."


class Regression:
    """Asks the pinned questions of each person. Safe to use from several threads."""

    def __init__(
        self,
        evaluations: Evaluations,
        datasets: Datasets,
        look_up: Callable[[RunOptions], Environment],
        leaving: Callable[[RunOptions], list[str]],
        preferences: Preferences,
        is_busy: Callable[[], bool],
    ) -> None:
        """`leaving` tells where questions would go to beyond this machine, `is_busy` whether anything is at work."""
        self._evaluations = evaluations
        self._datasets = datasets
        self._look_up = look_up
        self._leaving = leaving
        self._preferences = preferences
        self._is_busy = is_busy
        self._seen: dict[str, tuple[Environment | None, float]] = {}

    def state(self, person: str | None) -> RegressionState:
        """How the pinned questions of this person stand now; models are looked up, which may take a moment."""
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
        """Asks them now. Raises `BadRequest` where nothing is pinned, or while they are being asked."""
        pinned = self._datasets.pinned(person)
        asked = (Variant("as settled", self._preferences.options()),)
        return self._evaluations.begin(Plan(pinned, asked, kind="regression", person=pinned.person))

    def report(self, person: str | None, cutoffs: Cutoffs = Cutoffs()) -> RegressionReport | None:  # noqa: B008 — it is frozen
        """What broke from the last but one to the last that came to its end; None before there are two."""
        done = [one for one in self._evaluated(person) if one.state == "done"]
        if len(done) < 2:
            return None
        after, before = done[:2]
        answers = self._evaluations.results
        return RegressionReport(before, after, compare(answers(before.id), answers(after.id), cutoffs))

    def set_automatic(self, person: str | None, on: bool) -> None:
        """Has them asked by themselves after a change, while the application runs and is at rest; or no longer.

        Never where a question would leave this machine: `RegressionState.held_back` says so.
        """
        self._preferences.let_pinned_run(person or "", on)

    def look(self, now: float) -> Evaluation | None:
        """Asks the questions of one person if they are due and all has been quiet since a look a minute before `now`.

        `now` in seconds of any clock that never goes back.
        """
        for person in self._preferences.whose_pinned_run():
            if self._is_busy() or any(one.is_under_way for one in self._evaluations.list()):
                self._seen.clear()
                return None
            if self._is_quiet(person, self.state(person or None), now):
                return self.run(person or None)
        return None

    def _is_quiet(self, person: str, state: RegressionState, now: float) -> bool:
        """Whether it is due, and nothing has changed for long enough."""
        if not state.due or state.held_back or state.fault:
            self._seen.pop(person, None)
            return False
        seen, since = self._seen.get(person, (None, now))
        if seen != state.environment:
            self._seen[person] = state.environment, now
            return False
        return now - since >= QUIET_SECONDS

    def _evaluated(self, person: str | None) -> list[Evaluation]:
        """The latest first."""
        of = self._datasets.pinned(person).id
        return [one for one in self._evaluations.list(person, kind="regression") if one.dataset_id == of]
