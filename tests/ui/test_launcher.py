"""The launcher: one loopback address, and only under names that belong to it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.served import served

_UPGRADE = (
    "GET /_stcore/stream HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Origin: http://{host}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home: Path = tmp_path_factory.mktemp("home")
    with served(home, OLLAMA_HOST="127.0.0.1:9") as started:
        yield started


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_its_own_names_are_served(address, host):
    port = address.rpartition(":")[2]
    assert httpx.get(address, headers={"Host": f"{host}:{port}"}).status_code == 200
    assert _handshake(int(port), f"{host}:{port}") == "101"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1"])
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/_stcore/host-config", "/documents"])
def test_foreign_names_get_nothing(address, host, path):
    answer = httpx.get(address + path, headers={"Host": host})
    assert answer.status_code == 400
    assert "streamlit" not in answer.text.lower()


def test_foreign_names_get_no_socket(address):
    assert _handshake(int(address.rpartition(":")[2]), "evil.example") in {"400", "403"}


def test_it_listens_on_this_machine_only(address):
    port = int(address.rpartition(":")[2])
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)}
    for other in others - {"127.0.0.1"}:
        if other.startswith("127."):
            continue
        with socket.socket() as probe:
            assert probe.connect_ex((other, port)) != 0


def _handshake(port: int, host: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(_UPGRADE.format(host=host).encode())
        return connection.recv(64).split()[1].decode()
