"""Fork server: forks parser children that have all parsers imported."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from crag.ingest.parse.formats import FORMATS

PRELOADED_MODULES = ("crag.ingest.parse.child", "crag.ingest.parse.archive_child")
_IDLE_SECONDS = 60.0


def main() -> None:
    """Serve until the parent has exited, or until no child is left and no request came for a while."""
    for module in PRELOADED_MODULES:
        import_module(module)
    for known in FORMATS:
        known.load_reader()
    children: set[int] = set()
    with socket.socket(fileno=os.dup(0)) as connection:
        while True:
            connection.settimeout(None if children else _IDLE_SECONDS)
            asked, descriptors = _receive_request(connection)
            if not asked:
                return
            if "wait" in asked:
                children.discard(asked["wait"])
                reply = os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1])
            else:
                _import_libraries(json.loads(asked["request"]))
                reply = _fork_child(asked["module"], asked["request"], *descriptors)
                children.add(reply)
            connection.sendall(f"{reply}\n".encode())


def _receive_request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return one request line and the file descriptors sent with it; nothing at the end or on timeout."""
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


def _import_libraries(request: dict[str, Any]) -> None:
    """Import what the parser of this file needs, so that no later child spends its time on that."""
    for known in FORMATS:
        if known.is_likely(request.get("name", ""), request.get("content_type", "")):
            for library in known.libraries:
                with suppress(Exception):  # a child that needs it reports that
                    import_module(library)


def _fork_child(module: str, request: str, file: int, answers: int) -> int:
    """Fork a child in its own process group that reads `file` and writes to `answers`; return its process id."""
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            os.dup2(file, 0)
            os.dup2(answers, 1)
            os.closerange(3, max(file, answers) + 1)
            sys.stdin, sys.argv = open(0), [module, request]  # noqa: SIM115 — stays open for the life of the process
            import_module(module).main()
            os._exit(0)
        finally:
            os._exit(1)
    with suppress(OSError):  # the child did it already, and may have exited
        os.setpgid(child, child)
    os.close(file)
    os.close(answers)
    return child


if __name__ == "__main__":
    main()
