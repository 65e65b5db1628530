"""Telling a live process from a dead one."""

import os
import subprocess
import sys

import psutil
import pytest

from crag.storage.ownership import current_process_name, is_process_alive


def test_a_reused_process_number_is_not_taken_for_the_owner():
    name = current_process_name()
    assert is_process_alive(name)
    assert is_process_alive(f"{name}-worker")
    assert not is_process_alive(f"{os.getpid()}-1")


def test_a_process_that_ended_is_not_alive():
    command = [
        sys.executable,
        "-c",
        "from crag.storage.ownership import current_process_name; print(current_process_name())",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not is_process_alive(ended.stdout.strip())


@pytest.mark.parametrize("name", ["", "-", "nobody", "1-", "-5-1", f"{2**70}-1"])
def test_what_is_no_name_is_not_alive(name):
    assert not is_process_alive(name)


@pytest.mark.skipif(not psutil.LINUX, reason="elsewhere the system keeps when a process was started")
def test_a_clock_that_is_set_back_kills_nobody(monkeypatch):
    name = current_process_name()
    booted = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: booted - 3_600)
    assert is_process_alive(name)
