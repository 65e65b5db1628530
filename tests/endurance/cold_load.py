"""A model that takes minutes to load: what is shown meanwhile, and that the answer comes.

`python -m tests.endurance.cold_load 90` prints the messages shown, second by second, and how it ended.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from crag.app.application import open_application
from crag.cancellation import Wait
from crag.options import RunOptions
from crag.runs.trace import Trace
from crag.settings import Settings
from tests.doubles.ollama import ScriptedOllama
from tests.doubles.ollama_values import LLAMA

NOTES = b"After two failed recordings the fragment is blacklisted, which means it is never recorded again."
_LOOKS_A_SECOND = 4


@dataclass
class ColdLoad:
    """Return the messages shown while the model loaded, with the seconds waited, and how the question ended."""

    waits: list[tuple[Wait, float]] = field(default_factory=list)
    trace: Trace = field(default_factory=Trace)


def load_slowly(home: Path, seconds: float) -> ColdLoad:
    """Asks a question of a model that is not in memory and takes so many seconds to get there."""
    seen = ColdLoad()
    with ScriptedOllama() as ollama:
        ollama.memory.load_seconds = seconds
        application = open_application(Settings(home=home, ollama_host=ollama.url, embedder="builtin"))
        application.library.pipeline.add_bytes("traces.md", NOTES)
        options = RunOptions(model=f"ollama:{LLAMA.name}", grader="score")
        run = application.runs.start(None, "When is a fragment blacklisted?", options)
        while not run.ended:
            if told := run.current_wait():
                seen.waits.append((told, time.monotonic() - told.since))
            time.sleep(1 / _LOOKS_A_SECOND)
        seen.trace.apply_all(event for _, event in run.follow())
        application.close()
    return seen


def main(seconds: float) -> None:
    """Print the messages that a user sees."""
    with tempfile.TemporaryDirectory() as folder:
        seen = load_slowly(Path(folder), seconds)
    for told, waited in seen.waits[::_LOOKS_A_SECOND]:
        print(f"{told.kind} {told.model}, {waited:.0f} s so far")
    print(f"{seen.trace.state} after {seen.trace.seconds:.1f} s: {seen.trace.text or seen.trace.error}")


if __name__ == "__main__":
    main(float(sys.argv[1]))
