"""Uploads of evaluations to LangSmith: the notice shown before, and the upload with its progress."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from crag.amounts import count
from crag.errors import LangSmithFailed
from crag.evaluate.langsmith.sending import Sending
from crag.evaluate.values import Evaluation, Result
from crag.langsmith.account import Account
from crag.ledger import Ledger, on_behalf_of
from crag.progress import Report, silent
from crag.stopping import Stop


class Uploads:
    """Uploads evaluations on request only. Safe to share between threads."""

    def __init__(self, account: Account, ledger: Ledger) -> None:
        self._account = account
        self._ledger = ledger

    @property
    def available(self) -> bool:
        """Whether there is an API key."""
        return bool(self._account.key)

    @property
    def host(self) -> str:
        """Host that evaluations are sent to."""
        return self._account.host

    def announce(self, evaluation: Evaluation) -> str:
        """Return what would be sent where, to be shown before the user confirms."""
        questions, answers = count(evaluation.size, "question"), count(evaluation.done, "answer")
        reasons = ", the judge's reasons" if evaluation.judge else ""
        return (
            f"To {self.host} go the {questions} with what is known of their right answers, and the {answers} "
            f"with their steps, times, scores{reasons}, settings and the names of the models. "
            "Passages and names of your documents stay here."
        )

    def upload(
        self, evaluation: Evaluation, results: Sequence[Result], report: Report = silent, stop: Stop | None = None
    ) -> str:
        """Send an evaluation as a dataset with one experiment per variant; return the URL of the comparison.

        Existing objects are reused, so that an interrupted upload can be repeated. Every request is in the ledger
        before it is sent. Raises `LangSmithFailed`, `Stopped`, or `HomeFault` if the ledger cannot be written.
        """
        if not self.available:
            remedy = "Put LANGSMITH_API_KEY=… into .env and start again."
            raise LangSmithFailed("There is no key for LangSmith.", remedy)
        sending = Sending(self._account, self._ledger, evaluation, stop or Stop(), report)
        with closing(sending), on_behalf_of(evaluation.person):
            return sending.send(results)
