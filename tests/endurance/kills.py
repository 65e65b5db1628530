"""Kill a working process at random moments and check that everything it acknowledged is there and whole.

`python -m tests.endurance.kills 500 [SEED]` prints how many kills there were and what was lost.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

from crag.app.application import open_application
from crag.settings import Settings
from tests.crashing import Forked
from tests.endurance.ledger import Ledger

MIXED_WORK = """
import sys
from pathlib import Path
from tests.endurance.mixed_work import main
main(Path(sys.argv[1]), *sys.argv[2:])
"""
LONGEST_SECONDS = 2.0


def kill_often(folder: Path, kills: int, seed: int) -> Ledger:
    """So many processes at work on one home, each killed; the home is checked after each."""
    chance = random.Random(seed)
    ledger, known = Ledger(), {}
    for number in range(kills):
        ledger.read(_work_until_killed(folder / "home", f"{seed}-{number}", f"k{number}", known, chance))
        application = open_application(Settings(home=folder / "home", chat_model="builtin", embedder="builtin"))
        try:
            known = ledger.check(application.library)
            if chance.random() < 0.5:  # else the next worker finds an index that is behind, or none
                application.library.save()
        finally:
            application.close()
        if number % 25 == 24:
            print(f"{number + 1} kills, {ledger.deeds} deeds acknowledged, {len(known)} documents", flush=True)
    return ledger


def _work_until_killed(
    home: Path, seed: str, own: str, known: dict[str, tuple[str, int]], chance: random.Random
) -> list[str]:
    """What the process wrote before it was killed: mostly in the middle of its work, sometimes while it starts."""
    with Forked(MIXED_WORK, home, seed, own) as process:
        process.stdin.write(json.dumps(known) + "\n")
        process.stdin.flush()
        lines: list[str] = []
        wanted = chance.choices(('["done"', '["begin"', ""), (7, 2, 1))[0]  # what to wait for
        while wanted and not (lines and lines[-1].startswith(wanted)):
            lines.append(process.stdout.readline())
        time.sleep(chance.random() * LONGEST_SECONDS)
        process.kill()
        return lines + process.stdout.readlines()


def main(kills: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        ledger = kill_often(Path(folder), kills, seed)
    print(f"{kills} kills in {time.monotonic() - start:.0f} s: {ledger.deeds} deeds acknowledged.")
    print(f"{len(ledger.errors)} lost or torn {ledger.errors[:10]}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
