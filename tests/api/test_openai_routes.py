"""The official clients of OpenAI against a running server."""

from __future__ import annotations

import anyio
import openai
import pytest

from tests.api.conftest import on_ollama, on_tavily, secret_of
from tests.doubles.ollama import LLAMA
from tests.waiting import wait_until

QUESTION = [{"role": "user", "content": "When was the lighthouse built?"}]


@pytest.fixture
def client(api):
    with client_over(api) as made:
        yield made


def client_over(api):
    """The official client with the address and token of another one."""
    secret = api.headers["Authorization"].removeprefix("Bearer ")
    return openai.OpenAI(base_url=f"{api.base_url}/v1", api_key=secret, max_retries=0)


def test_a_question_is_answered_with_verdicts_and_sources(client):
    reply = client.chat.completions.create(model="crag", messages=QUESTION)
    assert "1931" in reply.choices[0].message.content
    assert (reply.object, reply.choices[0].finish_reason) == ("chat.completion", "stop")
    ours = reply.crag
    assert (ours["outcome"], ours["status"], ours["sources"][0]["title"]) == ("quoted", "done", "Light")
    assert ours["verdicts"][0]["verdict"] == "relevant"


def test_what_the_documents_do_not_answer_is_an_answer(client):
    question = [{"role": "user", "content": "Who won the 2024 NBA finals?"}]
    reply = client.chat.completions.create(model="crag", messages=question)
    assert reply.crag["outcome"] == "not_answered"
    assert reply.choices[0].message.content


def test_a_stream_ends_with_what_is_ours(client):
    chunks = list(
        client.chat.completions.create(
            model="crag", messages=QUESTION, stream=True, stream_options={"include_usage": True}
        )
    )
    *written, usage = chunks
    text = "".join(chunk.choices[0].delta.content or "" for chunk in written)
    assert "1931" in text
    assert written[-1].choices[0].finish_reason == "stop"
    assert written[-1].crag["outcome"] == "quoted"
    assert (usage.choices, usage.usage.total_tokens) == ([], 0)


@pytest.mark.usefixtures("own_event_loop")
def test_asynchronous_and_langchain_clients(application, address):
    async def ask():
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key=secret_of(application)) as client:
            whole = await client.chat.completions.create(model="crag", messages=QUESTION)
            stream = await client.chat.completions.create(model="crag", messages=QUESTION, stream=True)
            return whole, [chunk async for chunk in stream]

    whole, chunks = anyio.run(ask)
    assert "1931" in whole.choices[0].message.content
    assert chunks[-1].crag["outcome"] == "quoted"
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="crag", base_url=f"{address}/v1", api_key=secret_of(application))
    assert "1931" in model.invoke("When was the lighthouse built?").content


def test_earlier_messages_tell_what_a_question_refers_to(client):
    messages = [*QUESTION, {"role": "assistant", "content": "In 1931."}, {"role": "user", "content": "How tall is it?"}]
    reply = client.chat.completions.create(model="crag", messages=messages)
    assert "42" in reply.choices[0].message.content


def test_presets_are_models(client):
    names = [model.id for model in client.models.list()]
    assert names[0] == "crag"
    assert len(names) > 5
    assert client.models.retrieve(names[1]).id == names[1]
    assert "1931" in client.chat.completions.create(model=names[1], messages=QUESTION).choices[0].message.content


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"model": "gpt-4"}, openai.NotFoundError, "The model “gpt-4” does not exist."),
        ({"model": "crag:unknown"}, openai.NotFoundError, "The model “crag:unknown” does not exist."),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, openai.BadRequestError, "The last message"),
        ({"messages": [{"role": "user", "content": "  "}]}, openai.BadRequestError, "question"),
        ({"messages": []}, openai.UnprocessableEntityError, "messages"),
        ({"extra_body": {"crag": {"collection": "Nowhere"}}}, openai.BadRequestError, "no collection “Nowhere”"),
    ],
)
def test_errors_have_the_form_that_clients_expect(client, changes, error, words):
    with pytest.raises(error, match=words):
        client.chat.completions.create(**({"model": "crag", "messages": QUESTION} | changes))


def test_who_has_no_token_or_not_this_scope_is_told(application, address):
    refusals = {"crag_unknown": openai.AuthenticationError}
    refusals[secret_of(application, ["read"])] = openai.PermissionDeniedError
    for secret, error in refusals.items():
        with openai.OpenAI(base_url=f"{address}/v1", api_key=secret, max_retries=0) as client, pytest.raises(error):
            client.chat.completions.create(model="crag", messages=QUESTION)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_fails_is_an_error(settings, stream):
    with on_ollama(settings, models=[]) as (_, _, api), client_over(api) as client:
        with pytest.raises(openai.APIError, match=LLAMA.name) as failed:
            list(client.chat.completions.create(model="crag", messages=QUESTION, stream=stream))
        assert stream or failed.value.status_code == 502


@pytest.mark.parametrize("stream", [True, False])
def test_a_query_that_waits_for_leave_is_named(settings, stream):
    with on_tavily(settings) as (tavily, _, api), client_over(api) as client:
        asked = {"messages": [{"role": "user", "content": "Where is the ferry?"}], "stream": stream}
        reply = client.chat.completions.create(model="crag", extra_body={"crag": {"web": "ask"}}, **asked)
        told = [one.choices[0].delta.content or "" for one in reply] if stream else ()
        said = "".join(told) or reply.choices[0].message.content
    assert "Waiting for leave to send “" in said
    assert not tavily.requests


def test_tokens_are_counted(settings):
    with on_ollama(settings) as (_, _, api), client_over(api) as client:
        used = client.chat.completions.create(model="crag", messages=QUESTION).usage
    assert used.prompt_tokens > 0
    assert used.completion_tokens > 0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.usefixtures("own_event_loop")
def test_a_client_that_goes_away_stops_the_answer(settings, stream):
    with on_ollama(settings, first_token_after=60.0) as (ollama, opened, api):

        async def ask(client):
            reply = await client.chat.completions.create(model="crag", messages=QUESTION, stream=stream)
            async for _ in reply:
                pass

        async def go_away():
            given = {"base_url": f"{api.base_url}/v1", "api_key": secret_of(opened), "max_retries": 0}
            async with openai.AsyncOpenAI(**given) as client, anyio.create_task_group() as tasks:
                tasks.start_soon(ask, client)
                await anyio.to_thread.run_sync(wait_until, lambda: ollama.chats)
                tasks.cancel_scope.cancel()

        anyio.run(go_away)
        wait_until(lambda: not sum(opened.runs.count_live()))
