"""Model downloads of a home: pulled from a scripted Ollama over real HTTP, stored in a real database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from crag.cancellation import Cancellation
from crag.errors import BadRequest, HomeFault
from crag.models.downloads import Download, DownloadRows, Downloads, DownloadTask, TransferRate, choose_fetch
from crag.settings import Settings
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.types import Progress, ProgressCallback
from tests.crashing import Forked
from tests.doubles.ollama_registry import Mishap, Offer
from tests.waiting import PATIENCE, wait_until

LLAMA = "ollama:llama3.2:3b"
SIZE = 2_000_000_000


@pytest.fixture
def arrived():
    return []


@pytest.fixture
def downloads(database, settings, arrived):
    downloads = over(database, settings, arrived)
    yield downloads
    downloads.close()


def over(database: Database, settings: Settings, arrived: list[str] | None = None) -> Downloads:
    heard = [] if arrived is None else arrived
    return Downloads(database, partial(choose_fetch, settings, OutboundLog(database)), heard.append)


def state(downloads: Downloads, name: str = LLAMA) -> str:
    download = downloads.get(name)
    return download.state if download else "none"


def test_a_model_arrives(downloads, ollama, arrived):
    downloads.start(LLAMA)
    assert downloads.wait(LLAMA, PATIENCE) == Download(LLAMA, "done", "Ready", SIZE, SIZE)
    assert arrived == [LLAMA]
    assert ollama.has("llama3.2:3b")
    assert [download.name for download in downloads.all()] == [LLAMA]
    downloads.dismiss(LLAMA)
    assert downloads.all() == []


def test_a_finished_download_can_be_dismissed_before_it_is_saved(downloads, monkeypatch):
    """Its end is saved only when somebody waits for that."""
    written, waited = DownloadRows.keep, DownloadTask.join
    awaited = threading.Event()

    def write_late(rows: DownloadRows, download: Download) -> None:
        if download.state == "done":
            awaited.wait(PATIENCE)
        written(rows, download)

    def join(task: DownloadTask, seconds: float) -> None:
        awaited.set()
        waited(task, seconds)

    monkeypatch.setattr(DownloadRows, "keep", write_late)
    monkeypatch.setattr(DownloadTask, "join", join)
    downloads.start(LLAMA)
    downloads.wait(LLAMA, PATIENCE)
    downloads.dismiss(LLAMA)
    assert downloads.all() == []


def test_it_tells_how_fast_and_how_long(downloads, ollama):
    ollama.registry["llama3.2:3b"].seconds = 60.0
    ollama.registry["llama3.2:3b"].steps = 1200
    downloads.start(LLAMA)
    enough = SIZE / 120  # half a second: from less the speed cannot be told
    wait_until(lambda: (seen := downloads.get(LLAMA)) is not None and seen.seconds_left and seen.done > enough)
    seen = downloads.get(LLAMA)
    assert seen is not None
    assert seen.seconds_left is not None
    assert (seen.state, seen.stage, seen.total) == ("running", "Downloading", SIZE - 12_500)  # progress reported so far
    assert 0 < seen.done < seen.total
    assert seen.rate > 0
    assert seen.seconds_left == pytest.approx((seen.total - seen.done) / seen.rate)


@pytest.mark.parametrize("mishap", [Mishap(0.5, "hang"), Mishap(0.0, "hang")])
def test_cancelled_while_nothing_comes_and_gone_on_with(downloads, ollama, mishap):
    ollama.registry["llama3.2:3b"].mishaps.append(mishap)
    downloads.start(LLAMA)
    ollama.wait_until(lambda: ollama.asked("/api/pull"))
    wait_until(lambda: (seen := downloads.get(LLAMA)) is not None and seen.done >= mishap.after * SIZE)
    downloads.cancel(LLAMA)
    cancelled = downloads.get(LLAMA)
    assert cancelled is not None
    assert (cancelled.state, cancelled.stage, cancelled.rate) == ("cancelled", "Not finished", 0.0)
    ollama.wait_until(lambda: ollama.asked("/api/pull")[0].outcome == "dropped")
    downloads.start(LLAMA)
    resumed = downloads.get(LLAMA)
    assert resumed is not None
    assert resumed.done >= cancelled.done
    assert downloads.wait(LLAMA, PATIENCE) == Download(LLAMA, "done", "Ready", SIZE, SIZE)


def test_starting_twice_is_one_download(downloads, ollama):
    ollama.registry["llama3.2:3b"].seconds = 0.5
    for _ in range(5):
        downloads.start(LLAMA)
    assert downloads.wait(LLAMA, PATIENCE) == Download(LLAMA, "done", "Ready", SIZE, SIZE)
    assert len(ollama.asked("/api/pull")) == 1


def test_two_at_once(downloads, ollama):
    ollama.registry["llama3.2:3b"].mishaps.append(Mishap(0.5, "hang"))
    downloads.start(LLAMA)
    downloads.start("ollama:nomic-embed-text")
    assert downloads.wait("ollama:nomic-embed-text", PATIENCE) is not None
    assert (state(downloads, "ollama:nomic-embed-text"), state(downloads)) == ("done", "running")


def test_a_fault_is_told_with_its_remedy(downloads, arrived):
    downloads.start("ollama:lama")
    ended = downloads.wait("ollama:lama", PATIENCE)
    assert ended is not None
    assert (ended.state, ended.seconds_left) == ("failed", None)
    assert ended.fault == "Ollama's registry has no model called lama. Check its name on ollama.com/library."
    assert arrived == []


def test_a_name_that_nothing_goes_by(downloads):
    for name in ("", "openai:gpt-4o", "ollama:", "builtin"):
        with pytest.raises(BadRequest, match="cannot be downloaded"):
            downloads.start(name)


def test_what_nobody_foresaw_is_not_shown(database):
    def fetch(report: ProgressCallback, stop: Cancellation) -> None:
        report(Progress("Downloading", 1, 2))
        raise KeyError("/root/secret")

    downloads = Downloads(database, lambda _: fetch, lambda _: None)
    downloads.start("nomic")
    ended = downloads.wait("nomic", PATIENCE)
    assert ended is not None
    assert (ended.state, ended.fault) == ("failed", "Something went wrong in the app. Try again.")


def test_another_on_the_same_home_sees_and_cancels(downloads, database, settings, ollama):
    ollama.registry["llama3.2:3b"].mishaps.append(Mishap(0.5, "hang"))
    other = over(database, settings)
    downloads.start(LLAMA)
    wait_until(lambda: (seen := other.get(LLAMA)) is not None and seen.done >= SIZE / 2)
    other.start(LLAMA)
    other.dismiss(LLAMA)
    assert (state(other), len(ollama.asked("/api/pull"))) == ("running", 1)
    other.cancel(LLAMA)
    wait_until(lambda: state(downloads) == "cancelled")
    wait_until(lambda: state(other) == "cancelled")


def test_closing_leaves_it_to_be_gone_on_with(downloads, database, settings, ollama):
    ollama.registry["llama3.2:3b"].mishaps.append(Mishap(0.5, "hang"))
    downloads.start(LLAMA)
    ollama.wait_until(lambda: ollama.registry["llama3.2:3b"].there >= SIZE / 2)
    downloads.close()
    later = over(database, settings)
    assert state(later) == "cancelled"
    later.start(LLAMA)
    assert later.wait(LLAMA, PATIENCE) == Download(LLAMA, "done", "Ready", SIZE, SIZE)


KILLED = """
import os, signal, sys
from pathlib import Path
from crag.models.downloads import Downloads
from crag.storage.engine import Database
from crag.types import Progress

