"""A proxy before a local server whose connections can be cut for a while."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

from tests.served import free_port


class TcpProxy:
    """Forwards a port to another one. A cut closes all connections and lets nobody through until `restore`."""

    def __init__(self, address: str) -> None:
        """Forward to a server of this machine, such as `http://127.0.0.1:8501`."""
        self._target = ("127.0.0.1", int(address.rpartition(":")[2]))
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._is_cut = False
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        """Close all connections and let nobody through."""
        with self._lock:
            self._is_cut = True
            for end in self._ends:
                _close(end)
            self._ends.clear()

    def restore(self) -> None:
        """Let everybody through again."""
        with self._lock:
            self._is_cut = False

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        with self._lock:
            if self._is_cut:
                near.close()
                return
            far = socket.create_connection(self._target)
            self._ends |= {near, far}
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=_forward, args=(source, target), daemon=True).start()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    _close(source)
    _close(target)


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
