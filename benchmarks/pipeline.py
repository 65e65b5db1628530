"""Latency of one question, compared with LangGraph's tutorial pipeline on the same scripted Ollama.

Run with `python -m benchmarks.pipeline [--posts FOLDER]`. The server has the speed of a real one: 400 prompt tokens/s,
shared by its four slots or per slot, and 25 reply tokens/s (`tests/doubles/timed_ollama.py`). Each contender has
its own server, warmed up with one question, so that no prompt cache is shared. The four tables are measured at the same
time, each in a process of its own, because nearly all of the time is waiting.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

from benchmarks.scripted_questions import Material, Question, answer_with_script, generate_material, read_posts
from benchmarks.tutorial import TutorialPipeline
from crag.app.application import Application, open_application
from crag.events import RunEnded, TokensWritten
from crag.options import GraderKind, RunOptions
from crag.protocols import Retriever
from crag.settings import Settings
from tests.doubles.timed_ollama import TimedOllama

MODEL = "llama3.1:8b"
GRADERS: tuple[GraderKind, ...] = ("explained", "score", "listwise", "cascade", "builtin")
_USUAL: tuple[GraderKind, ...] = ("score", "cascade", "builtin")  # the others double the running time and are slower
RACES = [(k, shared) for k in (4, 10) for shared in (True, False)]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds to the first token and to the end of the answer, and the number of graded passages."""

    first: float
    end: float
    verdicts: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Cost of one question to one contender: timing, requests and processed prompt tokens."""

    timing: Timing
    requests: int
    processed: int


class Contender(Protocol):
    """A pipeline that answers questions."""

    def ask(self, question: str) -> Timing:
        """Ask a question and wait for the end of the answer."""
        ...


@dataclass
class Tutorial:
    """The tutorial's pipeline with passages from our own search."""

    pipeline: TutorialPipeline

    def ask(self, question: str) -> Timing:
        """Ask a question and wait for the end of the answer."""
        began = time.perf_counter()
        arrived = [time.perf_counter() - began for _ in self.pipeline.answer(question)]
        return Timing(arrived[0], time.perf_counter() - began, len(self.pipeline.verdicts))


@dataclass
class Ours:
    """The application, asked outside a conversation."""

    application: Application
    options: RunOptions

    def ask(self, question: str) -> Timing:
        """Ask a question and wait for the end of the answer; raise SystemExit if the run failed."""
        began = time.perf_counter()
        first = 0.0
        run = self.application.runs.start(None, question, self.options)
        for _, event in run.follow():
            if isinstance(event, TokensWritten):
                first = first or time.perf_counter() - began
            if isinstance(event, RunEnded) and event.state != "done":
                raise SystemExit(f"{event.error} {event.remedy}")
        took = time.perf_counter() - began
        return Timing(first, took, len(self.application.runs.trace(run.id).verdicts))


def main(arguments: Sequence[str] = ()) -> None:
    """Fill a library, then compare the contenders with shared and with separate prompt speed per slot."""
    parser = argparse.ArgumentParser(description="Against the tutorial's pipeline")
    parser.add_argument("--posts", type=Path, help="the folder of the tutorial's posts; else text is invented")
    parser.add_argument("--graders", nargs="*", choices=GRADERS, default=_USUAL)
    chosen = parser.parse_args(arguments)
    material = read_posts(chosen.posts) if chosen.posts else generate_material()
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(len(RACES), get_context("spawn")) as processes:
        _fill(Path(folder), material)
        race = partial(_race, Path(folder), material.questions, chosen.graders)
        for (k, shared), rows in zip(RACES, processes.map(race, *zip(*RACES, strict=True)), strict=True):
            _print(f"k = {k}, prompts 400 tokens/s {'shared by 4 slots' if shared else 'for each of 4 slots'}", rows, k)


def _fill(home: Path, material: Material) -> None:
    application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
    for name, data in material.documents:
        if error := application.library.pipeline.add_bytes(name, data).error:
            raise SystemExit(error.message)
    application.close()


def _race(
    home: Path, questions: Sequence[Question], graders: Sequence[GraderKind], k: int, shared: bool
) -> dict[str, list[Measured]]:
    """Ask every contender every question in turn; the first question is for warm-up and not counted."""
    with _contenders(home, questions, graders, k, shared) as contenders:
        rows: dict[str, list[Measured]] = {name: [] for name in contenders}
        for number, question in enumerate(questions):
            for name, (contender, ollama) in contenders.items():
                before = len(ollama.served)
                timing = contender.ask(question.text)
                served = ollama.served[before:]
                if number:
                    rows[name].append(Measured(timing, len(served), sum(request.processed for request in served)))
    return rows


@contextmanager
def _contenders(
    home: Path, questions: Sequence[Question], graders: Sequence[GraderKind], k: int, shared: bool
) -> Iterator[dict[str, tuple[Contender, TimedOllama]]]:
    """Open the contenders, each with a server of its own; the first one is the baseline."""
    with ExitStack() as opened:

        def open_both() -> tuple[Application, TimedOllama]:
            ollama = opened.enter_context(TimedOllama(shared=shared, script=partial(answer_with_script, questions)))
            settings = Settings(home=home, chat_model=f"ollama:{MODEL}", embedder="builtin", ollama_host=ollama.url)
            application = open_application(settings)
            opened.callback(application.close)
            return application, ollama

        application, ollama = open_both()
        pipeline = TutorialPipeline(MODEL, ollama.url, partial(_texts, application.library.retriever, k))
        contenders: dict[str, tuple[Contender, TimedOllama]] = {"tutorial": (Tutorial(pipeline), ollama)}
        for grader, refine in product(graders, (True, False)):
            application, ollama = open_both()
            options = RunOptions(k=k, grader=grader, refine=refine)
            contenders[f"{grader}, {'refined' if refine else 'not refined'}"] = Ours(application, options), ollama
        yield contenders


def _texts(retriever: Retriever, k: int, question: str) -> list[str]:
    return [passage.text for passage in retriever.retrieve(question, RunOptions(k=k))[0]]


def _print(title: str, rows: dict[str, list[Measured]], k: int) -> None:
    """Print medians, and the speed-up over the first row."""
    print(
        f"\n{title}\n{'':24}{'first s':>9}{'ratio':>7}{'end s':>9}{'ratio':>7}{'requests':>10}{'tokens':>8}  verdicts"
    )
    baseline = next(iter(rows.values()))
    first, end = _medians(baseline)
    for name, measured in rows.items():
        own_first, own_end = _medians(measured)
        requests = statistics.median(one.requests for one in measured)
        tokens = statistics.median(one.processed for one in measured)
        every = "all" if all(one.timing.verdicts == k for one in measured) else "NOT ALL"
        print(
            f"{name:24}{own_first:>9.2f}{first / own_first:>7.2f}{own_end:>9.2f}{end / own_end:>7.2f}"
            f"{requests:>10.0f}{tokens:>8.0f}  {every}"
        )


def _medians(measured: Sequence[Measured]) -> tuple[float, float]:
    timings = [one.timing for one in measured]
    return statistics.median(one.first for one in timings), statistics.median(one.end for one in timings)


if __name__ == "__main__":
    main(sys.argv[1:])
