"""Regression runs: the pinned questions asked again after a change, on demand or automatically."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crag.errors import CragError, LimitReached
from crag.evaluation.datasets import Datasets
from crag.evaluation.evaluations import Evaluations
from crag.evaluation.metrics import METRICS, assess_change, format_metric_value
from crag.evaluation.runner import LookUpEnvironment
from crag.evaluation.summary import Comparison, compare_results
from crag.evaluation.types import Cutoffs, Environment, Evaluation, EvaluationPlan, Variant
from crag.inspection.run_labels import describe_change, describe_grader
from crag.options import RunOptions
from crag.runs.revisions import describe_option_changes
from crag.storage.preferences import Preferences
from crag.storage.user_scope import UserScoped
from crag.text.formatting import format_count, format_date_time

_SHOWN_DIGEST_LENGTH = 12
_log = logging.getLogger(__name__)


def describe_changes(before: Variant, options: RunOptions, environment: Environment) -> tuple[str, ...]:
    """Return one clause for each change of settings or environment since `before`, if its values are known."""
    settings = describe_change(describe_option_changes(before.options, options))
    changes = [] if before.options == options or settings == "asked again" else [f"the settings: {settings}"]
    then = before.environment
    return (*changes, *(_environment_changes(then, environment) if then != Environment() else ()))


def _environment_changes(then: Environment, now: Environment) -> Iterator[str]:
    if then.model != now.model:
        yield f"the model: {then.model} → {now.model}"
    elif then.fingerprint != now.fingerprint:
        yield f"the model {now.model}: {_digest_changes(then.fingerprint, now.fingerprint)}"
    if describe_grader(then.grader) != describe_grader(now.grader):
        yield f"the grader: {describe_grader(then.grader)} → {describe_grader(now.grader)}"
    if then.thresholds != now.thresholds:
        yield f"the thresholds: {then.thresholds} → {now.thresholds}"
    if then.embedder != now.embedder:
        yield f"the embedder: {then.embedder} → {now.embedder}"
    elif then.space != now.space:
        yield f"the embedder {now.embedder} has new weights"
    if then.library != now.library:
        yield _describe_document_change(now.documents - then.documents)
    if then.version != now.version:
        yield f"the application: {then.version} → {now.version}"


def _digest_changes(then: str, now: str) -> str:
    """Describe models whose digests changed; a fingerprint lists `NAME@DIGEST` of each model once."""
    held, holds = (dict.fromkeys(text.split(", ")) for text in (then, now))
    gone = ", ".join(_shorten_fingerprint(one) for one in held if one not in holds)
    come = ", ".join(_shorten_fingerprint(one) for one in holds if one not in held)
    return f"{gone or 'nothing'} → {come or 'nothing'}"


def _shorten_fingerprint(fingerprint: str) -> str:
    name, at, digest = fingerprint.rpartition("@")
    return f"{name} with digest {digest[:_SHOWN_DIGEST_LENGTH]}" if at else fingerprint


def _describe_document_change(more: int) -> str:
    if more == 0:
        return "documents were replaced or split differently"
    return f"{format_count(abs(more), 'document')} {'more' if more > 0 else 'fewer'}"


QUIET_SECONDS = 60.0  # idle time without changes or questions before an automatic run


@dataclass(frozen=True, slots=True)
class RegressionState:
    """State of a user's `pinned` questions; `changes` describes what changed since the `last` evaluation.

    `due`: they should be asked again, or for the first time. `held_back` is the reason why they are not asked
    automatically although that is enabled. `fault` says why changes cannot be determined. Both are usually empty.
    `environment` is the one they would be asked under now, None if unknown.
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
        """Number of questions that score less than before."""
        return sum(one.what == "broken" for one in self.comparison.changed)

    @property
    def fixed(self) -> int:
        """Number of questions that score more than before."""
        return len(self.comparison.changed) - self.broken

    def describe(self) -> str:
        """Return sentences such as: Right minus wrong: 71.4%, as before. 2 of 14 got worse since 21 Nov, 09:30."""
        of, since = self.comparison.examples, format_date_time(self.before.started_at)
        worse = f"{self.broken:,} of {of:,} got worse since {since}."
        better = f"{self.fixed:,} got better." if self.fixed else ""
        return " ".join(filter(None, (self._describe_truthfulness(), worse, better)))

    def _describe_truthfulness(self) -> str:
        for one in self.comparison.differences:
            if one.metric == "truthfulness":
                before, after = (format_metric_value(one.metric, value) for value in (one.before, one.after))
                changed = f"{before} → {after} ({assess_change(one)})" if before != after else f"{after}, as before"
                return f"{METRICS[one.metric].title}: {changed}."
        return ""


