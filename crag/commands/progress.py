"""Progress bars for parallel tasks, drawn in place; shown on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from crag.progress import Report, silent
from crag.reports import printable
from crag.types import Progress

if TYPE_CHECKING:
    import rich.progress

Tell = Callable[[Progress], str]
Lines = Callable[[str], AbstractContextManager[Report]]


def stage_and_count(progress: Progress) -> str:
    """Return stage and progress: “Embedding 128 of 1,024”."""
    return f"{progress.stage} {progress.done:,} of {progress.total:,}" if progress.total else progress.stage


@contextmanager
def progress_lines(total: int, *, wanted: bool = True, tell: Tell = stage_and_count) -> Iterator[Lines]:
    """Yield a function that opens a progress row for a task, with a total row above if `total` exceeds one."""
    if not (wanted and sys.stderr and sys.stderr.isatty()):
        yield lambda _: nullcontext(silent)
        return
    with _bars() as bars:
        whole = bars.add_task("In all", total=total, stage="") if total > 1 else None
        yield lambda name: _line(bars, whole, tell, name)


@contextmanager
def progress_line(name: str, tell: Tell = stage_and_count) -> Iterator[Report]:
    """Yield the reporter of a single progress row; `tell` formats its text."""
    with progress_lines(1, tell=tell) as lines, lines(name) as report:
        yield report


@contextmanager
def _line(bars: rich.progress.Progress, whole: rich.progress.TaskID | None, tell: Tell, name: str) -> Iterator[Report]:
    task = bars.add_task(printable(name), total=None, stage="")

    def report(progress: Progress) -> None:
        stage = printable(tell(progress))
        bars.update(task, total=progress.total or None, completed=progress.done, stage=stage)

    try:
        yield report
    finally:
        bars.remove_task(task)
        if whole is not None:
            bars.advance(whole)


def _bars() -> rich.progress.Progress:
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
