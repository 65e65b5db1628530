"""Pulling a model over real HTTP: progress, interruptions and their words."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.errors import ModelFault
from crag.models.ollama_pull import pull_model
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.types import Progress, ignore_progress
from tests.doubles.ollama_registry import Mishap

NAME = "llama3.2:3b"


@pytest.fixture
def outbound_log(tmp_path):
    return OutboundLog(Database(tmp_path))


def test_progress_over_all_layers(ollama, settings, outbound_log):
    told: list[Progress] = []
    pull_model(NAME, settings, outbound_log, told.append, Cancellation())
    assert told[0] == Progress("Contacting the registry")
    assert told[-1] == Progress("Ready", 2_000_000_000, 2_000_000_000)
    assert {progress.stage for progress in told} >= {"Downloading", "Checking the download", "Installing"}
    done = [progress.done for progress in told]
    assert done == sorted(done)
    assert len(set(done)) > 15
    assert ollama.has(NAME)


def test_it_is_in_the_outbound_log_before_it_is_asked_for(ollama, settings, outbound_log):
    before: list[int] = []
    ollama.registry[NAME].mishaps.append(Mishap(0.0, "error", "pull model manifest: file does not exist"))
    with pytest.raises(ModelFault):
        pull_model(
            NAME,
            settings,
            outbound_log,
            lambda _: before.append(len(outbound_log.entries(kind="download"))),
            Cancellation(),
        )
    assert before[0] == 1
    [entry] = outbound_log.entries()
    assert (entry.host, entry.kind) == ("registry.ollama.ai", "download")
    assert NAME in entry.what


@pytest.mark.parametrize("kind", ["reset", "close"])
def test_a_connection_that_breaks_is_made_anew(ollama, settings, outbound_log, kind):
    told: list[Progress] = []
    ollama.registry[NAME].mishaps.extend([Mishap(0.3, kind), Mishap(0.6, kind)])  # type: ignore[arg-type]
    pull_model(NAME, settings, outbound_log, told.append, Cancellation())
    done = [progress.done for progress in told]
    assert done == sorted(done)
    assert len(ollama.asked("/api/pull")) == 3
    assert ollama.has(NAME)


def test_it_is_given_up_when_nothing_more_comes(ollama, settings, outbound_log, monkeypatch):
    monkeypatch.setattr(Cancellation, "wait", lambda self, seconds: False)  # between attempts
    ollama.registry[NAME].mishaps.extend([Mishap(0.5, "reset")] * 9)
    with pytest.raises(ModelFault, match="download by Ollama kept breaking off"):
        pull_model(NAME, settings, outbound_log, ignore_progress, Cancellation())
    assert 5 <= len(ollama.asked("/api/pull")) <= 6


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("write /root/.ollama/blobs/x: no space left on device", "The disk is full where Ollama keeps its models"),
        ("pull model manifest: 412: requires a newer version of Ollama", "needs a newer version of Ollama"),
        ("open /root/.ollama: permission denied", "Ollama cannot write to its models folder"),
        ("pull model manifest: unauthorized", "llama3.2:3b needs a sign-in"),
    ],
)
def test_what_ollama_says_is_told_in_words(ollama, settings, outbound_log, said, words):
    ollama.registry[NAME].mishaps.append(Mishap(0.2, "error", said))
    with pytest.raises(ModelFault) as raised:
        pull_model(NAME, settings, outbound_log, ignore_progress, Cancellation())
    assert words in str(raised.value)
    assert "/root" not in str(raised.value)
    assert len(ollama.asked("/api/pull")) == 1


def test_a_registry_out_of_reach_is_tried_again(ollama, settings, outbound_log, monkeypatch):
    monkeypatch.setattr(Cancellation, "wait", lambda self, seconds: False)
    said = 'Get "https://registry.ollama.ai/v2/": dial tcp: lookup registry.ollama.ai: no such host'
    ollama.registry[NAME].mishaps.extend([Mishap(0.0, "error", said)] * 9)
    with pytest.raises(ModelFault, match="Ollama cannot reach its registry"):
        pull_model(NAME, settings, outbound_log, ignore_progress, Cancellation())
    assert len(ollama.asked("/api/pull")) == 5


def test_what_has_no_room_is_left_at_once(
    ollama,
    settings,
    outbound_log,
    tmp_path,
    monkeypatch,
):
    class Usage:
        free = 1_200_000_000

    ollama.registry[NAME].seconds = 10.0
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(ModelFault) as raised:
        pull_model(NAME, settings, outbound_log, ignore_progress, Cancellation())
    assert (
        raised.value.message
        == "There is not enough disk space for llama3.2:3b: it needs 2.0 GB more, and 1.2 GB are free."
    )
    assert ollama.registry[NAME].there < 200_000_000
