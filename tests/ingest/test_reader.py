"""Files of every kind through the guarded child and the splitter."""

import pytest

from crag.cancellation import Cancellation
from crag.errors import SourceRefused, Stopped
from crag.ingest.reader import GuardedReader, RawDocument


def count_words(text):
    return len(text.split())


def read(data, stop=None, count=count_words, limit=1_000_000, **hints):
    seen = []
    reading = GuardedReader(count, limit)(RawDocument("notes.md", data, **hints), seen.append, stop or Cancellation())
    return reading, [progress.stage for progress in seen]


def test_a_file_comes_back_in_chunks_with_its_headings():
    reading, stages = read(b"# Kettles\n\nA kettle boils water.\n\n# Cats\n\n" + b"A cat sleeps all day. " * 60)
    assert (reading.kind, reading.pages) == ("markdown", None)
    assert reading.chunks[0].heading == "Kettles"
    assert reading.chunks[-1].heading == "Cats"
    assert all(count_words(chunk.text) <= 250 for chunk in reading.chunks)
    assert stages[-1] == "Splitting"


def test_hints_reach_the_parser():
    reading, _ = read("<p>안녕하세요, 고양이입니다.</p>".encode("euc-kr"), content_type="text/html", charset="euc-kr")
    assert reading.kind == "html"
    assert "고양이입니다" in reading.chunks[0].text


def test_the_limit_reaches_the_parser():
    with pytest.raises(SourceRefused) as caught:
        read(b"x " * 100, limit=10)
    assert caught.value.code == "too_large"


def test_splitting_can_be_stopped():
    stop = Cancellation()

    def count(text):
        stop.request()
        return count_words(text)

    with pytest.raises(Stopped):
        read(b"One. Two. Three.\n\nFour. Five.", stop, count)
