"""Documents, runs and evaluations over HTTP."""

from __future__ import annotations

import json
import socket
import sys
import traceback
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

import httpx
import pytest
from starlette.requests import Request

from crag.api.access import FILE_WEIGHT, MOST_OPEN, say_error
from crag.app.application import _HOURLY_LIMITS
from crag.concurrency.rate_limits import RateLimits
from crag.errors import HomeFault, LimitReached, ModelFault, NotFound
from crag.options import RunOptions
from crag.runs.run import LiveRun
from tests.api.conftest import bearer, client_of, on_ollama, on_tavily, open_with_text, secret_of, token_of_ann
from tests.belongings import ANN, BEN, make_belongings
from tests.waiting import wait_until

LONE_SURROGATE = "\ud800"
NAMES = ("conversation", "collection", "preset")


def events_of(api, path):
    with api.stream("GET", path) as reply:
        return [json.loads(line.removeprefix("data: ")) for line in reply.iter_lines() if line]


def test_a_document_is_added_followed_found_and_removed(api):
    reply = api.post("/api/v1/documents", json={"text": "The ferry leaves at nine.", "title": "Ferry"})
    assert reply.status_code == 202
    events = events_of(api, f"/api/v1/jobs/{reply.json()['job']}/events")
    assert events[-1]["stage"] == "Done"
    assert (events[-1]["state"], events[-1]["results"][0]["status"]) == ("done", "added")
    file = {"file": ("plan.md", b"# Plan\n\nThe bridge opens in May.\n")}
    reply = api.post("/api/v1/documents/files", files=file)
    assert events_of(api, f"/api/v1/jobs/{reply.json()['job']}/events")[-1]["state"] == "done"
    listed = api.get("/api/v1/documents").json()["documents"]
    assert {one["title"] for one in listed} == {"Light", "Ferry", "Plan"}
    hits = api.get("/api/v1/search", params={"q": "ferry", "passages": 1}).json()["hits"]
    assert hits[0]["title"] == "Ferry"
    assert "nine" in api.get(f"/api/v1/passages/{hits[0]['passage_id']}").json()["context"]
    removed = hits[0]["source_id"]
    assert api.delete(f"/api/v1/documents/{removed}").status_code == 202
    assert api.get(f"/api/v1/documents/{removed}").status_code == 404
    assert api.get("/api/v1/collections").json()["collections"][0]["sources"] == 2


def test_documents_are_listed_page_by_page(api, application):
    for n in range(3):
        application.library.pipeline.add_bytes(f"{n}.md", f"Boat {n}.".encode())
    pages, cursor = [], ""
    while not pages or cursor:
        pages.append(api.get("/api/v1/documents", params={"limit": 3, "cursor": cursor}).json())
        cursor = pages[-1]["next_cursor"]
    assert [[one["title"] for one in page["documents"]] for page in pages] == [["2.md", "1.md", "0.md"], ["Light"]]
    assert {page["total"] for page in pages} == {4}
    everything = api.get("/api/v1/documents").json()
    assert everything == {"documents": pages[0]["documents"] + pages[1]["documents"], "total": 4, "next_cursor": None}


def test_a_document_is_renamed_and_gets_its_own_title_back(api):
    (document,) = api.get("/api/v1/documents").json()["documents"]
    path = f"/api/v1/documents/{document['id']}"
    renamed = api.patch(path, json={"title": "Brill"})
    assert (renamed.status_code, renamed.json()["title"], renamed.json()["own_title"]) == (202, "Brill", "Light")
    assert api.get("/api/v1/search", params={"q": "lighthouse"}).json()["hits"][0]["title"] == "Brill"
    assert api.patch(path, json={"title": ""}).json() == document
    assert api.patch(path, json={}).status_code == 422
    assert api.patch("/api/v1/documents/unknown", json={"title": "Brill"}).status_code == 404


