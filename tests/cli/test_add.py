"""`add` in real processes: many files at once, interruption, watched folders."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from crag.cli import add
from crag.cli.main import main
from crag.ingest.folder_watch import FolderWatch
from tests.cli.conftest import NOTES
from tests.doubles.web import serving
from tests.served import ROOT
from tests.waiting import PATIENCE, wait_until

TEXT = "The lift is serviced in {} by Otis, who come with two people and a van."
pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "papers"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path):
    """Starts a command in a process of its own, with Ctrl-C as a terminal sends it."""
    started = []

    def run(*arguments, **streams):
        command = [sys.executable, "-m", "crag", *map(str, arguments), "--home", str(tmp_path / "home")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OLLAMA_HOST": "http://127.0.0.1:9"}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | streams
        started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, **streams))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs a command in this process; its exit code and what it printed."""
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr(add, "_POLL_SECONDS", 0.05)

    def run(*arguments):
        code = main([*map(str, arguments), "--home", str(tmp_path / "home")])
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def meanwhile():
    """Does something in another thread while a command runs, and then sends this process a signal."""
    threads, failures = [], []

    def begin(deed, number=signal.SIGINT):
        def do():
            try:
                deed()
            except Exception as error:  # noqa: BLE001 — a thread's failure is shown by the test
                failures.append(error)
            os.kill(os.getpid(), number)

        threads.append(threading.Thread(target=do))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert failures == []


def test_many_files_give_their_results_in_the_order_given(command, folder):
    for n in range(6):
        (folder / f"{n}.txt").write_text(TEXT.format(f"month {n}"))
    (folder / "3.txt").write_bytes(b"")
    (folder / "1.txt").write_text(TEXT.format("March") * 2000)
    code, output = command("add", folder / "5.txt", folder, "--json")
    document = json.loads(output)
    assert (code, document["complete"]) == (1, True)
    assert [(Path(entry["source"]).name, entry["status"]) for entry in document["sources"]] == [
        ("5.txt", "added"),
        ("0.txt", "added"),
        ("1.txt", "added"),
        ("2.txt", "added"),
        ("3.txt", "failed"),
        ("4.txt", "added"),
        ("5.txt", "unchanged"),
    ]


def test_ctrl_c_ends_it_soon_and_says_what_was_done(start, folder):
    (folder / "a.txt").write_text(TEXT.format("March"))
    (folder / "b.txt").write_text("\n\n".join(TEXT.format(f"year {n}") for n in range(60_000)))
    process = start("add", folder / "a.txt", folder / "b.txt")
    assert process.stdout.readline().startswith("✓ a.txt: added")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (1, "")
    assert errors == "Stopped: 1 of 2 done. The rest was not added.\n"


