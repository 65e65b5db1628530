"""Uploading an evaluation to a scripted LangSmith over real HTTP: complete, idempotent, failing in words."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import HomeFault, LangSmithFailed, Stopped
from crag.evaluation.langsmith_upload import LangSmithUploader
from crag.evaluation.types import Environment, Evaluation, EvaluationResult, Example, Judgement, ScoredAnswer, Variant
from crag.options import RunOptions
from crag.settings import LangSmithAccount
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.types import Progress
from tests.doubles.langsmith import LangSmithServer
from tests.doubles.outbound_log import ListOutboundLog

KEY = "lsv2_pt_0123456789abcdef_feedcafe42"
SECRET_PHRASE = "a phrase of the right passage"
EXAMPLES = [
    Example("k1", "Who wrote it?", references=("Ada", "Ada Lovelace"), steps=(("retrieve", "generate"),)),
    Example("k2", "Wann? 언제?", answerable=False, phrases=(SECRET_PHRASE,), sources=("secret.pdf",)),
]
VARIANTS = (
    Variant("paper", RunOptions(k=4, collection="Private things"), Environment(model="builtin", fingerprint="m1")),
    Variant("any", RunOptions(k=8, policy="any"), Environment(library="l1", version="1.2")),
)
EVALUATION = Evaluation(
    *("0123456789abcdef", "Monday", "plain", "Posts", "d1", "digest0123456789", 2, VARIANTS, 2, "ollama:judge", 1, ""),
    *("done", "", 1_700_000_000.0, 1_700_000_100.0, 100.0, 8),
)


def result(variant: int, number: int, repetition: int) -> EvaluationResult:
    scored = ScoredAnswer(
        f"Answer {number}", "correct", "documents", ("retrieve", "generate"), scores={"token_f1": 0.5}
    )
    judged = Judgement("ollama:judge", 0.75, "It names the author.")
    return EvaluationResult(
        *(variant, number, repetition, EXAMPLES[number], "run", "done", "", replace(scored, seconds=1.5), judged, True),
        started_at=1_700_000_010.0 + repetition,
    )


RESULTS = [result(variant, number, again) for variant in (0, 1) for number in (0, 1) for again in (1, 2)]


@pytest.fixture
def server():
    with LangSmithServer() as opened:
        yield opened


@pytest.fixture
def outbound_log():
    return ListOutboundLog()


@pytest.fixture
def uploads(server, outbound_log):
    return LangSmithUploader(LangSmithAccount(KEY, server.url), outbound_log)


def test_a_dataset_and_one_experiment_per_variant_arrive(server, uploads):
    address = uploads.upload(EVALUATION, RESULTS)
    (dataset,) = server.datasets.values()
    assert dataset["name"] == "Posts · digest012345"
    asked = {one["inputs"]["question"]: one["outputs"] for one in server.examples.values()}
    assert asked["Who wrote it?"] == {
        "reference": "Ada",
        "references": ["Ada", "Ada Lovelace"],
        "expected_steps": [["retrieve", "generate"]],
    }
    assert asked["Wann? 언제?"] == {"answerable": False}
    paper, other = server.projects.values()
    assert paper["reference_dataset_id"] == other["reference_dataset_id"] == dataset["id"]
    assert paper["extra"]["metadata"]["settings"]["k"] == 4
    assert paper["extra"]["metadata"]["environment"]["fingerprint"] == "m1"
    assert other["extra"]["metadata"]["environment"]["library"] == "l1"
    assert paper["end_time"] == "2023-11-14T22:15:00+00:00"
    place = f"{server.url}/o/{dataset['tenant_id']}/datasets/{dataset['id']}"
    assert address == f"{place}/compare?selectedSessions={paper['id']}%2C{other['id']}"


def test_each_answer_is_a_run_of_its_question_with_its_scores(server, uploads):
    uploads.upload(EVALUATION, RESULTS)
    paper, _ = server.projects.values()
    first = next(
        one
        for one in server.runs.values()
        if one["session_id"] == paper["id"] and one["inputs"] == {"question": "Who wrote it?"}
    )
    assert server.examples[first["reference_example_id"]]["inputs"] == first["inputs"]
    assert first["outputs"]["answer"] == "Answer 0"
    assert first["outputs"]["steps"] == ["retrieve", "generate"]
    assert (first["start_time"][11:19], first["end_time"][11:21]) == ("22:13:31", "22:13:32.5")
    assert first["dotted_order"] == f"20231114T221331000000Z{first['id']}"
    given = {one["key"]: one for one in server.feedback.values() if one["run_id"] == first["id"]}
    assert {key: one["score"] for key, one in given.items()} == {"token_f1": 0.5, "judged": 0.75, "label": 1.0}
    assert given["judged"]["comment"] == "It names the author."
    assert len(server.runs) == 8
    assert len(server.feedback) == 24


def test_uploading_again_adds_only_what_is_missing(server, uploads):
    uploads.upload(EVALUATION, RESULTS[:3])
    address = uploads.upload(EVALUATION, RESULTS)
    assert uploads.upload(replace(EVALUATION, name="Renamed"), RESULTS) == address
    assert (len(server.datasets), len(server.projects), len(server.examples)) == (1, 2, 2)
    assert (len(server.runs), len(server.feedback)) == (8, 24)


def test_what_failed_half_way_can_be_repeated(server, uploads):
    server.status, server.fails_from = 503, 7  # the answers
    with pytest.raises(LangSmithFailed, match="reported an error"):
        uploads.upload(EVALUATION, RESULTS)
    assert server.datasets
    assert not server.runs
    server.status = 200
    uploads.upload(EVALUATION, RESULTS)
    assert (len(server.datasets), len(server.projects), len(server.examples), len(server.runs)) == (1, 2, 2, 8)


def test_every_request_is_written_down_before_and_says_what_goes(server, uploads, outbound_log):
    uploads.upload(EVALUATION, RESULTS)
    assert len(outbound_log.entries) == len(server.requests)
    assert {(host, kind) for host, kind, _ in outbound_log.entries} == {
        (server.url.removeprefix("http://"), "evaluation")
    }
    said = "\n".join(what for *_, what in outbound_log.entries)
    assert "“Monday”: 2 questions with what is known of the right answers" in said
    assert "8 answers with questions, steps, times and scores" in said
    assert KEY not in said


def test_what_was_sent_is_listed_for_whose_evaluation_it_is(server, tmp_path):
    outbound_log = OutboundLog(Database(tmp_path))
    uploader = LangSmithUploader(LangSmithAccount(KEY, server.url), outbound_log)
    uploader.upload(replace(EVALUATION, owner_id="a"), RESULTS)
    assert len(outbound_log.for_user("a").entries(kind="evaluation")) == len(server.requests)
    assert outbound_log.for_user("b").entries() == []


def test_nothing_is_sent_that_cannot_be_written_down(server, uploads, outbound_log):
    outbound_log.failure = HomeFault("The disk is full.")
    with pytest.raises(HomeFault, match="full"):
        uploads.upload(EVALUATION, RESULTS)
    assert server.requests == []


def test_passages_collections_and_this_machine_stay_here(server, uploads):
    uploads.upload(EVALUATION, RESULTS)
    for private in (SECRET_PHRASE, "secret.pdf", "Private things", '"platform"', "runtime_version"):
        assert private not in server.sent
    told = uploads.describe_upload(EVALUATION)
    assert server.url.removeprefix("http://") in told
    assert "2 questions" in told
    assert "8 answers" in told
    assert "The judge's reasons" in told


def test_without_a_key_nothing_is_sent(server, outbound_log):
    uploads = LangSmithUploader(LangSmithAccount(url=server.url), outbound_log)
    assert not uploads.available
    with pytest.raises(LangSmithFailed, match="LANGSMITH_API_KEY"):
        uploads.upload(EVALUATION, RESULTS)
    assert server.requests == outbound_log.entries == []


@pytest.mark.parametrize(
    ("status", "headers", "body", "said"),
    [
        (401, {}, b"{}", "refused the key"),
        (403, {}, b"{}", "may not write"),
        (403, {}, b'{"error": "org_scoped_key_requires_workspace"}', "LANGSMITH_WORKSPACE_ID"),
        (404, {}, b"{}", "not a LangSmith"),
        (409, {}, b"{}", "already has an item"),
        (413, {}, b"{}", "upload is too large"),
        (422, {}, b"{}", r"refused the upload \(HTTP 422\)"),
        (429, {"Retry-After": "30"}, b"{}", "Wait 30 seconds"),
        (429, {"Retry-After": "soon"}, b"{}", "Wait a while"),
        (500, {}, b"{}", "reported an error"),
        (504, {}, b"<html>", "reported an error"),
        (200, {}, b"<!doctype html><p>Sign in", "could not be read"),
        (200, {}, b'{"detail": 1}', "could not be read"),
        (200, {}, b"[[]]", "could not be read"),
    ],
)
def test_failures_are_told_once_in_words_without_the_key(server, uploads, caplog, status, headers, body, said):
    server.status, server.headers, server.body = status, headers, body
    with caplog.at_level(logging.DEBUG), pytest.raises(LangSmithFailed, match=said) as failed:
        uploads.upload(EVALUATION, RESULTS)
    assert_no_key(str(failed.value), caplog)
    assert len({(method, path) for method, path, _ in server.requests}) == len(server.requests), "not tried again"


def test_a_redirect_is_not_followed_with_the_key(server, uploads):
    with LangSmithServer() as elsewhere:
        server.status, server.headers = 307, {"Location": elsewhere.url}
        with pytest.raises(LangSmithFailed, match="redirects elsewhere"):
            uploads.upload(EVALUATION, RESULTS)
        assert elsewhere.requests == []


def test_a_closed_port_and_a_server_that_speaks_no_tls(server, outbound_log, caplog):
    with LangSmithServer() as closed:
        gone = closed.url
    for url, said in ((gone, "cannot be reached"), (server.url.replace("http:", "https:"), "certificate")):
        with caplog.at_level(logging.DEBUG), pytest.raises(LangSmithFailed, match=said) as failed:
            LangSmithUploader(LangSmithAccount(KEY, url), outbound_log).upload(EVALUATION, RESULTS)
        assert_no_key(str(failed.value), caplog)


def test_a_stop_is_heard_while_the_server_hangs(server, uploads):
    server.delay, stop = threading.Event(), Cancellation()
    threading.Timer(0.1, stop.cancel).start()
    with pytest.raises(Stopped):
        uploads.upload(EVALUATION, RESULTS, stop=stop)


def test_progress_counts_questions_and_answers(uploads):
    told: list[Progress] = []
    uploads.upload(EVALUATION, RESULTS, told.append)
    assert told[-1] == Progress("Answers", 8, 8)
    assert Progress("Questions", 0, 2) in told


def assert_no_key(message: str, caplog: pytest.LogCaptureFixture) -> None:
    for part in (KEY, KEY[:5], KEY[-6:]):
        assert part not in message
        assert part not in caplog.text