def fetch(report, stop):
    report(Progress("Downloading", 400, 1000))
    stop.wait(60)

database = Database(Path(sys.argv[1]))
downloads, other = [Downloads(database, lambda _: fetch, lambda _: None) for _ in range(2)]
downloads.start("nomic")
while not other.get("nomic").done:
    other.wait("nomic", 0.05)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_can_be_gone_on_with(database, tmp_path):
    with Forked(KILLED, tmp_path) as process:
        process.communicate(PATIENCE)

    def fetch(report: ProgressCallback, _stop: Cancellation) -> None:
        report(Progress("Downloading", 1000, 1000))

    downloads = Downloads(database, lambda _: fetch, lambda _: None)
    assert downloads.get("nomic") == Download("nomic", "cancelled", "Not finished", 400, 1000)
    downloads.start("nomic")
    assert downloads.wait("nomic", PATIENCE) == Download("nomic", "done", "Downloading", 1000, 1000)


def test_what_was_there_before_says_nothing_of_the_pace():
    now = [0.0]
    pace = TransferRate(lambda: now[0])
    for seconds, done in ((0.0, 0), (1.0, 1_000_000), (2.0, 1_000_100), (3.0, 1_000_200)):
        now[0] = seconds
        pace.add_count(done)
    assert pace.rate() == pytest.approx(100)
    now[0] = 60.0
    assert pace.rate() == 0


def test_the_pace_is_that_of_the_last_seconds():
    now = [0.0]
    pace = TransferRate(lambda: now[0])
    for second in range(1, 30):
        now[0] = float(second)
        pace.add_count(second * 10 if second < 20 else 200 + (second - 20) * 1000)
    assert pace.rate() == pytest.approx(1000)


def test_an_end_not_written_on_a_full_disk_is_written_later(downloads, database, settings, monkeypatch):
    written, is_full = DownloadRows.keep, True

    def keep(rows: DownloadRows, download: Download) -> None:
        if is_full:
            raise HomeFault("The disk is full.")
        written(rows, download)

    monkeypatch.setattr(DownloadRows, "keep", keep)
    downloads.start(LLAMA)
    wait_until(lambda: state(downloads) == "done")
    other = over(database, settings)
    assert state(other) == "running", "nobody else can know yet"
    is_full = False
    wait_until(lambda: state(other) == "done")
    other.close()


@pytest.mark.parametrize("told", [-1, 10**30, "many", 1.5, None, [1], float("inf"), float("nan")])
def test_sizes_that_are_none_do_not_harm_what_arrives(downloads, ollama, told, monkeypatch):
    honest = Offer.lines

    def lines(offer: Offer) -> Iterator[tuple[float, dict[str, Any] | Mishap]]:
        for wait, line in honest(offer):
            yield wait, line if isinstance(line, Mishap) else line | {"total": told, "completed": told}

    monkeypatch.setattr(Offer, "lines", lines)
    downloads.start(LLAMA)
    ended = downloads.wait(LLAMA, PATIENCE)
    assert ended is not None
    assert (ended.state, ended.fault, ended.total) == ("done", "", 0)


@pytest.mark.parametrize("model", ["", "two words", "line\nbreak", "x" * 300, "라마", "$(reboot)", "../../etc", "-f"])
def test_a_name_that_no_model_can_have_is_refused_at_once(downloads, ollama, model):
    with pytest.raises(BadRequest, match="cannot be downloaded"):
        downloads.start(f"ollama:{model}")
    assert (downloads.all(), ollama.requests) == ([], [])
