"""From built-in vectors to Nomic's: download, consent, switching the library, working offline."""

from __future__ import annotations

import hashlib
import socket
import sys
from contextlib import closing

import pytest

from crag.app.application import Application
from crag.models.nomic_weights import verify_weights
from crag.runs.trace import Trace
from tests import applications
from tests.applications import opening
from tests.doubles.nomic_weights import nomic_weights
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_registry import Offer
from tests.doubles.ollama_values import LLAMA, NOMIC
from tests.doubles.served_file import ServedFile
from tests.doubles.web import Canary, serving
from tests.waiting import PATIENCE

pytest.importorskip("gpt4all", reason="gpt4all has no wheel for this machine")
BEES = b"# Bees\n\nBees dance to tell where the flowers are.\n\n# Wasps\n\nWasps build nests of paper.\n"
QUESTION = "How do bees dance?"


@pytest.fixture
def server():
    with serving() as server:
        server.scripts["/weights.gguf"] = ServedFile(nomic_weights())
        yield server


@pytest.fixture
def opened(tmp_path, server, monkeypatch):
    """Opens the application on one home, whose user has no weights yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    checksum = hashlib.sha256(nomic_weights()).hexdigest()
    url = f"{server.url('/weights.gguf')}#sha256={checksum}"
    with opening(tmp_path / "home", chat_model="auto", embedder="auto", nomic_url=url) as open_:
        yield open_


def begin(application: Application, *documents: bytes) -> None:
    """As the running application does, with these documents."""
    for number, document in enumerate(documents):
        application.library.pipeline.add_bytes(f"notes {number}.md", document)
    application.warm_up()
    assert application.library.space_work.wait(PATIENCE)


def download(application: Application) -> None:
    application.downloads.start("nomic")
    ended = application.downloads.wait("nomic", PATIENCE)
    assert (ended.state, ended.fault, ended.done) == ("done", "", len(nomic_weights()))
    assert application.library.space_work.wait(PATIENCE)


def answering(application: Application) -> str:
    space = application.library.spaces.active_embedder.active_space().space
    return space.name if space else ""


def mended_by(application: Application) -> tuple[str, str] | None:
    """What the checklist offers about Nomic."""
    check = next(check for check in application.checks() if check.name == "Nomic embeddings")
    return (check.action.kind, check.action.target) if check.action else None


def ask(application: Application) -> Trace:
    return applications.ask(application, QUESTION, model="builtin", policy="off")


@pytest.fixture
def go_offline(monkeypatch):
    """From then on nobody can be asked for anything; the proxy that a child would use must stay alone."""
    proxy = Canary()

    def fail(*asked: object, **_: object) -> None:
        raise AssertionError(f"somebody was asked for: {asked}")

    def forbid() -> None:
        for name in ("connect", "connect_ex"):
            monkeypatch.setattr(socket.socket, name, fail)
        monkeypatch.setattr(socket, "getaddrinfo", fail)
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")

    with closing(proxy):
        yield forbid
        assert proxy.hits() == 0, proxy.heard


def test_accepting_moves_the_documents_and_then_works_offline(opened, server, go_offline):
    application = opened()
    begin(application, BEES)
    assert (answering(application), application.embedders.offered()) == ("builtin", 0)
    assert mended_by(application) == ("download", "nomic")
    download(application)
    assert mended_by(application) == ("move", "nomic")
    assert (answering(application), application.embedders.wanted().name) == ("builtin", "builtin"), "only offered"
    assert application.embedders.offered() == application.library.counts()[1] > 0
    assert [row.kind for row in application.outbound_log.entries()] == ["download"]

    asked = len(server.seen)
    verify_weights.cache_clear()
    go_offline()
    application.library.space_work.choose("nomic")
    assert application.library.space_work.wait(PATIENCE)
    assert application.library.space_work.fault == ""
    space = application.library.spaces.active_embedder.active_space().space
    assert (space.name, space.dimension) == ("nomic", 768)
    assert space.digest == hashlib.sha256(nomic_weights()).hexdigest()
    assert (application.embedders.offered(), application.library.count_missing_vectors()) == (0, 0)
    assert application.embedders.answering() == "Nomic (local)"
    trace = ask(application)
    assert (trace.state, trace.outcome, trace.notes) == ("done", "quoted", [])
    hit = application.library.search("bees dance", k=1)[0]
    assert "Bees dance" in hit.text
    assert application.library.pipeline.add_bytes("more.md", b"# Ants\n\nAnts walk.\n").status == "added"
    assert len(server.seen) == asked
    assert len(application.outbound_log.entries()) == 1


def test_an_accepted_switch_survives_a_restart_and_can_be_undone(opened):
    first = opened()
    begin(first, BEES)
    download(first)
    first.library.space_work.choose("nomic")
    assert first.library.space_work.wait(PATIENCE)
    first.close()
    second = opened()
    begin(second)
    assert answering(second) == "nomic"
    second.library.space_work.go_back()
    assert second.library.space_work.wait(PATIENCE)
    assert (answering(second), second.embedders.offered()) == ("builtin", 0), "decided by hand, so not offered again"


def test_the_offer_stays_until_somebody_decides(opened):
    first = opened()
    begin(first, BEES)
    download(first)
    first.close()
    second = opened()
    begin(second)
    assert (answering(second), second.embedders.offered()) == ("builtin", second.library.counts()[1])
    second.library.spaces.choose("nomic")  # and nothing has moved yet
    assert mended_by(second) == ("move", "nomic"), "what is only on its way is not in use"
    second.library.space_work.cancel()
    assert second.library.space_work.wait(PATIENCE)
    assert (answering(second), second.embedders.offered()) == ("builtin", 0)


def test_where_gpt4all_has_no_wheel_ollama_runs_nomic(opened, monkeypatch):
    monkeypatch.setitem(sys.modules, "gpt4all", None)
    with ScriptedOllama(models=[LLAMA], registry={"nomic-embed-text": Offer(NOMIC)}) as ollama:
        application = opened(ollama_host=ollama.url)
        begin(application, BEES)
        assert mended_by(application) == ("download", "ollama:nomic-embed-text")
        application.downloads.start("ollama:nomic-embed-text")
        assert application.downloads.wait("ollama:nomic-embed-text", PATIENCE).state == "done"
        assert mended_by(application) == ("move", "ollama:nomic-embed-text")
        application.library.space_work.choose("ollama:nomic-embed-text")
        assert application.library.space_work.wait(PATIENCE)
        assert answering(application) == "ollama:nomic-embed-text"
        assert mended_by(application) is None
        application.downloads.start("nomic")
        refused = application.downloads.wait("nomic", PATIENCE)
        assert refused.state == "failed"
        assert "ollama:nomic-embed-text" in refused.fault


def test_an_empty_library_uses_them_at_once(opened):
    application = opened()
    begin(application)
    download(application)
    assert (application.embedders.wanted().name, application.embedders.offered()) == ("nomic", 0)
    begin(application, BEES)
    assert (answering(application), mended_by(application)) == ("nomic", None)


def test_a_library_set_to_nomic_switches_when_weights_arrive(opened):
    first = opened()
    begin(first, BEES)
    first.close()
    second = opened(embedder="nomic")
    begin(second)
    assert answering(second) == "builtin"
    assert "not on this machine" in second.library.space_work.fault
    download(second)
    assert (answering(second), second.embedders.offered()) == ("nomic", 0)


def test_changed_weights_are_noticed_and_followed(opened, tmp_path, monkeypatch):
    monkeypatch.setattr("crag.retrieval.active_embedder._CACHE_SECONDS", 0)
    application = opened()
    begin(application)
    download(application)
    begin(application, BEES)
    weights = tmp_path / ".cache" / "gpt4all" / "nomic-embed-text-v1.5.f16.gguf"
    weights.write_bytes(nomic_weights(seed=4))
    assert any("the model changed under the same name" in note for note in ask(application).notes)
    application.library.space_work.wake()
    assert application.library.space_work.wait(PATIENCE)
    space = application.library.spaces.active_embedder.active_space().space
    assert space.digest == hashlib.sha256(weights.read_bytes()).hexdigest()
    assert ask(application).notes == []


def test_damaged_weights_leave_the_words_say_so_and_are_replaced(opened, tmp_path):
    application = opened()
    begin(application)
    download(application)
    begin(application, BEES)
    application.close()
    weights = tmp_path / ".cache" / "gpt4all" / "nomic-embed-text-v1.5.f16.gguf"
    weights.write_bytes(weights.read_bytes()[:-1000])
    again = opened()
    trace = ask(again)
    assert (trace.state, trace.outcome) == ("done", "quoted")
    assert any("damaged" in note and "Download them again" in note for note in trace.notes)
    again.library.space_work.begin()
    download(again)
    assert ask(again).notes == []
