"""Upload of one evaluation to LangSmith, request by request; existing objects are reused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from crag.amounts import count
from crag.evaluate.datasets.examples import Example
from crag.evaluate.langsmith import records
from crag.evaluate.values import Evaluation, Result, Variant
from crag.langsmith.account import Account
from crag.langsmith.connection import Connection
from crag.ledger import Ledger
from crag.progress import Report
from crag.stopping import Stop
from crag.types import Progress

if TYPE_CHECKING:
    from langsmith.schemas import Dataset, TracerSession

_QUESTIONS_AT_ONCE, _ANSWERS_AT_ONCE = 100, 50

Item = TypeVar("Item")


class Sending:
    """One evaluation being uploaded. Every method raises `LangSmithFailed`, `HomeFault` and `Stopped`."""

    def __init__(self, account: Account, ledger: Ledger, evaluation: Evaluation, stop: Stop, report: Report) -> None:
        self._account = account
        self._ledger = ledger
        self._evaluation = evaluation
        self._report = report
        self._what = ""
        self._connection = Connection(account, self._write_down, stop)
        self._client = self._connection.client

    def send(self, results: Sequence[Result]) -> str:
        """Send all finished answers; return the URL that compares the experiments."""
        answered = records.answered(results)
        dataset = self._dataset()
        experiments = [self._experiment(dataset, variant) for variant in self._evaluation.variants]
        self._send_examples(dataset.id, list({result.number: result.example for result in answered}.values()))
        self._send_answers(dataset.id, [made.id for made in experiments], answered)
        for made, variant in zip(experiments, self._evaluation.variants, strict=True):
            self._finish(made.id, variant)
        workspace = str(experiments[0].url).partition("/projects/")[0]
        selected = "%2C".join(str(made.id) for made in experiments)
        return f"{workspace}/datasets/{dataset.id}/compare?selectedSessions={selected}"

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _write_down(self) -> None:
        self._ledger.record(self._account.host, "evaluation", f"“{self._evaluation.name}”: {self._what}")

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        """Record the requests of the block in the ledger as `what`, and translate their errors."""
        self._what = what
        with self._connection.translated():
            yield

    def _dataset(self) -> Dataset:
        from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError

        name = records.dataset_name(self._evaluation)
        with self._telling(f"the name of its dataset, “{name}”, to find or make it"):
            found: Dataset
            try:
                found = self._client.read_dataset(dataset_name=name)
            except LangSmithNotFoundError:
                try:
                    found = self._client.create_dataset(name, metadata={"runtime": {}})  # no machine data
                except LangSmithConflictError:  # created by somebody else in the meantime
                    found = self._client.read_dataset(dataset_name=name)
            return found

    def _experiment(self, dataset: Dataset, variant: Variant) -> TracerSession:
        with self._telling(f"the settings and models of “{variant.name}”"):
            return self._client.create_project(
                records.experiment_name(self._evaluation, variant),
                metadata=records.experiment_metadata(self._evaluation, variant),
                reference_dataset_id=dataset.id,
                num_examples=self._evaluation.size,
                num_repetitions=self._evaluation.repetitions,
                upsert=True,
            )

    def _send_examples(self, dataset: UUID, examples: Sequence[Example]) -> None:
        with self._telling("which of its questions are there?"):
            there = {example.id for example in self._client.list_examples(dataset_id=dataset)}
        missing = [example for example in examples if records.example_id(dataset, example) not in there]
        for batch in self._batches("Questions", missing, _QUESTIONS_AT_ONCE):
            with self._telling(f"{count(len(batch), 'question')} with what is known of the right answers"):
                sent = [records.example_record(dataset, example) for example in batch]
                self._client.create_examples(dataset_id=dataset, examples=sent, max_concurrency=1)

    def _send_answers(self, dataset: UUID, experiments: Sequence[UUID], results: Sequence[Result]) -> None:
        for batch in self._batches("Answers", results, _ANSWERS_AT_ONCE):
            self._what = f"{count(len(batch), 'answer')} with questions, steps, times and scores"
            placed = [(experiments[result.variant], result) for result in batch]
            runs = [records.run_record(dataset, place, self._evaluation, result) for place, result in placed]
            given = (records.feedback_records(place, self._evaluation, result) for place, result in placed)
            self._connection.ingest(runs, [one for each in given for one in each])

    def _finish(self, experiment: UUID, variant: Variant) -> None:
        if self._evaluation.ended_at is None:
            return
        with self._telling(f"that “{variant.name}” is complete"):
            self._client.update_project(
                str(experiment),
                metadata=records.experiment_metadata(self._evaluation, variant),
                end_time=datetime.fromtimestamp(self._evaluation.ended_at, UTC),
            )

    def _batches(self, stage: str, items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
        """Yield the items in batches, reporting progress."""
        for start in range(0, len(items), size):
            self._report(Progress(stage, start, len(items)))
            yield items[start : start + size]
        self._report(Progress(stage, len(items), len(items)))
