"""OCR by the external program Tesseract, where it is installed."""

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
_MOST_LANGUAGES = 6  # each one adds time
_FIRST = ("eng", "kor", "chi_sim", "chi_tra", "jpn", "deu", "fra", "spa")
_NO_LANGUAGES = ("osd", "equ")
_WORD = "5"  # level of a word row in Tesseract's TSV output
_PLACE, _CONFIDENCE, _TEXT = slice(1, 5), 10, 11  # columns of the TSV output
_LEAST_CONFIDENCE = 50.0  # per cent
_LEAST_OF_PAGE = 60.0  # per cent; text recognized in noise has about 40

Paragraphs = list[list[str]]


class Ocr:
    """OCR for the images of one file. Requires `tesseract` in the request."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def read(self, pictures: Iterator[Image], total: int) -> Iterator[Paragraphs | None]:
        """Yield the paragraphs of each grayscale image as lists of lines: none for a blank image, None on timeout."""
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
        layout = "1" if "osd" in self._installed else "3"  # mode 1 detects the page orientation
        return self._run(["stdin", "stdout", "-l", self._languages, "--psm", layout, "tsv"], out.getvalue())

    @cached_property
    def _installed(self) -> list[str]:
        return self._run(["--list-langs"], b"").splitlines()[1:]

    @cached_property
    def _languages(self) -> str:
        """Installed languages to use: English first, then those with their own script, then others."""
        named = [name for name in self._installed if name.isidentifier() and name not in _NO_LANGUAGES]
        usual = [name for name in named if not name.endswith("_vert")]
        ranked = sorted(usual, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
        return "+".join(ranked[:_MOST_LANGUAGES]) or "eng"

    def _run(self, arguments: list[str], data: bytes) -> str:
        """Run Tesseract, bound by the limits of this process, and return its output. Raises `TimeoutExpired`."""
        environment = {"PATH": os.defpath, "OMP_THREAD_LIMIT": "1"}
        environment |= {name: os.environ[name] for name in ("TESSDATA_PREFIX", "SYSTEMROOT") if name in os.environ}
        done = subprocess.run(  # noqa: S603 — path found by the parent, no shell
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
    """Build the refusal of a file of which no page could be read in time."""
    return SourceRefused("too_slow", "Reading it by OCR took too long.", "Add a copy whose text can be selected.")


def _paragraphs(table: str) -> Paragraphs:
    """Return the lines with sufficient confidence (tesseract(1), output format `tsv`)."""
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
    """Return the mean confidence of the words, in per cent."""
    return sum(float(row[_CONFIDENCE]) for row in words) / max(1, len(words))
