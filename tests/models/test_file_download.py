"""Downloading Nomic's weights over real HTTP: resumed, stopped, verified, and each failure in words."""

from __future__ import annotations

import hashlib
import math
import random
import resource
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from crag.cancellation import Cancellation
from crag.errors import BadRequest, CragError, ModelFault, Stopped
from crag.models.nomic_weights import fetch_nomic
from crag.settings import DEFAULT_NOMIC_URL, Settings, load_settings
from crag.storage.engine import Database
from crag.storage.outbound_log import OutboundLog
from crag.types import Progress
from tests.doubles.ollama import closed_address
from tests.doubles.served_file import ServedFile
from tests.doubles.web import CERTIFICATE, Handler, WebServer, serving
from tests.waiting import wait_until

BODY = b"GGUF" + random.Random(4).randbytes(1_500_000)
OTHER = b"GGUF" + random.Random(5).randbytes(1_400_000)


def checksum(body: bytes, algorithm: str = "sha256") -> str:
    return f"#{algorithm}={hashlib.new(algorithm, body).hexdigest()}"


@dataclass
class Fetching:
    """Downloads a file and records the reported progress."""

    server: WebServer
    place: Path
    outbound_log: OutboundLog
    file: ServedFile = field(default_factory=lambda: ServedFile(BODY))
    url: str = ""
    told: list[Progress] = field(default_factory=list)
    stop: Cancellation = field(default_factory=Cancellation)

    def __post_init__(self) -> None:
        self.server.scripts["/weights.gguf"] = self.file
        self.url = self.url or self.server.url("/weights.gguf") + checksum(BODY)

    def fetch(self) -> None:
        fetch_nomic(replace(Settings(), nomic_url=self.url), self.outbound_log, self.told.append, self.stop)

    def fail(self, code: str) -> CragError:
        with pytest.raises(ModelFault) as fault:
            self.fetch()
        assert fault.value.code == code
        assert fault.value.remedy
        assert not any(secret in str(fault.value) for secret in (str(self.place.parent), "Traceback", "Errno"))
        return fault.value

    def kept(self) -> list[Path]:
        return list(self.place.parent.glob("*.part")) if self.place.parent.is_dir() else []


@pytest.fixture
def fetching(no_weights, tmp_path, monkeypatch):
    monkeypatch.setattr("crag.models.file_download._RETRY_PAUSES", (0.01,) * 3)
    database = Database(tmp_path / "home")
    with serving() as server:
        yield Fetching(server, no_weights, OutboundLog(database))
    database.close()


def test_the_file_arrives_whole_after_it_was_logged(fetching):
    fetching.fetch()
    assert fetching.place.read_bytes() == BODY
    received = [progress for progress in fetching.told if progress.stage == "Downloading"]
    assert len(received) > 3
    assert [progress.done for progress in received] == sorted({progress.done for progress in received})
    assert (received[-1].done, received[-1].total) == (len(BODY), len(BODY))
    assert fetching.told[-1].stage == "Checking"
    (departure,) = fetching.outbound_log.entries()
    assert (departure.kind, departure.host) == ("download", f"127.0.0.1:{fetching.server.port}")
    assert "/weights.gguf" in departure.what
    assert fetching.kept() == []


def test_nothing_is_asked_for_that_cannot_be_written_down(fetching, monkeypatch):
    def full(*_: object) -> None:
        raise BadRequest("The disk is full.")

    monkeypatch.setattr(fetching.outbound_log, "record", full)
    with pytest.raises(BadRequest):
        fetching.fetch()
    assert fetching.server.seen == []


def test_a_stop_is_heard_at_once_and_the_next_start_goes_on(fetching):
    fetching.file.holds_at = 200_000

    def work() -> None:
        with pytest.raises(Stopped):
            fetching.fetch()

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(work)
        wait_until(lambda: any(progress.done > 100_000 for progress in fetching.told))
        fetching.stop.cancel()
        ended.result()
    (kept,) = fetching.kept()
    had = kept.stat().st_size
    assert 0 < had < len(BODY)
    fetching.stop, fetching.file.holds_at = Cancellation(), math.inf
    fetching.told.clear()
    fetching.fetch()
    assert fetching.place.read_bytes() == BODY
    assert fetching.file.ranges == ["", f"bytes={had - 1}-"]
    assert fetching.told[0].done >= had


