"""Pages of a web search through the real fetcher, parser, splitter and scorer: nearest passages, limits, stop."""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from crag.cancellation import Cancellation
from crag.errors import HomeFault, Stopped
from crag.ingest.page_reader import WebPageReader
from crag.ingest.reader import GuardedReader
from crag.models.embedders import open_embedder
from crag.protocols import Evaluator
from crag.settings import Settings
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Passage
from tests.doubles.outbound_log import ListOutboundLog
from tests.waiting import PATIENCE

LOOPBACK = (ipaddress.ip_network("127.0.0.1/32"),)
QUESTION = "Who won the 2024 NBA finals?"
ANSWER = "The Boston Celtics won the 2024 NBA finals against the Dallas Mavericks in five games."


def page(*paragraphs: str) -> bytes:
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return f"<html><head><title>News</title></head><body><article>{body}</article></body></html>".encode()


def filler(number: int, sentences: int = 12) -> str:
    """A paragraph of its own: those that are repeated are read once."""
    places = range(number * 100, number * 100 + sentences)
    return " ".join(f"In valley {place} the weather was mild and river {place + 7} carried leaves." for place in places)


def found(url: str, number: int = -1) -> Passage:
    text = "An excerpt of a page."
    return Passage(number, "", "News", url, text, text, origin="web")


@pytest.fixture
def outbound_log():
    return ListOutboundLog()


@pytest.fixture
def reader(outbound_log, tmp_path):
    return _reader(outbound_log, tmp_path)


def _reader(
    outbound_log: ListOutboundLog, home: Path, seconds: float = PATIENCE, evaluator: Evaluator | None = None
) -> WebPageReader:
    read = GuardedReader(lambda text: len(text.split()), 1_000_000)
    settings = Settings(home=home, allow_private_urls=LOOPBACK)
    embedder = open_embedder("builtin", settings)
    return WebPageReader(read, embedder, CountedTermStatistics(), settings, outbound_log, seconds, evaluator=evaluator)


def test_only_the_nearest_parts_of_a_page_are_given(reader, web, outbound_log):
    url = web.page("/finals", page(*map(filler, range(9)), f"{ANSWER} {filler(9, 3)}", *map(filler, range(10, 20))))
    excerpt = found(url)
    ([got], unread) = reader.read(QUESTION, [excerpt], Cancellation())
    assert ANSWER in got.text
    assert len(got.text.split()) <= 2 * 250, "one part or two, not the page"
    assert "valley 0 " not in got.text
    assert (got.id, got.title, got.location, got.origin, unread) == (-1, "News", url, "web", 0)
    assert outbound_log.entries == [(f"127.0.0.1:{web.port}", "web page", url)]


class WordEvaluator:
    """Scores texts by whether they have a word."""

    name = fingerprint = "word"

    def __init__(self, word: str) -> None:
        self.word = word

    def reads(self, question: str) -> bool:
        return question == QUESTION

    def score(self, question: str, texts: Sequence[str], stop: Cancellation) -> list[float | None]:
        return [0.9 if self.word in text else 0.1 for text in texts]


@pytest.mark.parametrize(("word", "is_kept"), [("Celtics", True), ("valley 1205", False)])
def test_an_evaluator_chooses_the_parts_of_a_page(outbound_log, web, tmp_path, word, is_kept):
    url = web.page("/finals", page(f"{ANSWER} {filler(9, 12)}", *map(filler, range(10, 14))))
    reader = _reader(outbound_log, tmp_path, evaluator=WordEvaluator(word))
    ([got], _) = reader.read(QUESTION, [found(url)], Cancellation())
    assert word in got.text
    assert (ANSWER in got.text) is is_kept


def test_an_excerpt_that_is_nearer_than_all_of_its_page_stays(reader, web):
    url = web.page("/wall", page("Please switch JavaScript on and accept our cookies to go on reading."))
    excerpt = Passage(-1, "", "News", url, ANSWER, ANSWER, origin="web")
    assert reader.read(QUESTION, [excerpt], Cancellation()) == ([excerpt], 0)


def test_what_cannot_be_read_keeps_its_excerpt_and_is_counted(reader, web, outbound_log):
    good = found(web.page("/good", page(ANSWER)), -1)
    bad = [
        found(web.url("/gone"), -2),
        found(web.page("/film", b"x", content_type="video/mp4"), -3),
        found("http://10.0.0.1/inside", -4),
        found("https://youtu.be/x", -5),
        found(web.redirect("/in", "http://10.0.0.1/"), -6),
        found(web.page("/large", b"x" * 5_000_001, content_type="text/plain"), -7),
    ]
    linkless = found("", -8)
    got, unread = reader.read(QUESTION, [good, *bad, linkless], Cancellation())
    assert ANSWER in got[0].text
    assert got[1:] == [*bad, linkless]
    assert unread == len(bad)
    assert not [host for host, _, _ in outbound_log.entries if host.startswith("10.")]


def test_pages_are_read_at_the_same_time(reader, web):
    meeting = threading.Barrier(3, timeout=PATIENCE)

    def script(handler: object) -> None:
        meeting.wait()  # breaks unless all three are asked for at once
        handler.reply(page(ANSWER))

    web.scripts.update({f"/{number}": script for number in range(3)})
    _, unread = reader.read(QUESTION, [found(web.url(f"/{n}"), -1 - n) for n in range(3)], Cancellation())
    assert unread == 0


def test_a_page_that_hangs_is_left_at_the_deadline(outbound_log, web, tmp_path):
    slow = found(web.drip("/slow", b"x", 0.05, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"))
    assert _reader(outbound_log, tmp_path, seconds=0.5).read(QUESTION, [slow], Cancellation()) == ([slow], 1)


def test_stop_is_heard_at_once(outbound_log, web, tmp_path):
    slow = found(web.drip("/slow", b"x", 0.05, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"))
    stop = Cancellation()
    threading.Timer(0.3, stop.cancel).start()
    with pytest.raises(Stopped):
        _reader(outbound_log, tmp_path, seconds=3600).read(QUESTION, [slow], stop)


def test_a_request_that_cannot_be_written_down_is_not_made(web, tmp_path):
    excerpt = found(web.page("/a", page(ANSWER)))
    full = ListOutboundLog(HomeFault("The disk is full."))
    assert _reader(full, tmp_path).read(QUESTION, [excerpt], Cancellation()) == ([excerpt], 1)
    assert web.seen == []
