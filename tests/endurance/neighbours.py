"""Two servers, two workers and the command line on one home at once, for minutes: what went wrong?

`python -m tests.endurance.neighbours 600` prints how much was done, every error, and whether the library holds what it
must.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.crashing import Forked
from tests.endurance.ledger import Ledger
from tests.endurance.mixed_work import open_home, text_of
from tests.forked import forked
from tests.waiting import PATIENCE, wait_until

BUILT_IN = {"CRAG_EMBEDDER": "builtin", "CRAG_CHAT_MODEL": "builtin"}
COMMAND = f"""
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from crag.cli.main import main
os.environ.update({BUILT_IN})
with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as errors:
    code = main(sys.argv[1:])
print(json.dumps([code, printed.getvalue(), errors.getvalue()]))
"""
MIXED_WORK = """
import sys
from pathlib import Path
from tests.endurance.mixed_work import main
with open(sys.argv[4], "w") as sys.stdout:
    main(Path(sys.argv[1]), *sys.argv[2:4])
"""


class CommandLine:
    """Adds, searches, lists and removes documents of its own, a process each time; tells what it did as workers do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._chance = random.Random(3)
        self._ids: dict[str, str] = {}
        self.lines: list[str] = []

    def run(self, until: threading.Event) -> None:
        """One command after the other."""
        number = 0
        while not until.is_set():
            number += 1
            remove = bool(self._ids) and self._chance.random() < 0.3
            name = self._chance.choice(sorted(self._ids)) if remove else f"c{number}"
            deed = {"kind": "remove" if remove else "add", "name": name, "version": 1, "size": 3}
            self._tell("begin", number, deed)
            self._tell("done", number, deed, self._remove(name) if remove else self._add(name, deed))
            self._command("search", "river stone", "-k", "3")
            self._command("list")

    def _add(self, name: str, deed: dict[str, Any]) -> dict[str, Any]:
        file = self._folder / "files" / f"{name}.txt"
        file.write_text(text_of(name, deed["version"], deed["size"]))
        answer = self._command("add", str(file))
        if "error" in answer or answer["sources"][0]["error"]:
            return {"error": json.dumps(answer)}
        self._ids[name] = answer["sources"][0]["id"]
        return {"status": answer["sources"][0]["status"]}

    def _remove(self, name: str) -> dict[str, Any]:
        answer = self._command("remove", self._ids.pop(name))
        return {"error": json.dumps(answer)} if "error" in answer else {"removed": 1}

    def _command(self, *arguments: str) -> dict[str, Any]:
        with Forked(COMMAND, *arguments, "--home", self._folder / "home", "--json") as process:
            code, printed, errors = json.loads(process.communicate(PATIENCE)[0])
        answer: dict[str, Any] = json.loads(printed)
        if code or errors.strip():
            self._tell("begin", "odd", {"kind": arguments[0], "name": "-"})
            self._tell("done", "odd", {"kind": arguments[0], "name": "-"}, {"error": printed + errors})
        return answer

    def _tell(self, *line: Any) -> None:
        self.lines.append(json.dumps(line) + "\n")


def live_together(folder: Path, seconds: float) -> Ledger:
    """All of them at work for so long since each worker has done something; the library holds what was acknowledged."""
    home = folder / "home"
    (folder / "files").mkdir()
    open_home(home).close()
    command_line, until = CommandLine(folder), threading.Event()
    ledger = Ledger()
    with ExitStack() as servers:
        for _ in range(2):
            servers.enter_context(forked(home, **BUILT_IN))
        outputs = [folder / f"worker-{n}.jsonl" for n in range(2)]
        workers = [_start(home, str(n), output) for n, output in enumerate(outputs)]
        thread = threading.Thread(target=command_line.run, args=(until,))
        thread.start()
        wait_until(lambda: all('["done"' in output.read_text() for output in outputs))
        time.sleep(seconds)
        until.set()
        thread.join()
        for worker in workers:
            worker.communicate(PATIENCE)
    for lines in [command_line.lines, *(output.read_text().splitlines(keepends=True) for output in outputs)]:
        ledger.read(lines)
    application = open_home(home)
    try:
        ledger.check(application)
    finally:
        application.close()
    return ledger


def _start(home: Path, name: str, output: Path) -> Forked:
    output.touch()
    process = Forked(MIXED_WORK, home, name, f"w{name}", output)
    process.stdin.write("{}\n")
    process.stdin.flush()
    return process


def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = live_together(Path(folder), seconds)
    held = sum(state != {None} for state in ledger.may_hold.values())
    print(f"{ledger.deeds} deeds in {seconds:.0f} s, {held} documents at the end.")
    print(f"{len(ledger.errors)} not as acknowledged {ledger.errors[:10]}")


if __name__ == "__main__":
    main(float(sys.argv[1]))
