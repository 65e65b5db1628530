"""The long trials, for a moment each."""

import os

import pytest

from tests.endurance.kills import kill_often
from tests.endurance.neighbours import live_together


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_nothing_acknowledged_is_lost_by_kills(tmp_path):
    ledger = kill_often(tmp_path, kills=2, seed=11)
    assert ledger.deeds
    assert ledger.errors == []


def test_several_processes_on_one_home_do_not_get_in_each_others_way(tmp_path):
    ledger = live_together(tmp_path, seconds=1)
    assert ledger.deeds
    assert ledger.errors == []
