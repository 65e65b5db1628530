"""Upload of an evaluation to LangSmith: questions, answers and scores, never a passage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID, uuid5

from crag.cancellation import Cancellation
from crag.errors import LangSmithFailed
from crag.inspection.langsmith_client import LangSmithConnection
from crag.options import DOCUMENT_OPTIONS, dump_changes, get_option, list_option_names
from crag.settings import LangSmithAccount
from crag.storage.outbound_log import OutboundLog, on_behalf_of
from crag.text.formatting import format_count
from crag.translation import N_
from crag.types import Progress, ProgressCallback, ignore_progress

if TYPE_CHECKING:
    from langsmith.schemas import Dataset, TracerSession

    from crag.evaluation.types import Evaluation, EvaluationResult, Example, Variant


_NAME_DIGEST_LENGTH = 12  # digits of a digest or id in a name
_FINISHED_STATES = ("done", "failed")

LangSmithRecord = dict[str, Any]


def dataset_name(evaluation: Evaluation) -> str:
    """Return a name that is equal for equal examples, so that their evaluations share one dataset."""
    return f"{evaluation.dataset} · {evaluation.digest[:_NAME_DIGEST_LENGTH]}"


def experiment_name(evaluation: Evaluation, variant: Variant) -> str:
    """Return a name that is stable for one variant of one evaluation, even after a rename."""
    return f"{evaluation.dataset} · {variant.name} · {evaluation.id[:_NAME_DIGEST_LENGTH]}"


def experiment_metadata(evaluation: Evaluation, variant: Variant) -> LangSmithRecord:
    """Return what the answers depend on: settings, digests of models and library, version."""
    options = variant.options  # without the names of documents, since the contents of the library stay private
    values = {name: get_option(options, name) for name in list_option_names() if name not in DOCUMENT_OPTIONS}
    return {
        "evaluation": evaluation.name,
        "evaluation_id": evaluation.id,
        "examples_digest": evaluation.digest,
        "variant": variant.name,
        "repetitions": evaluation.repetitions,
        "judge": evaluation.judge,
        "settings": json.loads(dump_changes(values)),
        "environment": asdict(variant.environment),
    }


def example_id(dataset: UUID, example: Example) -> UUID:
    """Return a stable id that is unique to the dataset, since all users of a server share the id space."""
    return uuid5(dataset, example.key)


def example_record(dataset: UUID, example: Example) -> LangSmithRecord:
    """Return a question with what is known about its right answer; phrases of right passages stay here."""
    outputs = {
        "reference": example.references[0] if example.references else None,
        "references": list(example.references),
        "expected_steps": [list(steps) for steps in example.steps],
        "expected_action": example.action,
        "answerable": example.answerable,
        "must_mention": list(example.must_mention),
        "must_not_mention": list(example.must_not_mention),
    }
    return {
        "id": str(example_id(dataset, example)),
        "inputs": {"question": example.question},
        "reference_outputs": {name: value for name, value in outputs.items() if value not in (None, [])},
        "metadata": {"key": example.key, "language": example.language},
    }


def run_record(dataset: UUID, experiment: UUID, evaluation: Evaluation, result: EvaluationResult) -> LangSmithRecord:
    """Return one answer as a run of its experiment."""
    scored = result.scored
    began = result.started_at or evaluation.started_at
    run_id = _langsmith_run_id(experiment, result)
    return {
        "id": run_id,
        "trace_id": run_id,
        "dotted_order": f"{_utc_datetime(began):%Y%m%dT%H%M%S%fZ}{run_id}",
        "session_id": str(experiment),
        "reference_example_id": str(example_id(dataset, result.example)),
        "name": "CRAG Chat",
        "run_type": "chain",
        "start_time": _utc_datetime(began).isoformat(),
        "end_time": _utc_datetime(began + scored.seconds).isoformat(),
        "inputs": {"question": result.example.question},
        "outputs": {
            "answer": scored.answer,
            "steps": list(scored.steps),
            "action": scored.action,
            "outcome": scored.outcome,
            "sufficiency": scored.sufficiency,
        },
        "error": result.error or None,
        "extra": {"metadata": {"repetition": result.repetition, "tokens": scored.tokens}},
    }


def feedback_records(experiment: UUID, evaluation: Evaluation, result: EvaluationResult) -> Iterator[LangSmithRecord]:
    """Yield each score of an answer, the judge's with its reason, and the human label."""
    run_id = _langsmith_run_id(experiment, result)
    at = _utc_datetime((result.started_at or evaluation.started_at) + result.scored.seconds).isoformat()

    def record(key: str, score: float | None, comment: str = "", model: str = "") -> LangSmithRecord:
        source = {"type": "model", "metadata": {"model": model}} if model else {"type": "api", "metadata": {}}
        given = {"id": str(uuid5(UUID(run_id), key)), "run_id": run_id, "trace_id": run_id, "key": key, "score": score}
        return {**given, "comment": comment or None, "feedback_source": source, "created_at": at, "modified_at": at}

    for name, score in result.scored.scores.items():
        if name != "judged":
            yield record(name, score)
    if judged := result.judged:
        yield record("judged", judged.score, judged.reason, judged.model)
    if result.label is not None:
        yield record("label", float(result.label), "Rated by a person.")


def _langsmith_run_id(experiment: UUID, result: EvaluationResult) -> str:
    return str(uuid5(experiment, f"{result.number}/{result.repetition}"))


def _utc_datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


_QUESTION_BATCH_SIZE, _ANSWER_BATCH_SIZE = 100, 50

