"""Add every file of a manifest to a new library, search for a phrase of each, and print the results.

Run with `python -m benchmarks.documents FOLDER`. `FOLDER/manifest.jsonl` has a line for each file: `file`, `expect`
(`must_contain`, `needs_ocr`, `must_refuse`, `empty_no_text`) and `phrase_or_reason`. Memory is the largest sample of
any reader process while a file is added.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from crag.app.application import open_application
from crag.library.library import Library
from crag.types import AddResult

_REFUSED = {"must_refuse": "", "empty_no_text": "no_text"}
_BEST = {1, 2, 3, 4}
_SAMPLE_SECONDS = 0.005


@dataclass(frozen=True)
class Added:
    """One file with its expectation, its result, and the cost in seconds and bytes."""

    file: str
    expect: str
    wanted: str
    result: AddResult
    seconds: float
    memory: int


def main() -> None:
    """Print a line for each file, then how many match the manifest."""
    folder = Path(sys.argv[1])
    entries = [json.loads(line) for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as home:
        application = open_application(home=Path(home))
        try:
            results = [_add(application.library, folder, entry) for entry in entries]
            print(f"{'file':44}{'seconds':>8}{'MB':>6}  result")
            right = [_print(application.library, added) for added in results]
        finally:
            application.close()
    slowest, largest = max(added.seconds for added in results), max(added.memory for added in results)
    print(f"\n{sum(right)} of {len(right)} as expected; slowest {slowest:.1f} s, most memory {largest >> 20} MB")


def _add(library: Library, folder: Path, entry: dict[str, str]) -> Added:
    is_over = threading.Event()
    peak: list[int] = [0]
    watch = threading.Thread(target=_watch_memory, args=(is_over, peak))
    watch.start()
    begun = time.perf_counter()
    [result] = library.pipeline.add(str(folder / entry["file"]))
    seconds = time.perf_counter() - begun
    is_over.set()
    watch.join()
    return Added(entry["file"], entry["expect"], entry["phrase_or_reason"], result, seconds, peak[0])


def _watch_memory(is_over: threading.Event, peak: list[int]) -> None:
    this = psutil.Process()
    while not is_over.wait(_SAMPLE_SECONDS):
        for child in this.children(recursive=True):
            try:
                peak[0] = max(peak[0], child.memory_info().rss)
            except psutil.Error:  # the process has ended
                continue


def _print(library: Library, added: Added) -> bool:
    came, right = _judge(library, added)
    print(f"{Path(added.file).name:44}{added.seconds:>8.2f}{added.memory >> 20:>6}  {'' if right else 'WRONG: '}{came}")
    return right


def _judge(library: Library, added: Added) -> tuple[str, bool]:
    """Return the result in words, and whether it is right: the phrase in one of the four best hits, or the refusal.

    A passage under a heading with the phrase counts too; the printed text says so.
    """
    error = added.result.error
    if added.expect in _REFUSED:
        code = error.code if error else "added"
        return code, code == (_REFUSED[added.expect] or added.wanted)
    if error:
        return f"{error.code}: {error.message}", False
    wanted = _strip_white_space(added.wanted)
    hits = library.search(added.wanted, 10)
    ranks = [n for n, hit in enumerate(hits, 1) if wanted in _strip_white_space(hit.text)]
    headed = [n for n, hit in enumerate(hits, 1) if wanted in _strip_white_space(hit.heading)]
    found = f"in the text of hit {ranks[0]}" if ranks else "in the text of none of 10 hits"
    found += f", in the heading over hit {headed[0]}" if headed and not set(ranks) & _BEST else ""
    return f"{added.result.passages} passages, {found}", bool(_BEST.intersection(ranks + headed))


def _strip_white_space(text: str) -> str:
    """Remove whitespace, which differs at line ends and in scripts without word boundaries."""
    return "".join(text.split())


if __name__ == "__main__":
    main()
