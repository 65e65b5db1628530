"""`send` against a server: what reaches it, what is removed there, and what never counts as deleted."""

from __future__ import annotations

import json
import shutil

import pytest
from starlette.responses import JSONResponse

from crag.api.app import create_api
from crag.cli.main import main
from tests.applications import opened_with
from tests.crashing import Forked
from tests.doubles.ollama import closed_address
from tests.served import serve
from tests.waiting import PATIENCE, wait_until


@pytest.fixture(autouse=True)
def _settled_soon(monkeypatch):
    """No test writes to a file while it is looked at."""
    monkeypatch.setattr("crag.cli.send._SETTLE_SECONDS", 0.0)
    monkeypatch.setattr("crag.cli.send._POLL_SECONDS", 0.02)


@pytest.fixture
def application(tmp_path):
    with opened_with(tmp_path / "server") as opened:
        yield opened


class Gate:
    """The API of an application, which can be closed for the requests of one method."""

    def __init__(self, application):
        self._api = create_api(lambda: application)
        self.closed = ""

    async def __call__(self, scope, receive, send):
        app = JSONResponse({"detail": "Closed."}, 503) if scope.get("method") == self.closed else self._api
        await app(scope, receive, send)


@pytest.fixture
def gate(application):
    return Gate(application)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "papers"
    (root / "old").mkdir(parents=True)
    (root / "ferry.md").write_text("The ferry leaves at nine.", encoding="utf-8")
    (root / "old" / "bridge.md").write_text("The bridge opens in May.", encoding="utf-8")
    return root


@pytest.fixture
def arguments(application, gate, folder, tmp_path):
    """The arguments that send the folder to a running server."""
    _, secret = application.api_tokens.make("sender", ["write"])
    with serve(gate) as address:
        yield ["send", str(folder), "--to", address, "--token", secret, "--home", str(tmp_path / "home"), "--json"]


@pytest.fixture
def send(arguments, capsys):
    def run(*more):
        code = main([*arguments, *more])
        return code, json.loads(capsys.readouterr().out)

    return run


def texts(application):
    return sorted(hit.text for hit in application.library.search("ferry bridge tower", 10))


def statuses(document):
    return {one["source"]: one["status"] for one in document["sources"]}


def test_new_changed_renamed_and_vanished_files_reach_the_server(send, folder, application):
    code, document = send("--collection", "Papers")
    assert (code, document["complete"]) == (0, True)
    assert statuses(document) == {"ferry.md": "added", "old/bridge.md": "added"}
    assert {one.collection for one in application.library.sources()} == {"Papers"}
    assert send("--collection", "Papers")[1]["sources"] == []
    (folder / "ferry.md").write_text("The ferry leaves at ten.", encoding="utf-8")
    (folder / "old" / "bridge.md").rename(folder / "bridge.md")
    assert statuses(send("--collection", "Papers")[1]) == {"ferry.md": "added"}
    assert texts(application) == ["The bridge opens in May.", "The ferry leaves at ten."]
    (folder / "bridge.md").unlink()
    (gone,) = [one.id for one in application.library.sources() if one.title == "bridge.md"]
    code, document = send("--collection", "Papers")
    assert (code, document["removed"]) == (0, ["bridge.md"])
    assert texts(application) == ["The ferry leaves at ten."]
    application.library.purge_removed()
    application.library.restore([gone])
    assert len(texts(application)) == 2


def test_who_sends_a_folder_again_is_told_that_nothing_changed(send, arguments, capsys):
    send()
    assert main([one for one in arguments if one != "--json"]) == 0
    assert capsys.readouterr().out == "Nothing has changed since the last time.\n"


def test_a_file_that_comes_back_is_sent_again(send, folder, application):
    """As it was, with the same time: what was sent under a key before must not stand for it."""
    send()
    shutil.copy2(folder / "ferry.md", folder.parent)
    (folder / "ferry.md").unlink()
    assert send()[1]["removed"] == ["ferry.md"]
    shutil.copy2(folder.parent / "ferry.md", folder)
    assert statuses(send()[1]) == {"ferry.md": "added"}
    assert len(texts(application)) == 2


def test_a_folder_that_is_missing_or_not_mounted_removes_nothing(send, folder, application, tmp_path):
    send()
    folder.rename(tmp_path / "elsewhere")
    code, document = send()
    assert (code, document["error"]["code"]) == (1, "unreachable")
    folder.mkdir()  # where a drive is not mounted, its folder is empty and on another device
    (notes,) = (tmp_path / "home" / "sent").glob("*.json")
    noted = json.loads(notes.read_bytes())
    noted["devices"][""] += 1
    notes.write_text(json.dumps(noted), encoding="utf-8")
    code, document = send()
    assert (code, document["error"]["code"]) == (1, "unreachable")
    assert len(texts(application)) == 2


