"""The server and its models: listed, shown, loaded and unloaded."""

from __future__ import annotations

import pytest

from crag.errors import ModelFault
from tests.live.conftest import TUNING
from tests.waiting import wait_until

pytestmark = pytest.mark.live


def test_the_server_tells_its_version(application):
    version = application.ollama.version()
    assert version
    assert version[0].isdigit()


def test_listing_and_showing_the_chat_model(application, chat_name):
    report = application.ollama.model(chat_name)
    assert report.name in [listed.name for listed in application.ollama.models()]
    assert report.size > 1_000_000
    assert len(report.digest) >= 12
    assert report.family
    assert report.context_length
    assert not report.embeds
    assert f"ollama:{report.name}" in [choice.name for choice in application.models()]


def test_listing_and_showing_the_embedder(application, embedder_name):
    report = application.ollama.model(embedder_name)
    assert report.embeds
    assert f"ollama:{report.name}" not in [choice.name for choice in application.models()]


def test_a_model_that_is_not_there_is_named_with_what_gets_it(application, chat_name):
    with pytest.raises(ModelFault) as fault:
        application.ollama.model("surely-not-there:1b")
    assert fault.value.code == "model_missing"
    assert "ollama pull surely-not-there:1b" in fault.value.remedy


def test_loading_and_unloading(application, chat_name):
    application.ollama.load(chat_name, TUNING)
    loaded = application.ollama.model(chat_name)
    assert loaded.loaded
    assert loaded.processor
    assert loaded.window in (None, TUNING.window)  # servers before 0.11 do not tell it
    application.ollama.unload(chat_name)
    wait_until(lambda: not application.ollama.model(chat_name).loaded)
