"""Watched folder of ten thousand files: the first look, what looking costs while nothing happens, and a change.

Nothing is embedded: the files count as applied after the first look.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from crag.ingest.folder_watch import ChangeDetector, FolderRules, FolderScanner, hash_file
from crag.library.watched_folders import LookPace

FILES, PER_FOLDER, LOOKS = 10_000, 100, 32


def main() -> None:
    """Write the files, look at them and print the times."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        root = Path(folder)
        _write_files(root)
        began = time.perf_counter()
        scanner, detector = FolderScanner(root, FolderRules()), ChangeDetector(root)
        look = scanner.look()
        detector.compare(look, {})
        first = time.perf_counter() - began
        began = time.perf_counter()
        known = {path: (*state, hash_file(root / path)) for path, state in look.files.items()}
        hashed = time.perf_counter() - began
        time.sleep(2.5)  # a folder that changed just now is listed again
        spent = []
        for _ in range(LOOKS):
            cpu = time.thread_time()
            detector.compare(scanner.look(), known)
            spent.append(time.thread_time() - cpu)
        pace = LookPace()
        pauses = [pace.next_pause(one) for one in spent]
        share = sum(spent) / sum(pauses)
        print(f"{len(look.files):,} files in {FILES // PER_FOLDER} folders")
        print(f"first look {first:.2f} s, hashing all of them {hashed:.2f} s")
        print(f"idle look: median {statistics.median(spent) * 1000:.0f} ms, most {max(spent) * 1000:.0f} ms of a core")
        print(f"looks every {statistics.median(pauses):.1f} s, at most {max(pauses):.1f} s: {share:.2%} of a core")
        (root / "17" / "new.txt").write_text("new")
        began = time.perf_counter()
        scanner.look()
        print(f"a look after a change {time.perf_counter() - began:.2f} s")


def _write_files(root: Path) -> None:
    for number in range(FILES):
        folder = root / str(number // PER_FOLDER)
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_text(f"Report {number}: the lift was serviced. " * 50)
