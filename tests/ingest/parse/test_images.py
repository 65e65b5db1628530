"""Pages without text: read by OCR where Tesseract or RapidOCR is installed, reported where neither is."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from random import Random

import psutil
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from crag.app.reports import added_text
from crag.cancellation import Cancellation
from crag.errors import SourceRefused, Stopped
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Document, ParseLimits
from crag.ingest.parse.ocr import find_rapidocr
from crag.translation import translate_text, use_language
from crag.types import Progress
from tests.applications import opened_with
from tests.waiting import PATIENCE, wait_until

needs_tesseract = pytest.mark.skipif(not shutil.which("tesseract"), reason="needs Tesseract")
needs_rapidocr = pytest.mark.skipif(not find_rapidocr(), reason="needs RapidOCR")
LETTERS = ImageFont.load_default(48)
CHINESE_FONT = next(map(str, Path("/usr/share/fonts").rglob("Noto*CJK-Regular.ttc")), "")
TYPED = "This page was typed and its text can be selected by anybody who reads it."


def written(*lines: str) -> Image.Image:
    image = Image.new("L", (1200, 120 + 80 * len(lines)), "white")
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((60, 60 + 80 * number), line, fill="black", font=LETTERS)
    return image


def pages(*content: str | Image.Image | None) -> bytes:
    """A PDF of typed pages, scanned pages and blank ones."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(600, 400))
    for page in content:
        if isinstance(page, str):
            canvas.drawString(50, 300, page)
        elif page:
            canvas.drawImage(ImageReader(page), 0, 100, 600, 600 * page.height / page.width)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def read(name: str, data: bytes, **limits: float) -> Document:
    return parse_file(name, data, stop=Cancellation(), limits=ParseLimits(**limits))


def refusal(name: str, data: bytes, **limits: float) -> str:
    with pytest.raises(SourceRefused) as caught:
        read(name, data, **limits)
    return f"{caught.value.code}: {caught.value}"


@needs_tesseract
def test_only_the_pages_that_need_it_are_read_by_ocr() -> None:
    steps: list[Progress] = []
    data = pages(TYPED, written("Scanned long ago,", "and found again."), None)
    document = parse_file("a.pdf", data, stop=Cancellation(), progress=steps.append)
    assert [(block.page, block.text) for block in document.blocks] == [
        (1, TYPED),
        (2, "Scanned long ago, and found again."),
    ]
    assert [step for step in steps if "OCR" in step.stage] == [Progress("Reading by OCR: page", 1, 1)]


@needs_tesseract
def test_a_picture_is_read_and_each_tiff_frame_is_a_page() -> None:
    out = io.BytesIO()
    written("First of the pictures").save(out, "TIFF", save_all=True, append_images=[written("Second of the pictures")])
    document = read("scan.tif", out.getvalue())
    assert (document.kind, document.pages, document.title) == ("image", 2, "scan.tif")
    assert [block.text for block in document.blocks] == ["First of the pictures", "Second of the pictures"]


@needs_tesseract
def test_a_photograph_holds_no_text() -> None:
    noise = Image.frombytes("L", (300, 300), Random(6).randbytes(90_000)).resize((600, 600))  # read as words
    assert refusal("a.pdf", pages(noise)).startswith("no_text: No text was found")