def test_the_trace_of_a_run_holds_what_inspect_shows(api, application):
    started = api.post("/api/v1/runs", json={"question": "When was the lighthouse built?"}).json()
    assert started["conversation_id"] is None, "a single question of the owner of the home has no conversation"
    run_id = started["run_id"]
    events = events_of(api, f"/api/v1/runs/{run_id}/events")
    assert (events[0]["type"], events[-1]["type"], events[-1]["state"]) == ("run_started", "run_ended", "done")
    shown, trace = api.get(f"/api/v1/runs/{run_id}/trace").json(), application.runs.trace(run_id)
    answer = api.get(f"/api/v1/runs/{run_id}").json()
    assert (answer["status"], answer["outcome"], "1931" in answer["answer"]) == ("done", "quoted", True)
    assert answer == {name: shown[name] for name in answer}
    assert [(one["node"], one["seconds"], one["state"]) for one in shown["nodes"]] == [
        (step.node, step.seconds, "done") for step in trace.steps
    ]
    assert {one["passage_id"]: one["text"] for one in shown["passages"]} == {
        number: passage.text for number, passage in trace.passages.items()
    }
    assert {one["passage_id"] for one in shown["verdicts"]} <= set(shown["found"]["library"])
    assert shown["thresholds"]["upper"] == trace.thresholds.upper
    assert (shown["options"]["k"], shown["queries"]["sent"]) == (trace.options.k, None)


def test_the_trace_of_a_run_holds_the_prompts_and_replies_of_its_model(settings):
    with on_ollama(settings) as (ollama, _, client):
        question = {"question": "When was the lighthouse of Brill built?"}
        run = client.post("/api/v1/runs", json=question).json()["run_id"]
        events_of(client, f"/api/v1/runs/{run}/events")
        calls = client.get(f"/api/v1/runs/{run}/trace").json()["calls"]
    assert len(calls) == len(ollama.chats) > 0
    assert any("1931" in prompt["text"] for call in calls for prompt in call["prompts"])


QUESTIONS = [
    {"question": "When was the lighthouse built?", "answer": "1931"},
    {"question": "Who owns the ferry?", "answerable": False},
]


def test_an_evaluation_is_started_followed_and_read(api):
    started = api.post("/api/v1/evaluations", json={"questions": QUESTIONS, "name": "Nightly", "passages": 2})
    assert started.status_code == 202
    path = f"/api/v1/evaluations/{started.json()['evaluation_id']}"
    events = events_of(api, f"{path}/events")
    assert (events[-1]["state"], events[-1]["done"], events[-1]["total"]) == ("done", 2, 2)
    found = api.get(path).json()
    assert {name: found[name] for name in events[-1]} == events[-1]
    assert [one["question"] for one in found["answers"]] == [one["question"] for one in QUESTIONS]
    (variant,) = found["summary"]
    assert (variant["figures"]["truthfulness"]["value"], variant["figures"]["truthfulness"]["n"]) == (1.0, 2)
    trace = api.get(f"/api/v1/runs/{found['answers'][0]['run_id']}/trace").json()
    assert ("1931" in trace["answer"], trace["options"]["k"]) == (True, 2)
    assert [one["id"] for one in api.get("/api/v1/evaluations").json()["evaluations"]] == [found["id"]]


def test_an_evaluation_asks_a_stored_dataset_once_per_key(api, application):
    application.datasets.add("mine", "\n".join(map(json.dumps, QUESTIONS)).encode())
    listed = {one["name"]: one for one in api.get("/api/v1/datasets").json()["datasets"]}
    assert listed["mine"]["questions"] == 2
    replies = [
        api.post("/api/v1/evaluations", json={"dataset": "mine"}, headers={"Idempotency-Key": "e"}) for _ in range(2)
    ]
    assert replies[0].json() == replies[1].json()
    (evaluation,) = application.evaluations.list()
    assert application.evaluations.wait(evaluation.id).done == 2


def test_an_evaluation_is_stopped_and_keeps_its_answers(settings):
    with on_ollama(settings, first_token_after=60.0) as (ollama, _, client):
        started = client.post("/api/v1/evaluations", json={"questions": QUESTIONS}).json()
        path = f"/api/v1/evaluations/{started['evaluation_id']}"
        wait_until(lambda: ollama.chats)
        assert client.get(path).json()["state"] == "running"
        assert client.post(f"{path}/stop").json() == {"stopped": started["evaluation_id"]}
        assert events_of(client, f"{path}/events")[-1]["state"] == "stopped"


def test_a_request_that_is_sent_again_has_no_second_effect(api, application):
    asked = {"text": "The ferry leaves at nine.", "title": "Ferry"}
    key = {"Idempotency-Key": "k1"}
    first, again = (api.post("/api/v1/documents", json=asked, headers=key) for _ in range(2))
    assert first.json() == again.json()
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    other = api.post("/api/v1/documents", json=asked | {"title": "Boat"}, headers=key)
    assert (other.status_code, other.headers["content-type"]) == (422, "application/problem+json")
    wait_until(lambda: not application.jobs.active)
    assert len(application.jobs.jobs()) == 1


