"""The long trials, for a moment each."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.endurance.crowd import live_with_a_crowd
from tests.endurance.kills import kill_often, start_work
from tests.endurance.ledger import Ledger
from tests.endurance.mixed_work import open_home


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_nothing_acknowledged_is_lost_by_kills(tmp_path):
    ledger = kill_often(tmp_path, kills=1, seed=11)
    assert ledger.deeds
    assert ledger.errors == []


def test_several_processes_share_one_home(tmp_path):
    ledger = Ledger()
    with closing(open_home(tmp_path / "home")) as application:
        workers = [start_work({}, tmp_path / "home", str(n), f"w{n}") for n in range(2)]
        for worker in workers:
            lines = []
            for line in iter(worker.stdout.readline, ""):
                lines.append(line)
                if line.startswith('["done"'):
                    break
            ledger.read(lines + worker.communicate(None)[0].splitlines(keepends=True))
        ledger.check(application)
    assert ledger.deeds
    assert ledger.errors == []


def test_people_at_once_see_nothing_of_each_other(tmp_path):
    with ThreadPoolExecutor(1) as alone:  # away from the event loop that Playwright keeps in this thread
        seen = alone.submit(live_with_a_crowd, tmp_path, people=3, seconds=0, comings=4).result()
    assert seen.errors == []
    assert seen.answers == 3