def test_a_person_at_a_terminal_sees_how_far_it_is(start, folder):
    for n in range(3):
        (folder / f"{n}.txt").write_text("\n\n".join(TEXT.format(f"year {n}.{m}") for m in range(300)))
    terminal, theirs = pty.openpty()
    process = start("add", folder, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # this is how a closed terminal shows
        while piece := os.read(terminal, 65536):
            shown += piece
    os.close(terminal)
    assert b"In all" in shown
    assert b"0.txt" in shown
    assert process.communicate(timeout=PATIENCE)[0].count("added") == 3


def test_a_watched_folder_is_followed_until_ctrl_c(command, folder, meanwhile, monkeypatch):
    lines = []
    monkeypatch.setattr(add, "print_text", lines.append)

    def said(*words):
        return any(all(word in line for word in words) for line in lines)

    def change():
        wait_until(lambda: said("first.txt: added"))
        (folder / "below").mkdir()
        (folder / "below" / "second.txt").write_text(TEXT.format("April"))
        (folder / "first.txt").write_text(TEXT.format("May"))
        wait_until(lambda: said("second.txt: added") and said("first.txt: replaced"))
        (folder / "first.txt").unlink()
        wait_until(lambda: said("first.txt: deleted; it stays in the library until you `remove "))

    (folder / "first.txt").write_text(TEXT.format("March"))
    meanwhile(change)
    assert command("add", folder, "--watch")[0] == 0
    listed = json.loads(command("list", "--json")[1])["sources"]
    assert {source["title"] for source in listed} == {"first.txt", "second.txt"}


def test_watching_with_json_prints_one_document_at_its_end(command, folder, meanwhile, tmp_path):
    (folder / "a.txt").write_text(TEXT.format("March"))
    originals = tmp_path / "home" / "originals"
    meanwhile(lambda: wait_until(lambda: any(originals.glob("*/*"))), signal.SIGTERM)
    code, output = command("add", folder, "--watch", "--json")
    document = json.loads(output)
    assert (code, document["gone"]) == (0, [])
    assert {entry["status"] for entry in document["sources"]} <= {"added"}


@pytest.mark.parametrize("spec", ["https://example.org/", "nowhere", ""])
def test_only_files_and_folders_that_are_there_can_be_watched(command, spec):
    code, output = command("add", spec, "--watch", "--json")
    assert (code, json.loads(output)["error"]["code"]) == (1, "bad_request")


def test_a_site_is_added_page_by_page(command, monkeypatch):
    monkeypatch.setenv("CRAG_ALLOW_PRIVATE_URLS", "127.0.0.1/32")
    page = "<html><title>{0}</title><h1>{0}</h1><p>" + TEXT.format("March") * 3
    with serving() as web:
        web.page("/", page.format("Lifts").encode() + b'<a href="/stairs">Stairs</a>')
        web.page("/stairs", page.format("Stairs").encode())
        code, output = command("add", web.url("/"), "--site", "--pages", "2", "--json")
    assert (code, [entry["title"] for entry in json.loads(output)["sources"]]) == (0, ["Lifts", "Stairs"])
    assert command("add", web.url("/"), "--site", "--depth", "9")[0] == 1


def test_a_watched_file_is_added_once_it_stops_changing(folder):
    watched = FolderWatch([folder])
    file = folder / "copy.txt"
    for size in (10, 20, 30):
        file.write_text("x" * size)
        assert watched.poll().settled == ()
    assert watched.poll().settled == (file,)
    assert watched.poll().settled == ()
    file.write_text("y" * 40)
    assert watched.poll().settled == ()
    assert watched.poll().settled == (file,)
    file.unlink()
    assert watched.poll().gone == ()  # it may appear under another name
    assert watched.poll().gone == (file,)
    assert watched.poll().gone == ()


def test_a_renamed_file_is_no_deletion(folder):
    watched = FolderWatch([folder])
    file, renamed = folder / "a.txt", folder / "b.txt"
    file.write_text("x")
    watched.poll()
    assert watched.poll().settled == (file,)
    file.rename(renamed)
    watched.poll()
    reported = watched.poll()
    assert (reported.renamed, reported.settled, reported.gone) == (((file, renamed),), (), ())


def test_a_place_that_is_away_for_a_while_has_lost_nothing(folder):
    file = folder / "a.txt"
    file.write_text("x")
    watched = FolderWatch([folder])
    watched.poll()
    assert watched.poll().settled == (file,)
    away = folder.rename(folder.with_name("away"))
    assert (watched.poll().gone, watched.poll().unreadable) == ((), (folder,))
    away.rename(folder)
    assert watched.poll() == watched.poll()
    assert watched.poll().settled == ()


def test_refresh_replaces_what_changed(crag, notes, tmp_path):
    crag("add", notes)
    assert crag("refresh")[1]["sources"][0]["status"] == "unchanged"
    (tmp_path / "notes.md").write_text(NOTES.replace("two failed", "seven failed"), encoding="utf-8")
    assert crag("refresh")[1]["sources"][0]["status"] == "replaced"
    assert "seven" in crag("search", "failed recordings fragment", "-k", "1")[1]["hits"][0]["text"]


@pytest.mark.parametrize(
    ("name", "content", "refused"),
    [
        ("empty.txt", b"", "empty"),
        ("photo.pdf", b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "corrupt"),
        ("program.pdf", b"MZ\x90\0" + b"\0" * 50, "unsupported"),
    ],
)
def test_what_cannot_be_added_says_why_and_nothing_is_stored(crag, tmp_path, name, content, refused):
    (tmp_path / name).write_bytes(content)
    code, document = crag("add", str(tmp_path / name))
    (entry,) = document["sources"]
    assert (code, entry["status"], entry["error"]["code"]) == (1, "failed", refused)
    assert entry["error"]["message"]
    assert crag("list")[1] == {"sources": []}


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost/", "http://169.254.169.254/latest/"])
def test_addresses_of_ones_own_network_are_not_fetched(crag, url):
    code, document = crag("add", url)
    assert (code, document["sources"][0]["error"]["code"]) == (1, "blocked_url")


def test_refreshing_an_unknown_document_is_refused(crag, notes):
    crag("add", notes)
    code, document = crag("refresh", "unknown")
    assert (code, document["error"]["code"]) == (1, "bad_request")
