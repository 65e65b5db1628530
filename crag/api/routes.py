"""`/api/v1`: collections, documents, jobs, search, runs and evaluations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, File, Form, Query, UploadFile
from fastapi.responses import Response, StreamingResponse
from pydantic import AfterValidator, Field

from crag.api.access import PROBLEMS, Asker, Caller, Permitter, Reader, Refused, Writer, WriteRequest, reply_once
from crag.api.questions import AnswerOptions, AskOptions, RequestBody, Text, build_options, run_json, start_run
from crag.app import reports
from crag.app.followed_runs import follow_run
from crag.errors import BadRequest, NotFound
from crag.evaluation.dataset_format import parse_examples
from crag.evaluation.evaluations import MAX_REPETITIONS
from crag.evaluation.exports import summarize_variants
from crag.evaluation.types import Dataset, Evaluation, EvaluationPlan, Variant
from crag.events import encode_event
from crag.ingest.intake import compose_text_file
from crag.library.job_queue import Job
from crag.library.library import MAX_TITLE_LENGTH
from crag.library.watched_folders import KEPT_SECONDS
from crag.types import strip_unstorable

_POLL_SECONDS = 0.2
Progress = tuple[dict[str, Any], bool]  # the state of some work, and whether it has ended
Listed = Annotated[int, Query(ge=1, le=200, description="How many at most")]
router = APIRouter(prefix="/api/v1", responses=PROBLEMS)


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


class NewDocument(RequestBody):
    """A web page to fetch, or a text."""

    url: Annotated[str, Field(max_length=8_000)] = ""
    text: Annotated[str, Field(max_length=5_000_000)] = ""
    title: Annotated[str, Field(max_length=MAX_TITLE_LENGTH)] = "Note"
    collection: Annotated[str, Field(max_length=200)] = ""


class DocumentTitle(RequestBody):
    """The title that a document gets."""

    title: Annotated[str, Field(max_length=MAX_TITLE_LENGTH)]


class NewRun(AskOptions):
    """A question, and how to answer it."""

    question: Text
    conversation: Annotated[
        str, Field(max_length=200, description="Id of a conversation to go on with, or new; empty: none")
    ] = ""


class NewEvaluation(AnswerOptions):
    """Questions to ask, and how to answer and judge them."""

    dataset: Annotated[
        str,
        Field(max_length=200, description="Id or name of a dataset; seed: built in; pinned: test questions"),
    ] = ""
    questions: Annotated[
        list[dict[str, Any]],
        Field(max_length=5_000, description="Instead of a dataset: its lines, such as {question, answers, answerable}"),
    ] = Field(default_factory=list)
    name: Annotated[str, Field(max_length=200)] = ""
    repetitions: Annotated[int, Field(ge=1, le=MAX_REPETITIONS)] = 1
    judge: Annotated[str, Field(max_length=200, description="Model that judges the answers; empty: none")] = ""


class Consent(RequestBody):
    """Whether a waiting query may leave, perhaps reworded."""

    allow: bool
    query: Annotated[str, Field(max_length=400)] = ""


@router.get("/collections", tags=["Documents"])
def list_collections(caller: Reader) -> dict[str, Any]:
    """List the collections with their numbers of documents and passages."""
    return {"collections": [asdict(one) for one in caller.application.library.collections()]}


@router.get("/documents", tags=["Documents"])
def list_documents(
    caller: Reader,
    collection: str = "",
    limit: Listed = 100,
    cursor: Annotated[str, Query(max_length=200, description="The `next_cursor` of the page before")] = "",
) -> dict[str, Any]:
    """List the documents, newest first, and how many there are; `next_cursor` is null on the last page."""
    return reports.source_page_json("documents", caller.application.library.source_page(collection, limit, cursor))


@router.get("/documents/{document_id}", tags=["Documents"])
def get_document(caller: Reader, document_id: str) -> dict[str, Any]:
    """Return one document."""
    return reports.source_json(caller.application.library.source(document_id))


@router.post("/documents", tags=["Documents"], status_code=HTTPStatus.ACCEPTED, response_model=None)
def add_document(caller: Writer, request: WriteRequest, document: NewDocument) -> Response:
    """Add a web page or a text; the reply names the job that reads it."""
    if bool(document.url) == bool(document.text):
        raise BadRequest("Give either a url or a text.")
    jobs = caller.application.jobs

    def add() -> dict[str, Any]:
        if document.url:
            return {"job": jobs.submit_url(document.url, document.collection)}
        return {"job": jobs.submit_bytes(*compose_text_file(document.title, document.text), document.collection)}

    return reply_once(request, caller, document.model_dump(), add)


@router.post("/documents/files", tags=["Documents"], status_code=HTTPStatus.ACCEPTED, response_model=None)
def add_file(
    caller: Writer,
    request: WriteRequest,
    file: Annotated[UploadFile, File()],
    collection: Annotated[str, Form(), AfterValidator(strip_unstorable)] = "",
) -> Response:
    """Add an uploaded file, perhaps an archive; the reply names the job that reads it."""
    data, limit = file.file.read(), caller.application.settings.max_upload_bytes
    if len(data) > limit:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A file may have {limit:,} bytes.", "", "too_large")
    name = file.filename or "upload"
    content = (name, collection, hashlib.sha256(data).hexdigest())
    return reply_once(
        request, caller, content, lambda: {"job": caller.application.jobs.submit_bytes(name, data, collection)}
    )


@router.patch("/documents/{document_id}", tags=["Documents"], response_model=None)
def rename_document(caller: Writer, request: WriteRequest, document_id: str, renamed: DocumentTitle) -> Response:
    """Give a document another title; an empty one brings back the title that its file states."""

    def rename() -> dict[str, Any]:
        return reports.source_json(caller.application.library.rename(document_id, renamed.title))

    return reply_once(request, caller, renamed.model_dump(), rename)


@router.delete("/documents/{document_id}", tags=["Documents"], status_code=HTTPStatus.ACCEPTED, response_model=None)
def remove_document(caller: Writer, request: WriteRequest, document_id: str) -> Response:
    """Remove a document; on the page Documents this can be undone for a day."""
    return reply_once(request, caller, "", lambda: _discard(caller, document_id))


def _discard(caller: Caller, document_id: str) -> dict[str, Any]:
    caller.application.library.source(document_id)  # raises if there is none
    caller.application.library.discard([document_id], KEPT_SECONDS)
    return {"removed": document_id}


@router.get("/jobs/{job_id}", tags=["Documents"])
def get_job(caller: Writer, job_id: str) -> dict[str, Any]:
    """Return the progress of a job, and its result for each file once it has one."""
    return _job_json(_find_job(caller, job_id))


@router.get("/jobs/{job_id}/events", tags=["Documents"], response_class=EventStream)
def follow_job(caller: Writer, job_id: str) -> EventStream:
    """Stream the progress of a job as server-sent events, until it has ended."""
    _find_job(caller, job_id)

    def read() -> Progress:
        job = _find_job(caller, job_id)
        return _job_json(job), job.finished

    return EventStream(_poll(read))


async def _poll(read: Callable[[], Progress]) -> AsyncIterator[str]:
    """Yield an event for each change, until `read` says that there will be no more."""
    last, is_over = "", False
    while not is_over:
        document, is_over = await anyio.to_thread.run_sync(read)
        if (said := json.dumps(document)) != last:
            last = said
            yield f"data: {said}\n\n"
        if not is_over:
            await anyio.sleep(_POLL_SECONDS)


def _find_job(caller: Caller, job_id: str) -> Job:
    found = caller.application.jobs.job(job_id)
    if found is None:
        raise NotFound("There is no such job.", "It may have been dismissed.")
    return found


def _job_json(job: Job) -> dict[str, Any]:
    progress = {"stage": job.progress.stage, "done": job.progress.done, "total": job.progress.total}
    return {"id": job.id, "state": job.state, **progress, "results": [asdict(result) for result in job.results]}


@router.get("/search", tags=["Search"])
def search(
    caller: Reader,
    q: Annotated[str, Query(min_length=1, max_length=2_000)],
    passages: Annotated[int, Query(ge=1, le=50)] = 4,
    collection: str = "",
) -> dict[str, Any]:
    """Find passages without grading them."""
    caller.application.library.check_collection(collection)
    hits = caller.application.library.search(q, passages, collection)
    return {"hits": [reports.hit_json(hit) for hit in hits]}


@router.get("/passages/{passage_id}", tags=["Search"])
def get_passage(caller: Reader, passage_id: int) -> dict[str, Any]:
    """Return a passage with the text around it."""
    passage = caller.application.library.passage(passage_id)
    if passage is None:
        raise NotFound("There is no such passage.", "Its document may have been removed.")
    return reports.hit_json(passage) | {"context": passage.context}


@router.post("/runs", tags=["Runs"], status_code=HTTPStatus.ACCEPTED, response_model=None)
def ask(caller: Asker, request: WriteRequest, asked: NewRun) -> Response:
    """Ask a question; the reply names the run, which goes on by itself."""

    def start() -> dict[str, Any]:
        run, conversation_id = start_run(caller, asked.question, asked, conversation=asked.conversation)
        return {"run_id": run.id, "conversation_id": conversation_id}

    return reply_once(request, caller, asked.model_dump(), start)


@router.get("/runs/{run_id}", tags=["Runs"])
def get_run(caller: Reader, run_id: str) -> dict[str, Any]:
    """Return a run: its status, and the answer with verdicts and citations as far as it goes."""
    return _read_run(caller, run_id)


def _read_run(caller: Caller, run_id: str) -> dict[str, Any]:
    conversation = caller.application.conversations.find_by_run(run_id)
    trace = caller.application.runs.trace(run_id)
    return run_json(run_id, trace, conversation.id if conversation else None)


@router.get("/runs/{run_id}/trace", tags=["Runs"])
def get_trace(caller: Reader, run_id: str) -> dict[str, Any]:
    """Return all that Inspect shows of a run.

    To the run itself this adds its steps with their times, every passage found, queries, options, and each prompt as it
    was sent to a model, with its reply. Times are in seconds, of steps and calls since the start of the run.
    """
    runs = caller.application.runs
    return _read_run(caller, run_id) | reports.trace_json(runs.trace(run_id), runs.calls(run_id))


@router.get("/runs/{run_id}/events", tags=["Runs"], response_class=EventStream)
def follow_run_events(caller: Reader, run_id: str) -> EventStream:
    """Stream the events of a run, past ones first, until it ends or waits for leave."""
    run = caller.application.runs.attach(run_id)

    async def events() -> AsyncIterator[str]:
        async for event in follow_run(caller.application, run, stops=False):
            yield f"data: {encode_event(event).decode()}\n\n"

    return EventStream(events())


@router.post("/runs/{run_id}/stop", tags=["Runs"])
def stop_run(caller: Asker, run_id: str) -> dict[str, Any]:
    """Stop a run; its text so far stays."""
    caller.application.runs.stop(run_id)
    return {"stopped": run_id}


@router.post("/runs/{run_id}/consent", tags=["Runs"])
def answer_consent(caller: Permitter, run_id: str, consent: Consent) -> dict[str, Any]:
    """Let the query of a waiting run go, or not; the run then goes on."""
    runs = caller.application.runs
    waiting = runs.trace(run_id).waiting
    if waiting is None:
        raise Refused(HTTPStatus.CONFLICT, "This run does not wait for leave.")
    runs.answer_consent(run_id, (consent.query or waiting.query) if consent.allow else None)
    return {"run_id": run_id, "allowed": consent.allow}


@router.get("/datasets", tags=["Evaluations"])
def list_datasets(caller: Reader) -> dict[str, Any]:
    """List the datasets that can be evaluated."""
    return {"datasets": [reports.dataset_json(one) for one in caller.application.datasets.all()]}


@router.post("/evaluations", tags=["Evaluations"], status_code=HTTPStatus.ACCEPTED, response_model=None)
def start_evaluation(caller: Asker, request: WriteRequest, wanted: NewEvaluation) -> Response:
    """Ask every question of a dataset, and score the answers; the reply names the evaluation."""
    application = caller.application
    if bool(wanted.dataset) == bool(wanted.questions):
        raise BadRequest("Give either a dataset or questions.")
    application.library.check_collection(wanted.collection)
    options = build_options(caller, wanted)
    dataset = _name_questions(wanted) if wanted.questions else application.datasets.find(wanted.dataset)

    def start() -> dict[str, Any]:
        plan = EvaluationPlan(
            dataset,
            [Variant("as given", options)],
            wanted.repetitions,
            wanted.judge,
            name=wanted.name,
            owner_id=dataset.owner_id,
        )
        return {"evaluation_id": application.evaluations.begin(plan).id}

    return reply_once(request, caller, wanted.model_dump(), start)


def _name_questions(wanted: NewEvaluation) -> Dataset:
    lines = "\n".join(json.dumps(row) for row in wanted.questions)
    return Dataset("", wanted.name or "API", "uploaded", parse_examples(lines.encode()))


@router.get("/evaluations", tags=["Evaluations"])
def list_evaluations(caller: Reader, limit: Listed = 50) -> dict[str, Any]:
    """List the evaluations, newest first."""
    return {"evaluations": [_evaluation_json(one) for one in caller.application.evaluations.list(limit)]}


@router.get("/evaluations/{evaluation_id}", tags=["Evaluations"])
def get_evaluation(caller: Reader, evaluation_id: str) -> dict[str, Any]:
    """Return an evaluation: its progress, its figures with their intervals, and the scores of each answer."""
    evaluations = caller.application.evaluations
    found, results = evaluations.get(evaluation_id), evaluations.results(evaluation_id)
    answers = [
        {
            "run_id": one.run_id,
            "question": one.example.question,
            "variant": one.variant,
            "repetition": one.repetition,
            "state": one.state,
            "scores": dict(one.scored.scores),
        }
        for one in results
    ]
    summary = summarize_variants(found, results, evaluations.cutoffs())
    return _evaluation_json(found) | {"summary": summary, "answers": answers}


@router.get("/evaluations/{evaluation_id}/events", tags=["Evaluations"], response_class=EventStream)
def follow_evaluation(caller: Reader, evaluation_id: str) -> EventStream:
    """Stream the progress of an evaluation as server-sent events, until it has ended."""
    evaluations = caller.application.evaluations
    evaluations.get(evaluation_id)

    def read() -> Progress:
        evaluation = evaluations.get(evaluation_id)
        return _evaluation_json(evaluation), not evaluation.is_active

    return EventStream(_poll(read))


@router.post("/evaluations/{evaluation_id}/stop", tags=["Evaluations"])
def stop_evaluation(caller: Asker, evaluation_id: str) -> dict[str, Any]:
    """Stop an evaluation; its answers so far stay."""
    caller.application.evaluations.stop(evaluation_id)
    return {"stopped": evaluation_id}


def _evaluation_json(one: Evaluation) -> dict[str, Any]:
    names = "id name kind dataset state fault started_at ended_at done total failed seconds_left"
    return {name: getattr(one, name) for name in names.split()}
