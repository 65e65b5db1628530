"""The long trials, for a moment each."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.endurance.crowd import live_with_a_crowd
from tests.endurance.kills import kill_often
from tests.endurance.neighbours import live_together


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_nothing_acknowledged_is_lost_by_kills(tmp_path):
    ledger = kill_often(tmp_path, kills=2, seed=11)
    assert ledger.deeds
    assert ledger.errors == []


def test_several_processes_share_one_home(tmp_path):
    ledger = live_together(tmp_path, seconds=1)
    assert ledger.deeds
    assert ledger.errors == []


def test_people_at_once_see_nothing_of_each_other(tmp_path):
    with ThreadPoolExecutor(1) as alone:  # away from the event loop that Playwright keeps in this thread
        seen = alone.submit(live_with_a_crowd, tmp_path, people=3, seconds=0, comings=4).result()
    assert seen.errors == []
    assert seen.answers == 3