def test_requests_with_one_key_at_the_same_time_have_one_effect(api, application):
    asked = {"text": "The ferry leaves at nine.", "title": "Ferry"}
    with ThreadPoolExecutor(8) as pool:
        sent = [
            pool.submit(api.post, "/api/v1/documents", json=asked, headers={"Idempotency-Key": "k"}) for _ in range(8)
        ]
    replies = [one.result() for one in sent]
    assert {reply.status_code for reply in replies} <= {202, 409}
    assert len({reply.json()["job"] for reply in replies if reply.status_code == 202}) == 1
    assert len(application.jobs.jobs()) == 1


def test_a_removal_sent_again_gets_the_same_reply(api, application):
    (source,) = application.library.sources()
    replies = [api.delete(f"/api/v1/documents/{source.id}", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [reply.json() for reply in replies] == [{"removed": source.id}] * 2


def test_a_request_without_a_token_or_with_too_long_a_body_is_refused(settings):
    with open_with_text(settings, max_upload_mb=1) as opened, client_of(opened) as client:
        files = {"file": ("long.md", bytes(4 << 20))}
        path = "/api/v1/documents/files"
        replies = [httpx.post(f"{client.base_url}{path}", files=files), client.post(path, files=files)]
    assert [reply.status_code for reply in replies] == [401, 413]


def test_a_body_that_is_no_file_may_not_be_as_long_as_one(application, api):
    """Brackets take far more memory once they are read."""
    bomb = b'{"question": [' + b"[]," * (4 << 20) + b"[]]}"
    assert len(bomb) < application.settings.max_upload_bytes
    for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain"):
        reply = api.post("/api/v1/runs", content=bomb, headers={"Content-Type": kind})
        assert (reply.status_code, reply.headers["content-type"]) == (413, "application/problem+json")
    fields = api.post("/api/v1/documents/files", content=b"a=b&" * (4 << 20), headers={"Content-Type": kind})
    assert fields.status_code in (413, 422)


def test_a_file_is_not_copied_into_text(application, api):
    """The digest of a request once wrote each byte of a file as four characters, three times."""
    content = bytes(range(256)) * (4 << 12)
    tracemalloc.start()
    reply = api.post("/api/v1/documents/files", files={"file": ("noise.bin", content)})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reply.status_code == 202
    assert most < 8 * len(content)


def test_one_program_does_not_hold_all_connections_open(settings):
    with on_ollama(settings, first_token_after=60.0) as (_, opened, client):
        others = bearer(secret_of(opened))
        question = {"question": "When was the lighthouse of Brill built?"}
        run = client.post("/api/v1/runs", json=question).json()["run_id"]
        with ExitStack() as streams:
            stream = partial(client.stream, "GET", f"/api/v1/runs/{run}/events")
            statuses = [streams.enter_context(stream()).status_code for _ in range(MOST_OPEN)]
            assert statuses == [200] * MOST_OPEN
            refused = client.get("/api/v1/collections")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_open")
            assert client.get("/api/v1/collections", headers=others).status_code == 200
        wait_until(lambda: client.get("/api/v1/collections").status_code == 200)
        opened.runs.stop(run)


def test_one_program_does_not_send_all_files_at_once(application, address):
    """Each file is held in memory until its job is stored."""
    secret = secret_of(application)
    head = f"POST /api/v1/documents/files HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n"
    head += "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
    place = ("127.0.0.1", int(address.rpartition(":")[2]))
    headers = bearer(secret)
    with ExitStack() as senders, httpx.Client(base_url=address, headers=headers) as client:
        for _ in range(MOST_OPEN // FILE_WEIGHT):
            sender = senders.enter_context(socket.create_connection(place))
            sender.sendall(head.encode())
            assert b"100 Continue" in sender.recv(100)
        send = partial(client.post, "/api/v1/documents/files", files={"file": ("note.md", b"# Note")})
        assert send().status_code == 429
        assert client.get("/api/v1/collections").status_code == 200
        senders.close()
        wait_until(lambda: send().status_code == 202)


def test_followers_that_vanish_leave_no_threads(settings):
    with on_ollama(settings, first_token_after=60.0) as (ollama, opened, client):
        question = {"question": "When was the lighthouse of Brill built?"}
        run = client.post("/api/v1/runs", json=question).json()["run_id"]
        wait_until(lambda: ollama.chats)
        with ExitStack() as streams:
            for _ in range(20):
                streams.enter_context(client.stream("GET", f"/api/v1/runs/{run}/events"))
            wait_until(lambda: count_followers() > 10)
        wait_until(lambda: not count_followers())
        assert opened.runs.trace(run).state == "running"
        opened.runs.stop(run)


def count_followers():
    frames = sys._current_frames().values()
    codes = {LiveRun.follow.__code__}
    return sum(any(frame.f_code in codes for frame, _ in traceback.walk_stack(frame)) for frame in frames)


def test_more_questions_than_an_account_may_ask_are_refused(application, api):
    limits = RateLimits({"questions": 1})
    application.runs.check_limit = lambda user: limits.take("questions", user)
    headers = token_of_ann(application)
    replies = [api.post("/api/v1/runs", json={"question": "Why?"}, headers=headers) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [202, 429]
    assert int(replies[1].headers["retry-after"]) > 3000


def test_an_evaluation_counts_each_of_its_questions(settings, monkeypatch):
    monkeypatch.setitem(_HOURLY_LIMITS, "evaluations", 3)
    with open_with_text(settings) as opened, client_of(opened) as client:
        headers = token_of_ann(opened)
        replies = [
            client.post("/api/v1/evaluations", json={"questions": questions, "repetitions": times}, headers=headers)
            for questions, times in ((QUESTIONS, 1), (QUESTIONS, 1), (QUESTIONS[:1], 1), (QUESTIONS, 2))
        ]
    assert [reply.status_code for reply in replies] == [202, 429, 202, 400]
    assert "3 questions in evaluations an hour" in replies[1].json()["detail"]


def test_a_question_that_is_refused_leaves_no_conversation(application, api):
    headers = token_of_ann(application)
    for body in ({"question": " "}, {"question": "Why?", "preset": "none"}):
        assert api.post("/api/v1/runs", json=body, headers=headers).status_code == 400
    with application.database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM conversations").scalar() == 0


def test_text_that_cannot_be_written_is_no_fault_of_the_server(unchanged_api):
    reply = unchanged_api.post(
        "/v1/chat/completions", content=b'{"model": "\\ud800", "messages": [{"role": "user", "content": "?"}]}'
    )
    assert reply.status_code == 422


@pytest.mark.postgres
def test_nul_is_no_fault_of_the_server(api):
    for method, path, body, status in (
        ("GET", "/api/v1/runs/a%00b", None, 400),
        ("DELETE", "/api/v1/documents/%00", None, 400),
        ("POST", "/api/v1/runs", {"question": "Why\0?", "conversation": "\0"}, 202),
        ("POST", "/api/v1/documents", {"text": "Rain.", "title": "\0Rain", "collection": "\0"}, 202),
        ("POST", "/api/v1/evaluations", {"dataset": "seed", "name": "\0Night", "judge": "\0"}, 202),
    ):
        reply = api.request(method, path, json=body)
        assert reply.status_code == status, path
        assert "\0" not in reply.text, path


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/api/v1/documents/unknown", None, 404, "no longer"),
        ("GET", "/api/v1/documents?collection=Nowhere", None, 400, "Collections: Documents."),
        ("GET", "/api/v1/documents?cursor=x", None, 400, "This cursor is not known."),
        ("GET", "/api/v1/documents?limit=201", None, 422, ""),
        ("GET", "/api/v1/search?q=x&collection=Nowhere", None, 400, "Collections: Documents."),
        ("GET", "/api/v1/runs/unknown", None, 404, "This answer no longer exists."),
        ("GET", "/api/v1/jobs/unknown", None, 404, "There is no such job."),
        ("GET", "/api/v1/passages/99999999999999999999", None, 404, "There is no such passage."),
        ("GET", "/api/v1/evaluations/unknown", None, 404, "no longer"),
        ("GET", "/api/v1/nothing", None, 404, "Not Found"),
        ("POST", "/api/v1/documents", {}, 400, "Give either a url or a text."),
        ("POST", "/api/v1/documents", {"url": "file:///etc/passwd"}, 400, ""),
        ("POST", "/api/v1/runs", {"question": " "}, 400, "question"),
        ("POST", "/api/v1/runs", {"question": "Why?", "preset": "none"}, 400, "no preset “none”"),
        ("POST", "/api/v1/runs", {"wrong": 1}, 422, "question"),
        ("POST", "/api/v1/evaluations", {}, 400, "Give either a dataset or questions."),
        ("POST", "/api/v1/evaluations", {"dataset": "none"}, 404, "There is no dataset “none”."),
        ("POST", "/api/v1/evaluations", {"questions": [{"question": 1}]}, 400, "Line 1: question must be text."),
        ("POST", "/api/v1/evaluations", {"dataset": "seed", "collection": "Nowhere"}, 400, "Collections: Documents."),
        ("POST", "/api/v1/evaluations", {"dataset": "seed", "repetitions": 99}, 422, "repetitions"),
        ("POST", "/api/v1/evaluations/unknown/stop", None, 404, "no longer"),
        ("GET", "/api/v1/runs/unknown/trace", None, 404, "This answer no longer exists."),
        *(("POST", "/api/v1/runs", {"question": "Why?", field: LONE_SURROGATE}, 422, field) for field in NAMES),
        ("POST", "/api/v1/runs/unknown/consent", {"allow": True}, 404, "no longer"),
    ],
)
def test_errors_are_problem_details(unchanged_api, method, path, body, status, words):
    reply = unchanged_api.request(method, path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    if status == 400 and path.endswith("documents") and body.get("url"):  # refused when it is fetched, by the job
        assert events_of(unchanged_api, f"/api/v1/jobs/{reply.json()['job']}/events")[-1]["state"] == "failed"
        return
    assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json")
    assert words in reply.json()["detail"]
    assert reply.json()["status"] == status


@pytest.mark.parametrize(
    ("error", "status"),
    [(HomeFault("", ""), 503), (ModelFault("", ""), 502), (NotFound(""), 404), (LimitReached("", "", 60), 429)],
)
def test_an_error_has_the_status_of_its_kind(error, status):
    assert say_error(Request({"type": "http", "path": "/", "headers": []}), error).status_code == status


def test_a_token_opens_what_its_scopes_say_until_it_is_revoked(application, address):
    secret = secret_of(application, ["read"])
    with httpx.Client(base_url=address, headers=bearer(secret)) as client:
        assert client.get("/api/v1/documents").status_code == 200
        refused = client.post("/api/v1/documents", json={"text": "x"})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert client.post("/api/v1/runs", json={"question": "Why?"}).status_code == 403
        (token,) = application.api_tokens.list()
        assert token.used_at
        application.api_tokens.revoke(token.id)
        refused = client.get("/api/v1/documents")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    with application.database.read() as connection:
        stored = connection.exec_driver_sql("SELECT group_concat(digest) FROM api_tokens").scalar() or ""
    assert secret not in stored


@pytest.mark.parametrize(
    ("method", "path", "state"), [("GET", "/api/v1/runs/{run}/events", "running"), ("POST", "/v1/chat/completions", "")]
)
def test_a_response_ends_when_its_token_is_revoked(settings, monkeypatch, method, path, state):
    monkeypatch.setattr("crag.api.access.CHECK_SECONDS", 0.05)
    with on_ollama(settings, first_token_after=60.0) as (_, opened, client):
        run = opened.runs.start(None, "When was the lighthouse of Brill built?", RunOptions(web="off"))
        asked = {"messages": [{"role": "user", "content": "When was the lighthouse built?"}], "stream": True}
        with client.stream(method, path.format(run=run.id), json=asked if method == "POST" else None) as response:
            lines = response.iter_lines()
            assert next(lines)
            (token,) = opened.api_tokens.list()
            opened.api_tokens.revoke(token.id)
            assert "[DONE]" not in "".join(lines)
            wait_until(lambda: sum(opened.runs.count_live()) == 1)  # only what was asked with the token is stopped
            assert opened.runs.trace(run.id).state == "running"
            opened.runs.stop(run.id)


def test_a_reply_that_has_not_begun_is_refused_when_its_token_is_revoked(settings, monkeypatch):
    monkeypatch.setattr("crag.api.access.CHECK_SECONDS", 0.05)
    with (
        on_ollama(settings, first_token_after=60.0) as (ollama, opened, client),
        ThreadPoolExecutor() as pool,
    ):
        asked = {"messages": [{"role": "user", "content": "When was the lighthouse built?"}]}
        reply = pool.submit(client.post, "/v1/chat/completions", json=asked, timeout=60)
        wait_until(lambda: ollama.chats)
        (token,) = opened.api_tokens.list()
        opened.api_tokens.revoke(token.id)
        assert reply.result().status_code == 401
        wait_until(lambda: not sum(opened.runs.count_live()))


def test_a_token_of_no_account_opens_nothing_once_there_are_accounts(settings):
    """Nobody sees it in the settings; it would open everything, or change what belongs to everyone."""
    with open_with_text(settings, people="accounts") as opened, client_of(opened) as client:
        headers = {
            "browser": bearer(secret_of(opened.for_user("0" * 64))),
            "account": token_of_ann(opened, ["read"]),
            "owner": {},
        }
        statuses = {name: client.get("/api/v1/documents", headers=one).status_code for name, one in headers.items()}
    assert statuses == {"browser": 401, "account": 200, "owner": 401}


@pytest.mark.parametrize("path", ["/api/v1/documents", "/v1/models"])
def test_a_home_that_is_gone_is_said_in_words(api, settings, path):
    settings.home.rename(settings.home.with_name("moved"))
    reply = api.get(path)
    settings.home.with_name("moved").rename(settings.home)
    assert reply.status_code == 503
    assert "The data folder is gone" in reply.text
    assert api.get(path).status_code == 200


def test_the_description_needs_no_scripts(unchanged_api):
    page = unchanged_api.get("/api/v1/docs")
    assert "/api/v1/documents" in page.text
    assert "<script" not in page.text
    assert unchanged_api.get("/api/v1/openapi.json").json()["openapi"].startswith("3.1")


def test_errors_are_described_as_they_are_sent(unchanged_api):
    paths = unchanged_api.get("/api/v1/openapi.json").json()["paths"]
    described = {
        (path, status): list(reply["content"])
        for path, methods in paths.items()
        for operation in methods.values()
        for status, reply in operation["responses"].items()
        if not status.startswith("2")
    }
    kinds = {True: ["application/problem+json"], False: ["application/json"]}
    assert described == {key: kinds[key[0].startswith("/api/v1/")] for key in described}
    assert {status for _, status in described} >= {"401", "403", "422", "429", "default"}


def test_a_query_for_the_web_waits_for_a_token_that_may_let_it_go(settings):
    with on_tavily(settings) as (tavily, opened, client):
        asking, permitting = (bearer(secret_of(opened, scopes)) for scopes in (["ask", "read"], ["web"]))

        def read():
            return client.get(f"/api/v1/runs/{run}", headers=asking).json()

        def allow(headers):
            return client.post(f"/api/v1/runs/{run}/consent", json={"allow": True}, headers=headers).status_code

        question = {"question": "Where is the zanzibar ferry?", "web": "ask"}
        run = client.post("/api/v1/runs", json=question, headers=asking).json()["run_id"]
        wait_until(lambda: read()["status"] == "waiting")
        waiting = read()["waiting"]
        assert "zanzibar ferry" in waiting["query"]
        assert not tavily.requests
        assert [allow(asking), allow(permitting)] == [403, 200]
        wait_until(lambda: read()["status"] == "done")
        assert allow(permitting) == 409
        assert read()["outcome"] == "web"
        assert [record.what for record in opened.outbound_log.entries(10)] == [waiting["query"]]


def test_nobody_reads_what_belongs_to_somebody_else(settings):
    with on_tavily(settings) as (_, opened, client):
        anns = make_belongings(opened, ANN)
        bens, own = (bearer(secret_of(opened.for_user(user))) for user in (BEN, ANN))
        paths = [f"/api/v1/runs/{run}" for run in (anns.run.id, anns.waiting.id, anns.searched.id)]
        paths += [f"{path}/{part}" for path in paths for part in ("events", "trace")]
        paths += [f"/api/v1/evaluations/{anns.evaluation.id}{part}" for part in ("", "/events")]
        paths.append(f"/api/v1/runs/{anns.result.run_id}/trace")
        for path in paths:
            assert client.get(path, headers=bens).status_code == 404, path
            assert client.get(path, headers=own).status_code == 200, path
        for path, body in (
            (f"/api/v1/runs/{anns.waiting.id}/stop", None),
            (f"/api/v1/runs/{anns.waiting.id}/consent", {"allow": True}),
            (f"/api/v1/evaluations/{anns.evaluation.id}/stop", None),
            ("/api/v1/evaluations", {"dataset": anns.dataset.id}),
            ("/api/v1/evaluations", {"dataset": anns.dataset.name}),
            ("/api/v1/runs", {"question": "Why?", "conversation": anns.conversation.id}),
        ):
            assert client.post(path, json=body, headers=bens).status_code == 404, path
        sets = client.get("/api/v1/datasets", headers=bens).json()["datasets"]
        assert anns.dataset.id not in {one["id"] for one in sets}
        assert client.get("/api/v1/evaluations", headers=bens).json() == {"evaluations": []}
        assert opened.runs.trace(anns.waiting.id).state == "waiting"