@pytest.mark.parametrize("silent", ["before the reply", "in the middle"])
def test_a_stop_is_heard_while_the_server_is_silent(fetching, silent):
    def script(handler) -> None:
        if silent == "in the middle":
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(BODY)))
            handler.end_headers()
            handler.wfile.write(BODY[:1000])
        fetching.server.closing.wait()

    fetching.server.scripts["/weights.gguf"] = script
    threading.Timer(0.3, fetching.stop.cancel).start()
    with pytest.raises(Stopped):
        fetching.fetch()


def test_a_connection_that_breaks_is_taken_up_where_it_broke(fetching):
    fetching.file.breaks = [400_000, 1, 300_000]
    fetching.fetch()
    assert fetching.place.read_bytes() == BODY
    assert fetching.file.ranges[:2] == ["", "bytes=399999-"]
    assert len(fetching.file.ranges) == 4


def test_repeated_breaks_end_the_download_and_keep_its_part(fetching):
    fetching.file.breaks = [100_000] * 4
    fault = fetching.fail("broken_off")
    assert "to resume" in fault.remedy
    assert len(fetching.file.ranges) == 4
    fetching.fetch()
    assert fetching.place.read_bytes() == BODY


@pytest.mark.parametrize("change", ["another file", "a shorter file", "no ranges"])
def test_what_was_kept_of_another_file_is_not_gone_on_with(fetching, change):
    fetching.file.breaks = [800_000] + [0] * 3
    fetching.fail("broken_off")
    match change:
        case "another file":
            fetching.file.body, fetching.file.etag = OTHER, '"two"'
            fetching.url = fetching.server.url("/weights.gguf") + checksum(OTHER)
        case "a shorter file":
            fetching.file.body = OTHER[:700_000]
            fetching.url = fetching.server.url("/weights.gguf") + checksum(OTHER[:700_000])
        case _:
            fetching.file.honours_ranges = False
    fetching.fetch()
    assert fetching.place.read_bytes() == fetching.file.body
    assert fetching.kept() == []


def test_a_wrong_checksum_keeps_the_old_file(fetching):
    fetching.fetch()
    fetching.file.body = OTHER
    fault = fetching.fail("wrong_checksum")
    assert "wrong checksum" in fault.message
    assert "deleted" in fault.message
    assert fetching.place.read_bytes() == BODY
    assert fetching.kept() == []


def test_an_md5_checksum_is_checked_too(fetching):
    fetching.url = fetching.server.url("/weights.gguf") + checksum(BODY, "md5").upper().replace("MD5", "md5")
    fetching.fetch()
    fetching.file.body = OTHER
    fetching.fail("wrong_checksum")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "no longer has this file"),
        (403, "does not allow the download"),
        (429, "too many requests"),
        (500, "reported an error"),
        (503, "reported an error"),
        (204, "answered 204"),
    ],
)
def test_what_a_server_answers_instead_is_told(fetching, status, words):
    fetching.server.page("/weights.gguf", b"", status=status)
    assert words in fetching.fail("http_error").message
    assert len(fetching.server.seen) == 1


def test_a_page_instead_of_the_file_is_told(fetching):
    fetching.server.page("/weights.gguf", b"<html>Welcome to our hotel</html>" * 50)
    fault = fetching.fail("wrong_file")
    assert "Sign in to the network" in fault.remedy
    assert fetching.kept() == []
    fetching.server.page("/weights.gguf", b"")
    fetching.fail("wrong_file")


def test_a_file_that_begins_with_a_single_byte_is_taken(fetching):
    def script(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(BODY)))
        handler.end_headers()
        handler.wfile.write(BODY[:1])
        wait_until(lambda: fetching.told)
        handler.wfile.write(BODY[1:])

    fetching.server.scripts["/weights.gguf"] = script
    fetching.fetch()
    assert fetching.place.read_bytes() == BODY


def test_nobody_there_is_told(fetching):
    fetching.url = f"{closed_address()}/weights.gguf{checksum(BODY)}"
    assert "Check your connection" in fetching.fail("unreachable").remedy
    fetching.url = f"http://127.0.0.1:99999/weights.gguf{checksum(BODY)}"
    fetching.fail("unreachable")