class RegressionMonitor(UserScoped):
    """Asks each user's pinned questions again after a change. Thread-safe."""

    def __init__(
        self,
        evaluations: Evaluations,
        datasets: Datasets,
        look_up_environment: LookUpEnvironment,
        external_hosts: Callable[[RunOptions, str | None], list[str]],
        preferences: Preferences,
        is_busy: Callable[[], bool],
    ) -> None:
        """Create the monitor.

        `external_hosts` lists the hosts that a question under some options is sent to; `is_busy` returns whether any
        work is in progress.
        """
        self._evaluations = evaluations
        self._datasets = datasets
        self._look_up_environment = look_up_environment
        self._external_hosts = external_hosts
        self._preferences = preferences
        self._is_busy = is_busy
        self._seen: dict[str, tuple[Environment | None, float]] = {}

    def state(self) -> RegressionState:
        """Return the state of the pinned questions; looking up the models may take a moment."""
        pinned = len(self._datasets.pinned().examples)
        last = next(iter(self._evaluated()), None)
        automatic = (self._user or "") in self._preferences.auto_regression_users()
        if not pinned:
            return RegressionState(0, last, automatic=automatic)
        options = self._preferences.options()
        try:
            environment = self._look_up_environment(options, self._user)
            hosts = self._external_hosts(options, self._user) if automatic else []
        except CragError as error:
            return RegressionState(pinned, last, automatic=automatic, fault=str(error))
        changes = describe_changes(last.variants[0], options, environment) if last else ()
        under_way = last is not None and last.is_active
        due = (last is None or bool(changes)) and not under_way
        held_back = f"Not run automatically: questions would go to {', '.join(hosts)}." if hosts else ""
        return RegressionState(pinned, last, changes, due, automatic, held_back, environment=environment)

    def run(self) -> Evaluation:
        """Ask the questions now. Raises `BadRequest` if none are pinned, or the user has asked too many this hour."""
        pinned = self._datasets.pinned()
        asked = (Variant("as settled", self._preferences.options()),)
        return self._evaluations.begin(EvaluationPlan(pinned, asked, kind="regression", owner_id=pinned.owner_id))

    def report(self, cutoffs: Cutoffs = Cutoffs()) -> RegressionReport | None:
        """Compare the last two completed evaluations; None before there are two."""
        done = [one for one in self._evaluated() if one.state == "done"]
        if len(done) < 2:
            return None
        after, before = done[:2]
        answers = self._evaluations.results
        return RegressionReport(before, after, compare_results(answers(before.id), answers(after.id), cutoffs))

    def set_automatic(self, on: bool) -> None:
        """Turn automatic runs after a change on or off; they start only while the application is idle.

        They never start if a question would leave this machine: see `RegressionState.held_back`.
        """
        self._preferences.set_auto_regression(self._user or "", on)

    def run_if_due(self, now: float) -> Evaluation | None:
        """Start one user's questions if they are due and nothing has changed for a minute before `now`.

        `now` is in seconds of any monotonic clock.
        """
        for user in self._preferences.auto_regression_users():
            if self._is_busy() or any(one.is_active for one in self._evaluations.list()):
                self._seen.clear()
                return None
            own = self.for_user(user or None)
            if self._is_quiet(user, own.state(), now):
                try:
                    return own.run()
                except LimitReached as error:  # try again next time
                    _log.info("Pinned questions are not asked yet: %s", error)
        return None

    def _is_quiet(self, user: str, state: RegressionState, now: float) -> bool:
        """Return whether the questions are due and nothing has changed for long enough."""
        if not state.due or state.held_back or state.fault:
            self._seen.pop(user, None)
            return False
        seen, since = self._seen.get(user, (None, now))
        if seen != state.environment:
            self._seen[user] = state.environment, now
            return False
        return now - since >= QUIET_SECONDS

    def _evaluated(self) -> list[Evaluation]:
        """Return the evaluations of the pinned questions, newest first."""
        of = self._datasets.pinned().id
        return [one for one in self._evaluations.list(kind="regression") if one.dataset_id == of]
