"""Requests to a remote model are logged before they are sent; local ones are not logged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from crag.cancellation import Cancellation
from crag.errors import HomeFault, ModelFault
from crag.models import embedders
from crag.models.chat_models import open_chat_model
from crag.models.destinations import ModelRoute, external_host
from crag.models.embedders import open_embedder
from crag.models.model_choice import available_embedders
from crag.models.writer import ModelRewriter, ModelWriter
from crag.options import RunOptions
from crag.prompts import compose_prompt
from crag.settings import Settings
from crag.types import Knowledge, Passage, Prompt
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import NOMIC, Model
from tests.doubles.outbound_log import ListOutboundLog

CLOUD = Model("gpt-oss:120b-cloud", digest="d" * 64, remote_host="https://ollama.com:443")
RENAMED = Model("mine:latest", digest="e" * 64, remote_host="https://ollama.com:443")
ASK = [Prompt("system", "Answer."), Prompt("user", "What is the capital of France?")]
PASSAGE = Passage(1, "s1", "Brewing notes", "brewing.md", "The machine is descaled with citric acid.", "")


@pytest.fixture
def outbound_log() -> ListOutboundLog:
    return ListOutboundLog()


def test_a_model_on_this_machine_leaves_no_row(
    ollama: ScriptedOllama, settings: Settings, outbound_log: ListOutboundLog
) -> None:
    open_chat_model("ollama:llama3.1:8b", settings, outbound_log).complete(ASK, Cancellation())
    open_embedder("ollama:nomic-embed-text", settings, outbound_log).embed_query("capital")
    assert outbound_log.entries == []


@pytest.mark.parametrize("model", [CLOUD, RENAMED], ids=["by its name", "by what the server says"])
def test_a_cloud_model_leaves_one_row_a_request(
    ollama: ScriptedOllama, settings: Settings, outbound_log: ListOutboundLog, model: Model
) -> None:
    ollama.models = [model]
    name = model.name.removesuffix(":latest")
    writer = ModelWriter(open_chat_model(f"ollama:{name}", settings, outbound_log))
    question = "무엇으로 석회를 제거하나요? " * 30
    list(writer.write(question, [Knowledge(1, PASSAGE, PASSAGE.text)], (), Cancellation()))
    (row,) = outbound_log.entries
    assert row[:2] == ("ollama.com", "model")
    assert f"to {model.name}. answer: {question}" in row[2]
    assert PASSAGE.text not in row[2], "documents are not copied"
    sent = sum(len(message["content"]) for message in ollama.chats[0].body["messages"])
    assert row[2].startswith(f"{sent:,} characters ")


@pytest.mark.parametrize(
    ("remote_host", "host"),
    [
        ("https://ollama.com:443", "ollama.com"),
        ("https://elsewhere.test:8443/api", "elsewhere.test:8443"),
        ("", "ollama.com"),
    ],
)
def test_the_host_that_reads_the_prompts_of_a_cloud_model_is_named(
    settings: Settings, remote_host: str, host: str
) -> None:
    assert external_host("ollama:gpt-oss:120b-cloud", settings, remote_host) == host


def test_each_role_says_what_it_is_for(
    ollama: ScriptedOllama, settings: Settings, outbound_log: ListOutboundLog
) -> None:
    ollama.models = [CLOUD]
    rewriter = ModelRewriter(open_chat_model(f"ollama:{CLOUD.name}", settings, outbound_log))
    rewriter.rewrite("Who won?", RunOptions(rewrite="keywords"), Cancellation())
    assert [what.partition(". ")[2] for _, _, what in outbound_log.entries] == ["rewrite: Who won?"]


def test_a_prompt_of_unknown_purpose_is_logged_whole(
    ollama: ScriptedOllama, settings: Settings, outbound_log: ListOutboundLog
) -> None:
    ollama.models = [CLOUD]
    open_chat_model(f"ollama:{CLOUD.name}", settings, outbound_log).complete(ASK, Cancellation())
    assert outbound_log.entries[0][2].endswith(ASK[1].text)


def test_every_try_is_written_down(ollama: ScriptedOllama, settings: Settings, outbound_log: ListOutboundLog) -> None:
    ollama.models = [CLOUD]
    model = open_chat_model(f"ollama:{CLOUD.name}", settings, outbound_log)
    ollama.fail_next(1, 503, "server busy")
    model.complete(ASK, Cancellation())
    assert len(outbound_log.entries) == len(ollama.chats) == 2


def test_a_remote_ollama_is_named_without_its_password(
    ollama: ScriptedOllama, settings: Settings, outbound_log: ListOutboundLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crag.settings._LOCAL_HOSTS", ())  # as for any host but this one
    away = replace(settings, ollama_host=settings.ollama_host.replace("//", "//user:secret@"))
    open_chat_model("ollama:llama3.1:8b", away, outbound_log).complete(ASK, Cancellation())
    embedder = open_embedder("ollama:nomic-embed-text", away, outbound_log)
    embedder.embed_documents(["one", "three"])
    embedder.embed_query("두 번째 질문?")
    host = settings.ollama_host.removeprefix("http://")
    assert [(where, kind) for where, kind, _ in outbound_log.entries] == [(host, "model")] + [(host, "embedding")] * 2
    assert "2 texts of 8 characters" in outbound_log.entries[1][2]
    assert outbound_log.entries[2][2].endswith("Question: 두 번째 질문?")
    assert "secret" not in str(outbound_log.entries)


def test_a_hosted_embedder_logs_batches_and_the_whole_question(
    monkeypatch: pytest.MonkeyPatch, outbound_log: ListOutboundLog
) -> None:
    monkeypatch.setattr(embedders, "_init_provider", lambda provider, model: DeterministicFakeEmbedding(size=8))
    embedder = open_embedder("openai:text-embedding-3-small", Settings(), outbound_log)
    embedder.embed_documents(["a", "bc"])
    embedder.embed_query("Who won?")
    assert [what for _, _, what in outbound_log.entries] == [
        "1 text of 9 characters to text-embedding-3-small",
        "2 texts of 3 characters to text-embedding-3-small",
        "To text-embedding-3-small. Question: Who won?",
    ]


def test_what_cannot_be_written_down_is_not_sent(ollama: ScriptedOllama, settings: Settings) -> None:
    ollama.models = [CLOUD, replace(NOMIC, name="nomic-cloud")]
    outbound_log = ListOutboundLog(HomeFault("The disk is full."))
    model = open_chat_model(f"ollama:{CLOUD.name}", settings, outbound_log)
    embedder = open_embedder("ollama:nomic-cloud", replace(settings, embedder="ollama:nomic-cloud"), outbound_log)
    with pytest.raises(HomeFault, match="full"):
        model.complete(ASK, Cancellation())
    with pytest.raises(HomeFault, match="full"):
        embedder.embed_query("Who won?")
    assert ollama.chats == []
    assert not [asked for asked in ollama.requests if asked.path == "/api/embed"]


def test_without_an_outbound_log_no_model_on_another_machine_is_opened(
    ollama: ScriptedOllama, settings: Settings
) -> None:
    ollama.models = [CLOUD]
    with pytest.raises(ValueError, match="must be logged first"):
        open_chat_model(f"ollama:{CLOUD.name}", settings)


def test_every_prompt_file_with_a_question_says_what_it_is_about() -> None:
    for name in ("answer", "condense", "rewrite_keywords", "rewrite_question"):
        _, user = compose_prompt(name, question="Who won?", knowledge="", history="")
        assert user.about == f"{name.partition('_')[0]}: Who won?"


@pytest.mark.parametrize("name", ["nomic-cloud", "nomic-embed-text"], ids=["by its name", "by what the server says"])
def test_documents_go_only_to_embedders_named_in_the_settings(
    ollama: ScriptedOllama, settings: Settings, outbound_log: ListOutboundLog, name: str
) -> None:
    ollama.models = [replace(NOMIC, name=name, remote_host="https://ollama.com:443")]
    assert f"ollama:{name}" not in [choice.name for choice in available_embedders(settings)]
    with pytest.raises(ModelFault, match="Every passage of your documents would go there"):
        open_embedder(f"ollama:{name}", settings, outbound_log)
    assert (ollama.asked("/api/embed"), outbound_log.entries) == ([], [])
    open_embedder(f"ollama:{name}", replace(settings, embedder=f"ollama:{name}"), outbound_log).embed_documents(
        ["text"]
    )
    assert len(outbound_log.entries) == len(ollama.asked("/api/embed")) > 0


def test_only_a_model_elsewhere_needs_a_log():
    assert not ModelRoute("local").host
    with pytest.raises(ValueError, match="logged first"):
        ModelRoute("elsewhere", host="example.org")
