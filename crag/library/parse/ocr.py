"""Reads pictures of text with Tesseract, a program of its own, where that is installed."""

from __future__ import annotations

import io
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from crag.errors import SourceRefused
from crag.library.parse.confinement import allow_seconds
from crag.library.parse.request import Request

if TYPE_CHECKING:
    from PIL.Image import Image

INSTALL = "Install Tesseract to read it."
TOO_LONG = "OCR took too long"
_MOST_LANGUAGES = 6  # each takes its time
_FIRST = ("eng", "kor", "chi_sim", "chi_tra", "jpn", "deu", "fra", "spa")
_NO_LANGUAGES = ("osd", "equ")
_WORD = "5"  # the level of a word in Tesseract's table
_PLACE, _CONFIDENCE, _TEXT = slice(1, 5), 10, 11  # its columns
_LEAST_CONFIDENCE = 50.0  # per cent, of a line
_LEAST_OF_PAGE = 60.0  # what it sees in noise has about 40

Paragraphs = list[list[str]]


class Ocr:
    """The reader of pictures for one file; only where `Request.tesseract` names the program."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def read(self, pictures: Iterator[Image], total: int) -> Iterator[Paragraphs | None]:
        """For each picture (grey) its paragraphs as lists of lines, none for a blank one; None if it takes too long."""
        allow_seconds(self._request.begin_ocr(total))
        for number, picture in enumerate(pictures, 1):
            self._request.progress("Reading by OCR: page", number, total)
            try:
                yield _paragraphs(self._table(picture)) if len(picture.getcolors() or "many") > 1 else []
            except subprocess.TimeoutExpired:
                yield None

    def _table(self, picture: Image) -> str:
        out = io.BytesIO()
        picture.save(out, "PPM")
        layout = "1" if "osd" in self._installed else "3"  # 1 finds out by itself how a page is turned
        return self._run(["stdin", "stdout", "-l", self._languages, "--psm", layout, "tsv"], out.getvalue())

    @cached_property
    def _installed(self) -> list[str]:
        return self._run(["--list-langs"], b"").splitlines()[1:]

    @cached_property
    def _languages(self) -> str:
        """Some of those that are installed: English, then what has letters of its own, then others."""
        named = [name for name in self._installed if name.isidentifier() and name not in _NO_LANGUAGES]
        usual = [name for name in named if not name.endswith("_vert")]
        ranked = sorted(usual, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
        return "+".join(ranked[:_MOST_LANGUAGES]) or "eng"

    def _run(self, arguments: list[str], data: bytes) -> str:
        """What Tesseract says. It is bounded as this process is, and ends with it. Raises `TimeoutExpired`."""
        environment = {"PATH": os.defpath, "OMP_THREAD_LIMIT": "1"}
        environment |= {name: os.environ[name] for name in ("TESSDATA_PREFIX", "SYSTEMROOT") if name in os.environ}
        done = subprocess.run(  # noqa: S603 — the program that the parent found, no shell
            [self._request.tesseract, *arguments],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=self._request.limits.ocr_page_seconds,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace")


def too_slow() -> SourceRefused:
    """The refusal of a file of which no page could be read in time."""
    return SourceRefused("too_slow", "Reading it by OCR took too long.", "Add a copy whose text can be selected.")


def _paragraphs(table: str) -> Paragraphs:
    """The lines that it is sure enough of (tesseract(1), output format `tsv`)."""
    rows = [line.split("\t") for line in table.splitlines()]
    words = [row for row in rows if row[0] == _WORD and row[_TEXT:] and row[_TEXT].strip()]
    if _confidence(words) < _LEAST_OF_PAGE:
        return []
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (*paragraph, _line), group in groupby(words, key=lambda row: row[_PLACE]):
        line = list(group)
        if _confidence(line) >= _LEAST_CONFIDENCE:
            found[tuple(paragraph)].append(" ".join(row[_TEXT] for row in line))
    return list(found.values())


def _confidence(words: list[list[str]]) -> float:
    """Of all words together, in per cent."""
    return sum(float(row[_CONFIDENCE]) for row in words) / max(1, len(words))
