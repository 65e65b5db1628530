"""Time and memory of an evaluator: passages of 256 tokens, one and two threads.

    python -m benchmarks.evaluator FOLDER

FOLDER holds `model.onnx` and `tokenizer.json`. Each figure is the best of several rounds, on new texts each time.
Processor time is printed as well, because it is more reliable than elapsed time on a busy machine.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import psutil

from crag.cancellation import Cancellation
from crag.models import evaluator
from crag.models.evaluator import OnnxEvaluator

_ROUNDS = 5
_WORDS = (
    "island",
    "harbour",
    "engineer",
    "bread",
    "yeast",
    "violin",
    "string",
    "glacier",
    "stone",
    "boat",
    "lamp",
    "river",
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    before = psutil.Process().memory_info().rss
    for threads in (1, 2):
        evaluator._MAX_THREADS = threads  # noqa: SLF001 — a constant, not an option
        begun = time.perf_counter()
        opened = OnnxEvaluator(folder)
        print(f"{threads} thread(s), opened in {time.perf_counter() - begun:.2f} s")
        for passages in (4, 10, 20, 40):
            elapsed, processor = _best_milliseconds(opened, passages)
            print(f"  {passages:3} passages: {elapsed:6.0f} ms, {processor:.0f} ms of processor time")
        print(f"  memory: {(psutil.Process().memory_info().rss - before) / 1e6:.0f} MB more than before opening")


def _best_milliseconds(opened: OnnxEvaluator, passages: int) -> tuple[float, float]:
    """Return the least elapsed time and the least processor time."""
    taken = []
    for number in range(_ROUNDS):
        texts = [_make_text(number * 100 + position) for position in range(passages)]
        begun = time.perf_counter(), time.process_time()
        opened.score(f"Who built the tower number {number} of {passages}?", texts, Cancellation())
        taken.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    return 1000 * min(elapsed for elapsed, _ in taken), 1000 * min(processor for _, processor in taken)


def _make_text(seed: int) -> str:
    """Return about 240 tokens, which make a pair of 256 with the question."""
    return " ".join(random.Random(seed).choices(_WORDS, k=240))


if __name__ == "__main__":
    main()
