"""Terminal output: one JSON document or text lines, progress bars, and the consent prompt."""

from __future__ import annotations

import json
import logging
import sys
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import TextIOWrapper
from typing import TYPE_CHECKING

from crag.app import reports
from crag.app.reports import printable
from crag.text.formatting import format_done
from crag.text.sanitization import PlainLogFormatter
from crag.translation import _, current_language, translate_text, use_language
from crag.types import Progress, ProgressCallback, ignore_progress

if TYPE_CHECKING:
    import rich.progress


def configure_output(as_json: bool) -> None:
    """Set encodings: UTF-8 for JSON (RFC 8259, section 8.1); characters the terminal lacks are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8" if as_json else None, errors="backslashreplace")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PlainLogFormatter("%(message)s"))
    logging.basicConfig(level=logging.ERROR, handlers=[handler])


def print_text(text: str) -> None:
    """Print text to standard output."""
    print(reports.printable(text))


def print_note(text: str) -> None:
    """Print a note to standard error."""
    print(reports.printable(text), file=sys.stderr)


def print_json(document: reports.Json) -> None:
    """Print the JSON document of a command."""
    print(json.dumps(document, ensure_ascii=False))


def print_result(as_json: bool, document: reports.Json, text: str) -> None:
    """Print the result of a command."""
    if as_json:
        print_json(document)
    elif text:
        print_text(text)


def print_failure(code: str, message: str, as_json: bool) -> None:
    """Report why a command failed."""
    if as_json:
        print_json({"error": {"code": code, "message": message}})
    else:
        print_note(translate_text(message))


def ask_consent(query: str) -> str | None:
    """Return the query if the user allows the web search, else None."""
    asked = _("Search the web for “{query}”? [y/N]").format(query=query)
    print(reports.printable(f"\n{asked} "), end="", file=sys.stderr, flush=True)
    return query if sys.stdin.readline().strip().lower() in ("y", "yes") else None


DescribeProgress = Callable[[Progress], str]
ProgressLines = Callable[[str], AbstractContextManager[ProgressCallback]]


def describe_progress(progress: Progress) -> str:
    """Return stage and progress: “Embedding 128 of 1,024”."""
    stage = translate_text(progress.stage)
    return f"{stage} {format_done(progress.done, progress.total)}" if progress.total else stage


def cell_width(text: str) -> int:
    """Return how many columns a text takes in a terminal; Chinese and Korean characters take two."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def pad_cell(text: str, width: int, *, right: bool = False) -> str:
    """Fill a text with spaces up to this many columns, aligned to the left or to the right."""
    space = " " * (width - cell_width(text))
    return space + text if right else text + space


@contextmanager
def progress_lines(
    total: int, *, wanted: bool = True, describe: DescribeProgress = describe_progress
) -> Iterator[ProgressLines]:
    """Yield a function that opens a progress row for a task, with a total row above if `total` exceeds one."""
    if not (wanted and sys.stderr and sys.stderr.isatty()):
        yield lambda _name: nullcontext(ignore_progress)
        return
    with _create_progress_bars() as bars:
        whole = bars.add_task(_("In all"), total=total, stage="") if total > 1 else None
        yield lambda name: _progress_row(bars, whole, describe, name)


@contextmanager
def progress_line(name: str, describe: DescribeProgress = describe_progress) -> Iterator[ProgressCallback]:
    """Yield the reporter of a single progress row; `describe` formats its text."""
    with progress_lines(1, describe=describe) as lines, lines(name) as report:
        yield report


@contextmanager
def _progress_row(
    bars: rich.progress.Progress, whole: rich.progress.TaskID | None, describe: DescribeProgress, name: str
) -> Iterator[ProgressCallback]:
    task, language = bars.add_task(printable(name), total=None, stage=""), current_language()

    def report(progress: Progress) -> None:
        with use_language(language):  # in the thread that does the work
            stage = printable(describe(progress))
        bars.update(task, total=progress.total or None, completed=progress.done, stage=stage)

    try:
        yield report
    finally:
        bars.remove_task(task)
        if whole is not None:
            bars.advance(whole)


def _create_progress_bars() -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    def column(field: str) -> TextColumn:
        return TextColumn(field, markup=False, table_column=Column(ratio=1, no_wrap=True))

    return Progress(
        column("{task.description}"),
        BarColumn(bar_width=20),  # the stage must fit next to it in 80 columns
        column("{task.fields[stage]}"),
        console=Console(stderr=True, highlight=False),
        expand=True,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # leave output to a file or a pipe unchanged
    )