def test_a_full_disk_is_told_and_what_came_is_gone_on_with(fetching):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
    try:
        fault = fetching.fail("disk_full")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "Free some space" in fault.remedy
    fetching.fetch()
    assert fetching.place.read_bytes() == BODY
    assert fetching.file.ranges[1] == "bytes=999999-"


def test_a_file_larger_than_the_disk_is_refused_before_it_comes(fetching):
    def script(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**18))
        handler.end_headers()
        handler.wfile.write(BODY)

    fetching.server.scripts["/weights.gguf"] = script
    assert "GB more are needed" in fetching.fail("disk_full").message


def test_a_folder_that_cannot_be_written_is_told(fetching):
    fetching.place.parent.parent.mkdir(parents=True)
    fetching.place.parent.write_text("a file where the folder should be")
    assert ".cache/gpt4all" in fetching.fail("not_writable").message


def test_two_at_once_do_not_write_to_the_same_file(fetching):
    fetching.file.holds_at = 200_000
    second = Fetching(fetching.server, fetching.place, fetching.outbound_log, fetching.file)
    thread = threading.Thread(target=fetching.fetch)
    thread.start()
    wait_until(lambda: fetching.told)
    assert "downloading this file" in second.fail("busy").message
    fetching.file.holds_at = math.inf
    thread.join()
    assert fetching.place.read_bytes() == BODY


@pytest.fixture
def secure(fetching, monkeypatch):
    """A server whose certificate is trusted under the name pages.test."""
    find = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: find({"pages.test": "127.0.0.1"}.get(host, host), *rest, **more),
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with serving(CERTIFICATE) as server:
        server.scripts["/weights.gguf"] = fetching.file
        yield server


def test_only_a_secure_address_is_followed(fetching, secure):
    fetching.url = fetching.server.redirect("/old", fetching.server.url("/weights.gguf")) + checksum(BODY)
    assert "not secure" in fetching.fail("http_error").message
    fetching.server.redirect("/old", secure.url("/weights.gguf", "pages.test"))
    fetching.fetch()
    assert fetching.place.read_bytes() == BODY
    assert fetching.outbound_log.entries()[0].host == f"pages.test:{secure.port}"


def test_being_sent_on_without_end_is_told(fetching, secure):
    secure.redirect("/round", "/round")
    fetching.url = fetching.server.redirect("/old", secure.url("/round", "pages.test")) + checksum(BODY)
    assert "redirected too often" in fetching.fail("http_error").message
    assert len(secure.seen) == 5


def test_a_certificate_of_somebody_else_is_refused(fetching, secure):
    fetching.url = secure.url("/weights.gguf", "localhost") + checksum(BODY)
    assert "no valid TLS certificate" in fetching.fail("unreachable").message
    assert fetching.file.ranges == []


def test_a_password_in_the_address_is_never_shown(fetching):
    fetching.url = fetching.url.replace("://", "://me:secret@")
    fetching.fetch()
    assert not any("secret" in row.what + row.host for row in fetching.outbound_log.entries())
    fetching.server.page("/weights.gguf", b"", status=404)
    assert "secret" not in str(fetching.fail("http_error"))


def test_the_address_is_a_setting_that_names_its_checksum(monkeypatch, tmp_path):
    nothing = tmp_path / ".env"
    assert load_settings(tmp_path, nothing).nomic_url == DEFAULT_NOMIC_URL
    mirror = "https://mirror.example/a.gguf#sha256=" + "a" * 64
    monkeypatch.setenv("CRAG_NOMIC_URL", mirror)
    assert load_settings(tmp_path, nothing).nomic_url == mirror
    for wrong in ("https://mirror.example/a.gguf", "ftp://a/b#md5=" + "a" * 32, "https://a/b#md5=abc", "x"):
        monkeypatch.setenv("CRAG_NOMIC_URL", wrong)
        with pytest.raises(BadRequest, match="CRAG_NOMIC_URL"):
            load_settings(tmp_path, nothing)


def test_a_body_without_end_does_not_fill_the_disk(fetching, monkeypatch):
    monkeypatch.setattr("crag.models.file_download._MAX_BYTES", 3_000_000)
    sent: list[int] = []

    def endless(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"GGUF" * 10_000)
            sent.append(40_000)

    fetching.server.scripts["/weights.gguf"] = endless
    fetching.fail("wrong_file")
    assert list(fetching.place.parent.glob("*.part")) == []
    assert sum(sent) < 50_000_000
