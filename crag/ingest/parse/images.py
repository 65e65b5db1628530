"""OCR with Tesseract, and the parser for images of text."""

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
from crag.ingest.parse.confinement import limit_cpu_seconds
from crag.ingest.parse.document import Document, ParseRequest, damaged_refusal, describe_unread_pages, too_large_refusal
from crag.ingest.parse.page_layout import join_lines, plain_block

if TYPE_CHECKING:
    from PIL.Image import Image


INSTALL_TESSERACT = "Install Tesseract to read it."
OCR_TIMED_OUT = "OCR took too long"
_MAX_LANGUAGES = 6  # each one adds time
_PREFERRED_LANGUAGES = ("eng", "kor", "chi_sim", "chi_tra", "jpn", "deu", "fra", "spa")
_NOT_LANGUAGES = ("osd", "equ")
_WORD_LEVEL = "5"  # level of a word row in Tesseract's TSV output
_POSITION_COLUMNS, _CONFIDENCE_COLUMN, _TEXT_COLUMN = slice(1, 5), 10, 11  # columns of the TSV output
_MIN_LINE_CONFIDENCE = 50.0  # per cent
_MIN_PAGE_CONFIDENCE = 60.0  # per cent; text recognized in noise has about 40

OcrParagraphs = list[list[str]]


class TesseractReader:
    """OCR for the images of one file. Requires `tesseract` in the request."""

    def __init__(self, request: ParseRequest) -> None:
        self._request = request

    def read(self, pictures: Iterator[Image], total: int) -> Iterator[OcrParagraphs | None]:
        """Yield the paragraphs of each grayscale image as lists of lines: none for a blank image, None on timeout."""
        limit_cpu_seconds(self._request.begin_ocr(total))
        for number, picture in enumerate(pictures, 1):
            self._request.progress("Reading by OCR: page", number, total)
            try:
                yield _confident_paragraphs(self._table(picture)) if len(picture.getcolors() or "many") > 1 else []
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
        named = [name for name in self._installed if name.isidentifier() and name not in _NOT_LANGUAGES]
        usual = [name for name in named if not name.endswith("_vert")]
        ranked = sorted(
            usual,
            key=lambda name: (
                _PREFERRED_LANGUAGES.index(name) if name in _PREFERRED_LANGUAGES else len(_PREFERRED_LANGUAGES),
                name,
            ),
        )
        return "+".join(ranked[:_MAX_LANGUAGES]) or "eng"

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


def ocr_too_slow_refusal() -> SourceRefused:
    """Build the refusal of a file of which no page could be read in time."""
    return SourceRefused("too_slow", "Reading it by OCR took too long.", "Add a copy whose text can be selected.")


def _confident_paragraphs(table: str) -> OcrParagraphs:
    """Return the lines with sufficient confidence (tesseract(1), output format `tsv`)."""
    rows = [line.split("\t") for line in table.splitlines()]
    words = [row for row in rows if row[0] == _WORD_LEVEL and row[_TEXT_COLUMN:] and row[_TEXT_COLUMN].strip()]
    if _mean_confidence(words) < _MIN_PAGE_CONFIDENCE:
        return []
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (*paragraph, _line), group in groupby(words, key=lambda row: row[_POSITION_COLUMNS]):
        line = list(group)
        if _mean_confidence(line) >= _MIN_LINE_CONFIDENCE:
            found[tuple(paragraph)].append(" ".join(row[_TEXT_COLUMN] for row in line))
    return list(found.values())


def _mean_confidence(words: list[list[str]]) -> float:
    """Return the mean confidence of the words, in per cent."""
    return sum(float(row[_CONFIDENCE_COLUMN]) for row in words) / max(1, len(words))


MAX_OCR_PIXELS = 12_000_000
_MAX_OPENED_PIXELS = 100_000_000


def read_image(request: ParseRequest) -> Document:
    """Read the text of an image; each frame of a TIFF is a page.

    Raises `SourceRefused` (`corrupt`, `no_text`, `too_large`, `too_slow`).
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked below, with the application's own message
    try:
        with Image.open(io.BytesIO(request.data), formats=("PNG", "JPEG", "TIFF")) as image:
            count = getattr(image, "n_frames", 1)
            if count > request.limits.pages or image.width * image.height > _MAX_OPENED_PIXELS:
                raise too_large_refusal("is a picture too large to be read")
            if not request.tesseract:
                raise SourceRefused("no_text", "This is a picture.", INSTALL_TESSERACT)
            pages = list(TesseractReader(request).read(_grayscale_frames(image, count), count))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise damaged_refusal("The picture", remedy="Save it again, then add it.") from error
    blocks = tuple(plain_block(join_lines(lines, set()), n) for n, page in enumerate(pages, 1) for lines in page or ())
    late = pages.count(None)
    if not blocks and late:
        raise ocr_too_slow_refusal()
    if not blocks:
        raise SourceRefused("no_text", "No text was found in this picture.")
    return Document("", count, blocks, note=describe_unread_pages(count, {OCR_TIMED_OUT: late}))


def _grayscale_frames(image: Image, count: int) -> Iterator[Image]:
    from PIL import ImageOps

    for number in range(count):
        image.seek(number)
        grey = ImageOps.exif_transpose(image).convert("L")
        share = (MAX_OCR_PIXELS / (grey.width * grey.height)) ** 0.5
        yield grey if share >= 1 else grey.resize((max(1, int(grey.width * share)), max(1, int(grey.height * share))))
