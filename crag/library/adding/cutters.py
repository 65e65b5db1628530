"""Cuts documents in processes of their own: it is all Python, of which a process runs one thread at a time.

They see no foreign file, only what the parser made of it, and live as long as there is work. The process that is the
application starts them as a module, for `multiprocessing` would import its main module in each, which is a page.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, Any

import crag
from crag.errors import SourceRefused
from crag.library.adding.cutting import Cut, cut
from crag.library.adding.split import CountTokens
from crag.library.parse.document import Document
from crag.stopping import Stop

_PROCESSES = 2
_WORTH_A_START = 1_000_000  # characters; starting a process takes as long as cutting them
_WAIT_SECONDS = 0.1


class Cutters:
    """Cuts on the spot until it pays to start processes. Safe to share between threads."""

    def __init__(self, count_tokens: CountTokens) -> None:
        """`count_tokens` as in `split`; only a function of a module can be used by other processes."""
        self._count_tokens = count_tokens
        self._name = f"{count_tokens.__module__}:{getattr(count_tokens, '__qualname__', '<')}"
        self._places = threading.Semaphore(_PROCESSES)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._seen = 0

    def cut(self, document: Document, stop: Stop) -> Cut:
        """Its chunks with their terms. Raises `Stopped`, and `SourceRefused` when the process that cuts dies."""
        self._seen += sum(len(block.text) for block in document.blocks)
        if self._seen < _WORTH_A_START or "<" in self._name:
            return cut(document, self._stoppable(stop))
        with self._process(stop) as process:
            return process.cut(document, stop)

    def rest(self) -> None:
        """Ends what has nothing to do; the next large document starts anew."""
        with self._lock:
            idle, self._idle, self._seen = self._idle, [], 0
        for process in idle:
            process.end()

    def _stoppable(self, stop: Stop) -> CountTokens:
        def count_tokens(text: str) -> int:
            stop.check()  # cutting counts all the time, which makes this the place where it can be stopped
            return self._count_tokens(text)

        return count_tokens

    @contextmanager
    def _process(self, stop: Stop) -> Iterator[_Process]:
        """A process for one document; whatever goes wrong with it, no other document sees it again."""
        while not self._places.acquire(timeout=_WAIT_SECONDS):
            stop.check()
        try:
            with self._lock:
                process = self._idle.pop() if self._idle else _Process(self._name)
            try:
                yield process
            except BaseException:
                process.end()
                raise
            with self._lock:
                self._idle.append(process)
        finally:
            self._places.release()


class _Process:
    """One process that cuts, asked and answering in lines of JSON."""

    def __init__(self, counter: str) -> None:
        path = os.pathsep.join(filter(None, [str(Path(crag.__file__).parent.parent), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(  # noqa: S603 — our own module, no shell
            [sys.executable, "-P", "-m", __name__, counter],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the application
        )

    def cut(self, document: Document, stop: Stop) -> Cut:
        """See `Cutters.cut`."""
        assert self._process.stdin  # noqa: S101 — opened as pipes
        assert self._process.stdout  # noqa: S101
        with stop.breaking(self._process.kill):
            try:
                _write(self._process.stdin, document.as_json())
                done = Cut.from_json(json.loads(self._process.stdout.readline()))
            except (OSError, ValueError) as error:  # a line that breaks off is no JSON
                stop.check()
                raise _died() from error
        stop.check()  # once stopped it is no more, even if it was done
        return done

    def end(self) -> None:
        """Harmless when it has ended."""
        self._process.kill()
        with suppress(OSError), self._process:  # what it did not read cannot be written any more
            pass


def _died() -> SourceRefused:
    what = "The process that cuts documents into passages ended before it was done, perhaps for want of memory."
    return SourceRefused("too_large", what, "Add it again; if that does not help, split it and add the parts.")


def main() -> None:
    """Cut what comes until nobody is there any more."""
    count_tokens: CountTokens = resolve_name(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    with suppress(OSError):
        for line in sys.stdin.buffer:
            _write(answers, cut(Document.from_json(json.loads(line)), count_tokens).as_json())


def _write(to: IO[bytes], value: dict[str, Any]) -> None:
    to.write(json.dumps(value).encode() + b"\n")
    to.flush()


if __name__ == "__main__":
    main()