@pytest.mark.parametrize("closed", ["GET", "POST"])
def test_what_was_begun_is_continued(send, gate, application, closed):
    gate.closed = closed  # after the uploads, or before them
    code, document = send()
    assert (code, document["error"]["code"]) == (1, "unreachable")
    gate.closed = ""
    code, document = send()
    assert (code, statuses(document)) == (0, {"ferry.md": "added", "old/bridge.md": "added"})
    assert len(application.jobs.jobs()) == 2


def test_a_removal_that_failed_is_made_up_for(send, gate, folder, application):
    send()
    (folder / "ferry.md").unlink()
    gate.closed = "DELETE"
    assert send()[0] == 1
    gate.closed = ""
    assert send()[1]["removed"] == ["ferry.md"]
    assert texts(application) == ["The bridge opens in May."]


def test_only_files_that_count_are_sent(send, folder):
    (folder / ".hidden.md").write_text("No.", encoding="utf-8")
    (folder / "tower.txt").write_text("The tower is tall.", encoding="utf-8")
    (folder / "link.md").symlink_to(folder.parent / "elsewhere.md")
    _, document = send("--include", "*.md", "--no-subfolders")
    assert statuses(document) == {"ferry.md": "added"}
    assert document["ignored"] == {
        ".hidden.md": "Hidden",
        "link.md": "Link out of the folder",
        "old": "Subfolder",
        "tower.txt": "Not included",
    }


def test_a_file_that_is_refused_is_sent_again_only_once_it_changes(send, folder):
    (folder / "ferry.pdf").write_bytes(b"%PDF-1.7 broken")
    code, document = send()
    refused = next(one for one in document["sources"] if one["source"] == "ferry.pdf")
    assert (code, refused["status"], refused["error"]["code"]) == (1, "failed", "corrupt")
    assert send() == (0, document | {"sources": []})
    (folder / "ferry.pdf").write_bytes(b"%PDF-1.7 broken still")
    assert send()[0] == 1


def test_a_new_version_that_is_refused_leaves_the_old_one(send, folder, application):
    send()
    (folder / "ferry.md").write_bytes(b" \n")
    assert send()[0] == 1
    assert len(texts(application)) == 2
    (folder / "ferry.md").write_text("The ferry leaves at ten.", encoding="utf-8")
    assert send()[0] == 0
    assert texts(application) == ["The bridge opens in May.", "The ferry leaves at ten."]


def test_what_somebody_else_added_is_not_removed(send, folder, application):
    application.library.pipeline.add_bytes("ferry.md", (folder / "ferry.md").read_bytes())
    assert statuses(send()[1])["ferry.md"] == "unchanged"
    (folder / "ferry.md").unlink()
    assert send()[1]["removed"] == ["ferry.md"]
    assert len(texts(application)) == 2


def test_a_document_of_two_files_stays_until_both_are_gone(send, folder, application):
    (folder / "old" / "ferry.md").write_bytes((folder / "ferry.md").read_bytes())
    send()
    (folder / "ferry.md").unlink()
    send()
    assert "The ferry leaves at nine." in texts(application)
    (folder / "old" / "ferry.md").unlink()
    send()
    assert texts(application) == ["The bridge opens in May."]


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("", "There is no token"),
        ("crag_wrong", "not known"),
        ("crag_열쇠", "not known"),
        ("read", "may not add and remove documents"),
    ],
)
def test_a_server_that_refuses_says_why(arguments, application, capsys, monkeypatch, token, words):
    monkeypatch.setenv("CRAG_TOKEN", application.api_tokens.make("reader", ["read"])[1] if token == "read" else token)
    index = arguments.index("--token")
    assert main(arguments[:index] + arguments[index + 2 :]) == 1
    assert words in json.loads(capsys.readouterr().out)["error"]["message"]


def test_an_address_where_nothing_answers_is_said(arguments, capsys):
    arguments[arguments.index("--to") + 1] = closed_address()
    assert main(arguments) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "unreachable"


def test_watching_sends_what_changes_until_it_is_interrupted(arguments, gate, folder, application):
    code = """
import sys
from crag.__main__ import run
from crag.cli import send
send._SETTLE_SECONDS, send._POLL_SECONDS = 0.0, 0.02
sys.exit(run(sys.argv[1:]))
"""
    with Forked(code, *arguments, "--watch") as watching:
        wait_until(lambda: application.library.counts()[0] == 2)
        (folder / "tower.md").write_text("The tower is tall.", encoding="utf-8")
        wait_until(lambda: application.library.counts()[0] == 3)
        (folder / "ferry.md").unlink()
        wait_until(lambda: application.library.counts()[0] == 2)
        assert texts(application) == ["The bridge opens in May.", "The tower is tall."]
        watching.interrupt()
        printed, _ = watching.communicate(timeout=PATIENCE)
    document = json.loads(printed)
    assert (watching.returncode, document["removed"], document["complete"]) == (0, ["ferry.md"], True)
