"""The process that has all readers imported and forks one child for each file: that takes 3 ms, a new process 90.

It never sees a file itself, so a child is as fresh as a process of its own. It is asked over its standard input, a
socket: `{"module": …, "request": …}` with the file and a pipe for the answers, then `{"wait": pid}`; it replies with
a number. A child that ended keeps its number until it is waited for: it can be killed without hitting another.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

READERS = ("crag.library.parse.child", "crag.library.parse.unpack")
_IDLE_SECONDS = 60.0


def main() -> None:
    """Serve until the parent has gone, or has asked nothing for a while and no child is left."""
    for module in READERS:
        import_module(module)
    children: set[int] = set()
    with socket.socket(fileno=os.dup(0)) as connection:
        while True:
            connection.settimeout(None if children else _IDLE_SECONDS)
            asked, descriptors = _receive(connection)
            if not asked:
                return
            if "wait" in asked:
                children.discard(asked["wait"])
                reply = os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1])
            else:
                reply = _fork(asked["module"], asked["request"], *descriptors)
                children.add(reply)
            connection.sendall(f"{reply}\n".encode())


def _receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """One line and the open files that came with it; nothing at the end or after too long a silence."""
    received, descriptors = b"", []
    while not received.endswith(b"\n"):
        try:
            part, files, _, _ = socket.recv_fds(connection, 65_536, 2)
        except TimeoutError:
            return {}, []
        if not part:
            return {}, []
        received += part
        descriptors += files
    return json.loads(received), descriptors


def _fork(module: str, request: str, file: int, answers: int) -> int:
    """The number of a child in a group of its own that reads `file` and writes to `answers`."""
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            os.dup2(file, 0)
            os.dup2(answers, 1)
            os.closerange(3, max(file, answers) + 1)
            sys.stdin, sys.argv = open(0), [module, request]  # noqa: SIM115 — open as long as the process lives
            import_module(module).main()
            os._exit(0)
        finally:
            os._exit(1)
    with suppress(OSError):  # the child has done it, and may have ended since
        os.setpgid(child, child)
    os.close(file)
    os.close(answers)
    return child


if __name__ == "__main__":
    main()
