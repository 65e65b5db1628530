"""Atomic writes: homes that are gone, clocks that jump, and what a power failure leaves."""

import hashlib
import time

import pytest

from crag.errors import HomeFault
from crag.storage.files import Originals, remove_unfinished_files, write_atomically


def test_a_home_that_is_gone_does_not_come_into_being_again(tmp_path):
    home = tmp_path / "home"
    with pytest.raises(HomeFault, match="gone or was replaced"):
        Originals(home).keep(hashlib.sha256(b"tea").hexdigest(), b"tea")
    assert not home.exists()


def test_folders_below_the_root_are_created(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "file", lambda file: file.write(b"tea"), tmp_path)
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"tea"
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b", "file"]


@pytest.mark.parametrize("jump", [-3600, 0, 365 * 24 * 3600])
def test_a_clock_that_jumps_does_not_remove_what_is_being_written(tmp_path, monkeypatch, jump):
    now = time.time()

    def write(file):
        file.write(b"tea")
        monkeypatch.setattr("time.time", lambda: now + jump)
        remove_unfinished_files(tmp_path)

    write_atomically(tmp_path / "a" / "file", write, tmp_path)
    assert (tmp_path / "a" / "file").read_bytes() == b"tea"