Item = TypeVar("Item")


class LangSmithUpload:
    """One evaluation being uploaded. Every method raises `LangSmithFailed`, `HomeFault` and `Stopped`."""

    def __init__(
        self,
        account: LangSmithAccount,
        outbound_log: OutboundLog,
        evaluation: Evaluation,
        stop: Cancellation,
        report: ProgressCallback,
    ) -> None:
        self._account = account
        self._outbound_log = outbound_log
        self._evaluation = evaluation
        self._report = report
        self._what = ""
        self._connection = LangSmithConnection(account, self._record_request, stop)
        self._client = self._connection.client

    def send(self, results: Sequence[EvaluationResult]) -> str:
        """Send all finished answers; return the URL that compares the experiments."""
        answered = [result for result in results if result.state in _FINISHED_STATES]
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

    def _record_request(self) -> None:
        self._outbound_log.record(self._account.host, "evaluation", f"“{self._evaluation.name}”: {self._what}")

    @contextmanager
    def _record_requests(self, what: str) -> Iterator[None]:
        """Record the requests of the block in the outbound log as `what`, and translate their errors."""
        self._what = what
        with self._connection.translate_faults():
            yield

    def _dataset(self) -> Dataset:
        from langsmith.utils import LangSmithConflictError, LangSmithNotFoundError

        name = dataset_name(self._evaluation)
        with self._record_requests(f"the name of its dataset, “{name}”, to find or make it"):
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
        with self._record_requests(f"the settings and models of “{variant.name}”"):
            return self._client.create_project(
                experiment_name(self._evaluation, variant),
                metadata=experiment_metadata(self._evaluation, variant),
                reference_dataset_id=dataset.id,
                num_examples=self._evaluation.size,
                num_repetitions=self._evaluation.repetitions,
                upsert=True,
            )

    def _send_examples(self, dataset: UUID, examples: Sequence[Example]) -> None:
        with self._record_requests("which of its questions are there?"):
            there = {example.id for example in self._client.list_examples(dataset_id=dataset)}
        missing = [example for example in examples if example_id(dataset, example) not in there]
        for batch in self._batches("Questions", missing, _QUESTION_BATCH_SIZE):
            with self._record_requests(
                f"{format_count(len(batch), 'question')} with what is known of the right answers"
            ):
                sent = [example_record(dataset, example) for example in batch]
                self._client.create_examples(dataset_id=dataset, examples=sent, max_concurrency=1)

    def _send_answers(self, dataset: UUID, experiments: Sequence[UUID], results: Sequence[EvaluationResult]) -> None:
        for batch in self._batches("Answers", results, _ANSWER_BATCH_SIZE):
            self._what = f"{format_count(len(batch), 'answer')} with questions, steps, times and scores"
            placed = [(experiments[result.variant], result) for result in batch]
            runs = [run_record(dataset, place, self._evaluation, result) for place, result in placed]
            given = (feedback_records(place, self._evaluation, result) for place, result in placed)
            self._connection.ingest(runs, [one for each in given for one in each])

    def _finish(self, experiment: UUID, variant: Variant) -> None:
        if self._evaluation.ended_at is None:
            return
        with self._record_requests(f"that “{variant.name}” is complete"):
            self._client.update_project(
                str(experiment),
                metadata=experiment_metadata(self._evaluation, variant),
                end_time=datetime.fromtimestamp(self._evaluation.ended_at, UTC),
            )

    def _batches(self, stage: str, items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
        """Yield the items in batches, reporting progress."""
        for start in range(0, len(items), size):
            self._report(Progress(stage, start, len(items)))
            yield items[start : start + size]
        self._report(Progress(stage, len(items), len(items)))


class LangSmithUploader:
    """Uploads evaluations on request only. Safe to share between threads."""

    def __init__(self, account: LangSmithAccount, outbound_log: OutboundLog) -> None:
        self._account = account
        self._outbound_log = outbound_log

    @property
    def available(self) -> bool:
        """Whether there is an API key."""
        return bool(self._account.key)

    @property
    def host(self) -> str:
        """Host that evaluations are sent to."""
        return self._account.host

    def describe_upload(self, evaluation: Evaluation) -> str:
        """Return what would be sent where, to be shown before the user confirms."""
        questions, answers = format_count(evaluation.size, "question"), format_count(evaluation.done, "answer")
        sentences = (
            N_(f"{questions} with their expected answers go to {self.host}."),
            N_(f"{answers} go there with their steps, times, scores, settings and the names of the models."),
            N_("The judge's reasons go there, too.") if evaluation.judge else "",
            N_("Passages and names of your documents stay here."),
        )
        return " ".join(filter(None, sentences))

    def upload(
        self,
        evaluation: Evaluation,
        results: Sequence[EvaluationResult],
        report: ProgressCallback = ignore_progress,
        stop: Cancellation | None = None,
    ) -> str:
        """Send an evaluation as a dataset with one experiment per variant; return the URL of the comparison.

        Existing objects are reused, so that an interrupted upload can be repeated. Every request is in the outbound log
        before it is sent. Raises `LangSmithFailed`, `Stopped`, or `HomeFault` if the outbound log cannot be written.
        """
        if not self.available:
            remedy = "Add LANGSMITH_API_KEY=… to .env, then restart."
            raise LangSmithFailed("There is no key for LangSmith.", remedy)
        sending = LangSmithUpload(self._account, self._outbound_log, evaluation, stop or Cancellation(), report)
        with closing(sending), on_behalf_of(evaluation.owner_id):
            return sending.send(results)
