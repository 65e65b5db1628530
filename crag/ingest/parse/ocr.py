"""OCR of scanned pages: Tesseract for any language it has, RapidOCR for Chinese and where there is no Tesseract."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crag.errors import SourceRefused
from crag.ingest.parse.confinement import limit_cpu_seconds
from crag.ingest.parse.document import ParseRequest
from crag.ingest.parse.page_layout import TextLine, order_lines
from crag.text.language import detect_language
from crag.translation import N_

if TYPE_CHECKING:
    from PIL.Image import Image


INSTALL_OCR = N_("Install Tesseract or RapidOCR to read it.")
OCR_TIMED_OUT = N_("OCR took too long")
OcrParagraphs = list[list[str]]


class ScanReader:
    """Reads the images of one file with the OCR programs of the request, of which there must be one."""

    def __init__(self, request: ParseRequest) -> None:
        self._request = request
        self._tesseract = _Tesseract(request) if request.tesseract else None
        self._rapidocr = _RapidOCR(Path(request.rapidocr)) if request.rapidocr else None

    def read(self, pictures: Iterator[Image], total: int) -> Iterator[OcrParagraphs | None]:
        """Yield the paragraphs of each grayscale image as lists of lines: none for a blank image, None on timeout."""
        limit_cpu_seconds(self._request.begin_ocr(total))
        for number, picture in enumerate(pictures, 1):
            self._request.progress("Reading by OCR: page", number, total)
            try:
                yield self._read_page(picture) if len(picture.getcolors() or "many") > 1 else []
            except subprocess.TimeoutExpired:
                yield None

    def _read_page(self, picture: Image) -> OcrParagraphs:
        """Prefer RapidOCR for Chinese, else Tesseract: each is the better one there."""
        found = self._rapidocr.read(picture) if self._rapidocr else []
        if self._tesseract is None or (found and detect_language(" ".join(map(" ".join, found))) == "zh"):
            return found
        return self._tesseract.read(picture) or found


def ocr_too_slow_refusal() -> SourceRefused:
    """Build the refusal of a file of which no page could be read in time."""
    return SourceRefused("too_slow", "Reading it by OCR took too long.", "Add a copy whose text can be selected.")


_MAX_LANGUAGES = 6  # each one adds time
_PREFERRED_LANGUAGES = ("eng", "kor", "chi_sim", "chi_tra", "jpn", "deu", "fra", "spa")
_NOT_LANGUAGES = ("osd", "equ")
_WORD_LEVEL = "5"  # level of a word row in Tesseract's TSV output
_POSITION_COLUMNS, _CONFIDENCE_COLUMN, _TEXT_COLUMN = slice(1, 5), 10, 11  # columns of the TSV output
_MIN_LINE_CONFIDENCE = 50.0  # per cent
_MIN_PAGE_CONFIDENCE = 60.0  # per cent; text recognized in noise has about 40


class _Tesseract:
    """Runs Tesseract, bound by the limits of this process."""

    def __init__(self, request: ParseRequest) -> None:
        self._program, self._seconds = request.tesseract, request.limits.ocr_page_seconds

    def read(self, picture: Image) -> OcrParagraphs:
        """Return the paragraphs read with sufficient confidence. Raises `TimeoutExpired`."""
        out = io.BytesIO()
        picture.save(out, "PPM")
        layout = "1" if "osd" in self._installed else "3"  # mode 1 detects the page orientation
        return _confident_paragraphs(
            self._run(["stdin", "stdout", "-l", self._languages, "--psm", layout, "tsv"], out.getvalue())
        )

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
        environment = {"PATH": os.defpath, "OMP_THREAD_LIMIT": "1"}
        environment |= {name: os.environ[name] for name in ("TESSDATA_PREFIX", "SYSTEMROOT") if name in os.environ}
        done = subprocess.run(  # noqa: S603 — path found by the parent, no shell
            [self._program, *arguments],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=self._seconds,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace")


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


RAPIDOCR_REQUIREMENT = "rapidocr>=3.10,<4"
_MODEL_FILES = {"Det": "*_det_*.onnx", "Cls": "*_cls_*.onnx", "Rec": "*_rec_*.onnx"}
_MAX_SIDE = 1600  # pixels; twice that needs more memory than a child may use, and reads no better
_MIN_RAPIDOCR_CONFIDENCE = 0.85  # mean of a page; Korean, which its model lacks, has about 0.65
_PARAGRAPH_GAP = 0.9  # in line heights


def find_rapidocr() -> str:
    """Return the folder of RapidOCR's models; empty if it is not installed with all it needs.

    Its wheel contains models for English and Chinese. It would download others when asked for them, so it is only ever
    given these files.
    """
    package = find_spec("rapidocr")
    if package is None or find_spec("onnxruntime") is None or not package.submodule_search_locations:
        return ""
    folder = Path(package.submodule_search_locations[0]) / "models"
    return str(folder) if all(_model_file(folder, pattern) for pattern in _MODEL_FILES.values()) else ""


def _model_file(folder: Path, pattern: str) -> str:
    return str(next(iter(sorted(folder.glob(pattern))), ""))


class _RapidOCR:
    """Runs RapidOCR in this process, on one thread, with the models of a folder."""

    def __init__(self, models: Path) -> None:
        self._models = models

    def read(self, picture: Image) -> OcrParagraphs:
        """Return the paragraphs of a page; none if it is in another script, or cannot be processed."""
        import numpy as np

        try:
            found = self._engine(np.asarray(picture.convert("RGB")))
        except Exception:  # noqa: BLE001 — its errors share no other base, and another program may read the page
            return []
        if not found.txts or float(np.mean(found.scores)) < _MIN_RAPIDOCR_CONFIDENCE:
            return []
        lines = [_text_line(text, corners) for text, corners in zip(found.txts, found.boxes, strict=True)]
        if 2 * sum(line.height > line.right - line.left for line in lines) > len(lines):
            return [list(found.txts)]  # the page lies on its side, in the order in which it was read
        return _split_paragraphs(order_lines(lines))

    @cached_property
    def _engine(self) -> Any:
        files = {f"{part}.model_path": _model_file(self._models, pattern) for part, pattern in _MODEL_FILES.items()}
        threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
        memory = {"Global.max_side_len": _MAX_SIDE, "Rec.rec_batch_num": 1}
        quiet = {"Global.log_level": "critical"}
        return importlib.import_module("rapidocr").RapidOCR(params={**files, **threads, **memory, **quiet})


def _text_line(text: str, corners: Any) -> TextLine:
    """Convert a box of four corners in pixels from the top."""
    left, top = (float(edge) for edge in corners.min(axis=0))
    right, bottom = (float(edge) for edge in corners.max(axis=0))
    return TextLine(text, left, -bottom, bottom - top, right)


def _split_paragraphs(lines: list[TextLine]) -> OcrParagraphs:
    """Start a paragraph after a gap, and where a column ends."""
    paragraphs = [[line.text] for line in lines[:1]]
    for before, line in pairwise(lines):
        gap = before.bottom - (line.bottom + line.height)
        if gap > _PARAGRAPH_GAP * line.height or line.bottom > before.bottom + line.height:
            paragraphs.append([])
        paragraphs[-1].append(line.text)
    return paragraphs