@needs_rapidocr
def test_without_tesseract_rapidocr_reads_a_scan_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    lines = "The espresso machine", "is descaled each month."
    document = read("a.pdf", pages(TYPED, written(*lines), Image.effect_noise((600, 400), 90)))
    assert [block.text for block in document.blocks] == [TYPED, " ".join(lines)]
    assert document.note == "1 of 3 pages could not be read: install Tesseract."


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@needs_rapidocr
def test_tesseract_is_preferred_unless_a_page_is_chinese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, row = tmp_path / "tesseract", "5\\t1\\t1\\t1\\t1\\t1\\t0\\t0\\t9\\t9\\t95\\tTesseract\\n"
    program.write_text(f"#!/bin/sh\ntest $1 = --list-langs || printf '{row}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert [block.text for block in read("a.pdf", pages(written("The espresso machine"))).blocks] == ["Tesseract"]
    font = ImageFont.truetype(CHINESE_FONT, 48) if CHINESE_FONT else pytest.skip("needs a Chinese font")
    image = Image.new("L", (1200, 200), "white")
    ImageDraw.Draw(image).text((60, 60), "今年夏天是最热的一年", fill="black", font=font)
    assert [block.text for block in read("a.pdf", pages(image)).blocks] == ["今年夏天是最热的一年"]


@pytest.fixture
def no_ocr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the programs is installed."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("crag.ingest.parse.child_process.find_rapidocr", str)


@pytest.mark.usefixtures("no_ocr")
def test_without_ocr_a_scan_says_what_to_install() -> None:
    assert refusal("a.pdf", pages(written("Hello"))) == (
        "no_text: This is a scan without text. Install Tesseract or RapidOCR to read it."
    )
    out = io.BytesIO()
    written("Hello").save(out, "PNG")
    assert refusal("a.png", out.getvalue()) == "no_text: This is a picture. Install Tesseract or RapidOCR to read it."
    with use_language("ko"):
        assert "Install" not in translate_text("This is a picture. Install Tesseract or RapidOCR to read it.")
    document = read("a.pdf", pages(TYPED, written("Hello"), None, written("World")))
    assert [block.text for block in document.blocks] == [TYPED]
    assert document.note == "2 of 4 pages could not be read: install Tesseract or RapidOCR."
    assert read("a.pdf", pages(TYPED, None)).note == ""


@pytest.mark.usefixtures("no_ocr")
def test_what_was_left_out_is_told_by_the_job_on_every_screen(tmp_path: Path) -> None:
    with opened_with(tmp_path / "home") as application:
        application.jobs.submit_bytes("scan.pdf", pages(TYPED, written("Hello")))
        wait_until(lambda: not application.jobs.active)
        [result] = application.jobs.jobs()[0].results
    assert result.note == "1 of 2 pages could not be read: install Tesseract or RapidOCR."
    assert added_text(result) == f"✓ scan.pdf: added, 2 pages, 1 passage. {result.note}"


@pytest.fixture
def slow_tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in its place that takes its time; the file it leaves its process id in."""
    noted, program = tmp_path / "pid", tmp_path / "tesseract"
    os.mkfifo(noted)
    program.write_text(f"#!/bin/sh\ntest $1 = --list-langs && exit\necho $$ > {noted}\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return noted


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_stopping_ends_tesseract_as_well(slow_tesseract: Path) -> None:
    stop = Cancellation()
    running: list[psutil.Process] = []

    def stop_in_the_middle(step: Progress) -> None:
        if "OCR" in step.stage:
            running.append(psutil.Process(int(slow_tesseract.read_text())))
            stop.cancel()

    with pytest.raises(Stopped):
        parse_file("a.pdf", pages(written("Hello")), stop=stop, progress=stop_in_the_middle)
    assert psutil.wait_procs(running, timeout=PATIENCE)[0] == running


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_slow_pages_are_left_out_and_the_total_is_limited(slow_tesseract: Path) -> None:
    with slow_tesseract.open("rb+", buffering=0):
        kept = read("a.pdf", pages(TYPED, written("Hello")), ocr_page_seconds=0.5)
        assert [block.text for block in kept.blocks] == [TYPED]
        assert kept.note == "1 of 2 pages could not be read: OCR took too long."
        assert refusal("a.pdf", pages(written("Hello")), ocr_page_seconds=0.5).startswith("too_slow: Reading it by OCR")
        assert refusal("a.pdf", pages(written("Hello")), ocr_seconds=0.5).startswith("too_slow")


def test_a_picture_too_large_to_be_opened_is_refused() -> None:
    out = io.BytesIO()
    Image.new("1", (10_100, 10_000)).save(out, "PNG")
    assert len(out.getvalue()) < 100_000
    assert refusal("a.png", out.getvalue()).startswith("too_large")
