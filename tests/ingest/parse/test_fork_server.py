"""Processes from the fork server: each fresh, each killed with its children, and never waited for in vain."""

from __future__ import annotations

import json
import os
import signal

import psutil
import pytest

from crag.ingest.parse import child_process
from crag.ingest.parse.child_process import ForkServer
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
CHILD = """
import json, os, subprocess, sys, time
def main():
    task = json.loads(sys.argv[1])
    if "start" in task:
        print(subprocess.Popen(["sleep", "60"]).pid, flush=True)
        time.sleep(60)
    sys.stdin.buffer.seek(0)
    seen = getattr(sys, "seen", 0)
    sys.seen = seen + 1
    imported = [name for name in ("markdown_it", "pptx") if name in sys.modules]
    print(json.dumps([seen, sys.stdin.buffer.read().decode(), os.listdir("/proc/self/fd"), imported]), flush=True)
    if "exit" in task:
        sys.exit(3)
"""


@pytest.fixture
def server(tmp_path, monkeypatch):
    """One that can also import the child above."""
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "file.txt").write_text("content")
    monkeypatch.setattr(child_process, "_INHERITED_VARIABLES", ("PYTHONSTARTUP",))
    monkeypatch.setattr(child_process, "_PROJECT_ROOT", f"{child_process._PROJECT_ROOT}{os.pathsep}{tmp_path}")
    opened = ForkServer(child_process._fork_server._launch)
    yield opened
    opened._end()


def test_children_read_the_file_and_know_nothing_of_each_other(server, tmp_path):
    for _ in range(2):
        with (tmp_path / "file.txt").open("rb") as file, server.fork("child", "{}", file) as child:
            seen, content, files, _ = json.loads(child.stdout.read())
            assert (seen, content) == (0, "content")
            assert len(files) <= 4, "standard streams and the folder that is listed"
        assert child.wait() == 0


def test_children_need_not_import_the_libraries_of_a_format_that_was_read(server, tmp_path):
    imported = []
    for name in ("a.txt", "a.md", "a.txt"):
        with (
            (tmp_path / "file.txt").open("rb") as file,
            server.fork("child", json.dumps({"name": name}), file) as child,
        ):
            imported.append(json.loads(child.stdout.read())[-1])
    assert imported == [[], ["markdown_it"], ["markdown_it"]]


def test_a_child_that_fails_says_so_and_the_next_one_works(server, tmp_path):
    with (tmp_path / "file.txt").open("rb") as file:
        with server.fork("child", '{"exit": true}', file) as child:
            assert child.stdout.read()
        assert child.wait() == 1
        with server.fork("child", "{}", file) as child:
            assert child.stdout.read()


def test_killing_takes_what_the_child_started(server, tmp_path):
    with (tmp_path / "file.txt").open("rb") as file, server.fork("child", '{"start": true}', file) as child:
        started = int(child.stdout.readline())
        child.kill()
    assert child.wait() == -signal.SIGKILL
    wait_until(lambda: not psutil.pid_exists(started) or psutil.Process(started).status() == "zombie")
    child.kill()


def test_a_server_that_died_is_replaced(server, tmp_path):
    with (tmp_path / "file.txt").open("rb") as file:
        with server.fork("child", "{}", file) as child:
            assert child.stdout.read()
        orphan = server.fork("child", "{}", file)
        assert server._process
        server._process.kill()
        server._process.wait()
        with server.fork("child", "{}", file) as child:
            assert child.stdout.read()
        with orphan:
            pass
        assert orphan.wait() == -signal.SIGKILL
