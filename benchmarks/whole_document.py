"""A summary of a whole document of 300 pages by the built-in engine: time, memory, cancellation, cited pages.

The PDF has 30 chapters of generated prose, each with its heading and an outline entry. Every chapter is asked for by
its number until 50 sentences are cited, and the text of the cited page is read from the PDF without the application.
"""

from __future__ import annotations

import re
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil

from benchmarks.prose import write_corpus
from crag.app.application import Application, open_application
from crag.events import PassagesRead
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.settings import Settings
from crag.text.citation_marks import strip_citations

PAGES, CHAPTERS = 300, 30
LINES, LINE_WIDTH = 44, 88
"""Lines of a page, characters of a line."""
SAMPLED = 50
CANCELLED = 5
SAMPLE_SECONDS = 0.01
QUESTION = "Summarize the whole document"


def main() -> None:
    """Add the PDF, sum it up, cancel summaries, and check the pages that summaries of chapters cite."""
    with tempfile.TemporaryDirectory() as folder:
        pdf = Path(folder) / "long.pdf"
        write_pdf(pdf)
        settings = Settings(home=Path(folder) / "home", chat_model="builtin", embedder="builtin")
        with closing(open_application(settings)) as application:
            began = time.perf_counter()
            result = application.library.pipeline.add_bytes(pdf.name, pdf.read_bytes())
            if result.error:
                raise SystemExit(result.error.message)
            print(f"{PAGES} pages, {result.passages:,} passages, added in {time.perf_counter() - began:.1f} s")
            application.library.warm()
            for _ in range(3):
                _measure_summary(application)
            _measure_cancellation(application)
            _check_pages(application, pdf)


def write_pdf(path: Path) -> None:
    """Write a PDF with text of `LINES` lines on each page and a heading at the start of each chapter."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    canvas, lines = Canvas(str(path), pagesize=A4), iter(_write_lines())
    for page in range(PAGES):
        number, first = divmod(page, PAGES // CHAPTERS)
        if not first:
            canvas.bookmarkPage(f"chapter{number}")
            canvas.addOutlineEntry(f"{number + 1}. Chapter", f"chapter{number}")
            canvas.setFont("Helvetica-Bold", 18)
            canvas.drawString(60, 780, f"{number + 1}. Chapter")
        canvas.setFont("Helvetica", 10)
        text = canvas.beginText(60, 745)
        for _ in range(LINES):
            text.textLine(next(lines))
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()


def _write_lines() -> list[str]:
    """Return lines of generated prose, wrapped at the width of the page."""
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(Path(folder), 1, PAGES * LINES * LINE_WIDTH)
        (file,) = Path(folder).iterdir()
        return textwrap.wrap(file.read_text(encoding="utf-8"), LINE_WIDTH)


def _measure_summary(application: Application) -> None:
    with _watch_memory() as growth:
        began = time.perf_counter()
        run = application.runs.start(None, QUESTION, RunOptions(model="builtin"))
        first, trace = 0.0, Trace()
        for _, event in run.follow():
            if isinstance(event, PassagesRead) and not first:
                first = time.perf_counter() - began
            trace.apply(event)
        total = time.perf_counter() - began
    weak = sum(one.strength != "supported" for one in trace.sentences)
    print(
        f"summary: first progress {first:.2f} s, all {total:.2f} s, memory +{growth[0] / 1e6:.0f} MB; "
        f"{len(trace.sentences)} sentences, {weak} not supported"
    )


@contextmanager
def _watch_memory() -> Iterator[list[int]]:
    """Yield a list whose one item is the greatest growth of resident memory in bytes so far."""
    process, ended, growth = psutil.Process(), threading.Event(), [0]
    before = process.memory_info().rss

    def watch() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            growth[0] = max(growth[0], process.memory_info().rss - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield growth
    finally:
        ended.set()
        thread.join()


def _measure_cancellation(application: Application) -> None:
    """Stop summaries at their first progress and print how long they take to end."""
    seconds = []
    for _ in range(CANCELLED):
        run = application.runs.start(None, QUESTION, RunOptions(model="builtin"))
        asked = 0.0
        for _, event in run.follow():
            if isinstance(event, PassagesRead) and not asked:
                asked = time.perf_counter()
                application.runs.stop(run.id)
        seconds.append(time.perf_counter() - asked)
    print(f"stopped after {sorted(seconds)[CANCELLED // 2]:.3f} s (longest {max(seconds):.3f} s)")


def _check_pages(application: Application, pdf: Path) -> None:
    """Ask for the summary of one chapter after the other and look each cited sentence up on its page."""
    pages = _read_pages(pdf)
    checked, wrong = 0, list[str]()
    for number in range(1, CHAPTERS + 1):
        run = application.runs.start(None, f"Summarize chapter {number}", RunOptions(model="builtin"))
        trace = Trace().apply_all(event for _, event in run.follow())
        cited_pages = {citation.n: citation.page for citation in trace.citations}
        for line in trace.text.splitlines():
            for found in re.finditer(r"\[(\d+)\]", line):
                sentence = _letters(strip_citations(line).removeprefix("- "))
                page = cited_pages[int(found[1])]
                checked += 1
                if not page or not _begins_on(sentence, pages, page):
                    wrong.append(f"chapter {number}, page {page}: {line}")
                elif not (number - 1) * PAGES // CHAPTERS < page <= number * PAGES // CHAPTERS:
                    wrong.append(f"another chapter than {number}, page {page}: {line}")
        if checked >= SAMPLED:
            break
    print(f"{checked - len(wrong)} of {checked} sentences begin on the cited page")
    print(*wrong, sep="\n")


def _begins_on(sentence: str, pages: list[str], page: int) -> bool:
    """Return whether a sentence is on a page, or begins there and ends on the next one."""
    here, after = (_letters(pages[at]) if at < len(pages) else "" for at in (page - 1, page))
    return sentence in here or (sentence in here + after and sentence not in after)


def _read_pages(pdf: Path) -> list[str]:
    import pypdfium2

    with closing(pypdfium2.PdfDocument(pdf)) as document:
        return [page.get_textpage().get_text_range() for page in document]


def _letters(text: str) -> str:
    """Return the letters and digits of a text, which line breaks and hyphens do not change."""
    return "".join(filter(str.isalnum, text))


if __name__ == "__main__":
    main()
