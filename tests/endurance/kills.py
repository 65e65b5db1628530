"""Kill working processes at random moments and check that everything they acknowledged is there and whole.

`python -m tests.endurance.kills 500 [SEED]` prints how many kills there were and what was lost. With a third argument,
the number of processes, these share one PostgreSQL database, whose server crashes now and then.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from sqlalchemy import Select, func, select

from crag.app.application import Application
from crag.storage.tables import jobs, runs
from tests.crashing import Forked
from tests.doubles.postgres import crash_server, home_url, postgres_server
from tests.endurance.ledger import Ledger
from tests.endurance.mixed_work import open_home

MIXED_WORK = """
import sys
from pathlib import Path
from tests.endurance.mixed_work import main
main(Path(sys.argv[1]), *sys.argv[2:])
"""
LONGEST_SECONDS = 2.0
_KILLS_PER_CHECK, _KILLS_PER_CRASH = 10, 25
_LONGEST_OUTAGE = 6.0

Known = dict[str, tuple[str, int]]  # id and version of each document


def kill_often(folder: Path, kills: int, seed: int) -> Ledger:
    """So many processes at work on one home, each killed; the home is checked after each."""
    chance = random.Random(seed)
    ledger, known = Ledger(), {}
    for number in range(kills):
        ledger.read(_kill(start_work(known, folder / "home", f"{seed}-{number}", f"k{number}"), chance))
        with closing(open_home(folder / "home")) as application:
            known = ledger.check(application)
            if chance.random() < 0.5:  # else the next worker finds an index that is behind, or none
                application.library.save()
        if number % 25 == 24:
            print(f"{number + 1} kills, {ledger.deeds} deeds acknowledged, {len(known)} documents", flush=True)
    return ledger


@dataclass
class Replicas:
    """Processes at work on one PostgreSQL database, each with a folder of its own, and one that watches them.

    `seconds` is the longest time that runs and jobs of a killed process stayed its own.
    """

    folder: Path
    server: Path
    address: str
    count: int
    seed: int
    ledger: Ledger = field(default_factory=Ledger)
    seconds: dict[str, float] = field(default_factory=lambda: {"runs": 0.0, "jobs": 0.0})
    crashes: int = 0

    def kill_often(self, kills: int) -> None:
        """Kill one of the processes after the other and start it again; check the database every ten kills."""
        chance, url = random.Random(self.seed), home_url(self.address, self.folder)
        known: Known = {}
        for killed in range(kills):
            if killed % _KILLS_PER_CHECK == 0:
                shares = [
                    {n: known[n] for n in known if crc32(n.encode()) % self.count == s} for s in range(self.count)
                ]
                processes = [self._start(shares[slot], slot, f"{killed}s", url) for slot in range(self.count)]
                watching = open_home(self.folder / "watching", url)
                watching.jobs.resume()
            if killed % _KILLS_PER_CRASH == _KILLS_PER_CRASH - 1:
                how = chance.choice((signal.SIGQUIT, signal.SIGKILL))
                crash_server(self.server, chance.random() * _LONGEST_OUTAGE, how)
                self.crashes += 1
            slot = chance.randrange(self.count)
            lines = _kill(processes[slot], chance)
            killed_at = time.monotonic()
            self.ledger.read(lines)
            processes[slot] = self._start({}, slot, f"{killed}k", url)
            self._measure(watching, lines, killed_at)
            if killed % _KILLS_PER_CHECK == _KILLS_PER_CHECK - 1 or killed == kills - 1:
                for process in processes:
                    with process:
                        self.ledger.read(process.communicate(None)[0].splitlines(keepends=True))
                with closing(watching):
                    known = self.ledger.check(watching)
                print(f"{killed + 1} kills, {self.ledger.deeds} deeds, {len(known)} documents", flush=True)

    def _start(self, known: Known, slot: int, name: str, url: str) -> Forked:
        return start_work(known, self.folder / f"home-{slot}", f"{self.seed}-{name}-{slot}", f"{name}{slot}", url)

    def _measure(self, watching: Application, lines: list[str], killed_at: float) -> None:
        """Wait until nothing is left that a killed process owned, and note how long it took."""
        owner = next((json.loads(line)[1] for line in lines if line.startswith('["owner"')), None)
        left = {
            "runs": select(func.count()).where(runs.c.state == "running", runs.c.owner == owner),
            "jobs": select(func.count()).where(jobs.c.state == "working", jobs.c.owner.startswith(f"{owner}-")),
        }
        for kind, query in left.items() if owner else ():
            while _count(watching, query):
                time.sleep(0.05)
                self.seconds[kind] = max(self.seconds[kind], time.monotonic() - killed_at)


def _count(application: Application, query: Select[tuple[int]]) -> int:
    with application.database.read() as connection:
        return connection.scalar(query) or 0


def start_work(known: Known, *arguments: object) -> Forked:
    """A process at mixed work, which knows these documents."""
    process = Forked(MIXED_WORK, *arguments)
    process.stdin.write(json.dumps(known) + "\n")
    process.stdin.flush()
    return process


def _kill(process: Forked, chance: random.Random) -> list[str]:
    """What the process wrote before it was killed: mostly in the middle of its work, sometimes while it starts."""
    with process:
        lines: list[str] = []
        wanted = chance.choices(('["done"', '["begin"', ""), (7, 2, 1))[0]  # what to wait for
        while wanted and (line := process.stdout.readline()):
            lines.append(line)
            if line.startswith(wanted):
                break
        time.sleep(chance.random() * LONGEST_SECONDS)
        process.kill()
        return lines + process.stdout.readlines()


def main(kills: int, seed: int = 1, processes: int = 0) -> None:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if not processes:
            ledger = kill_often(folder, kills, seed)
        else:
            with (
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as data,
                postgres_server(Path(data)) as address,
            ):
                replicas = Replicas(folder, Path(data), address, processes, seed)
                replicas.kill_often(kills)
            ledger = replicas.ledger
            longest = ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in replicas.seconds.items())
            print(
                f"{replicas.crashes} crashes of the server, {len(ledger.refused)} deeds refused {set(ledger.refused)}"
            )
            print(f"Longest until nothing belonged to a dead process: {longest}")
    print(f"{kills} kills in {time.monotonic() - start:.0f} s: {ledger.deeds} deeds acknowledged.")
    print(f"{len(ledger.asked)} questions. {len(ledger.errors)} lost or torn {ledger.errors[:10]}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
