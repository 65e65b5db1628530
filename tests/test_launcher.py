"""The launcher: one loopback address, served only under its own host names."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import httpx
import psutil
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from crag.server.browser_identity import FORMER_COOKIE, LOGIN_COOKIE
from crag.server.connections import ServerConfig
from crag.storage.api_tokens import SCOPES, ApiTokens
from crag.storage.engine import Database
from tests.crashing import Forked
from tests.doubles.postgres import home_url
from tests.forked import forked
from tests.served import free_port, served, socket_path
from tests.waiting import PATIENCE, wait_until

_UPGRADE = (
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Origin: http://{host}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with served(home, OLLAMA_HOST="127.0.0.1:9") as started:
        yield started


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server without the API and with metrics; its address and its home."""
    home = tmp_path_factory.mktemp("switched")
    with forked(home, OLLAMA_HOST="127.0.0.1:9", CRAG_API="off", CRAG_METRICS="on") as started:
        yield started, home


@pytest.fixture(scope="module")
def secret(home: Path, address: str) -> str:
    """Of a token for the server at the address."""
    wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)
    with closing(Database(home)) as database:
        return ApiTokens(database).make("test", SCOPES)[1]


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


def test_a_program_with_a_token_uses_the_api(address, secret):
    for own in ({}, {"Origin": address}, {"Sec-Fetch-Site": "same-origin"}):
        reply = httpx.get(f"{address}/api/v1/collections", headers=own | {"Authorization": f"Bearer {secret}"})
        assert reply.status_code == 200
        assert reply.headers.keys().isdisjoint({"set-cookie", "access-control-allow-origin"})


@pytest.mark.parametrize(
    "foreign",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},  # another port
        {"Host": "evil.example"},
    ],
)
@pytest.mark.parametrize("path", ["/v1/models", "/api/v1/collections", "/api/v1/openapi.json"])
def test_a_page_from_elsewhere_cannot_use_the_api_even_with_a_token(address, secret, path, foreign):
    headers = foreign | {"Authorization": f"Bearer {secret}"}
    replies = [httpx.request(method, address + path, headers=headers) for method in ("GET", "POST", "OPTIONS")]
    assert {reply.status_code for reply in replies} == {400 if "Host" in foreign else 403}
    for reply in replies:
        assert "access-control-allow-origin" not in reply.headers
        assert not reply.headers["content-type"].startswith("application/json")


def test_cookies_open_nothing_of_the_api(address, secret):
    cookies = "; ".join(f"{name}={secret}" for name in ("Authorization", LOGIN_COOKIE, FORMER_COOKIE, "token"))
    for path in ("/v1/models", "/api/v1/collections"):
        assert httpx.get(address + path, headers={"Cookie": cookies}).status_code == 401


def test_the_api_can_be_switched_off(switched):
    address, home = switched
    wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)
    with closing(Database(home)) as database:
        headers = {"Authorization": f"Bearer {ApiTokens(database).make('test', SCOPES)[1]}"}
    for path in ("/v1/models", "/api/v1/collections", "/api/v1/openapi.json"):
        assert "json" not in httpx.get(address + path, headers=headers).headers["content-type"]
    body = {"model": "crag", "messages": [{"role": "user", "content": "Why?"}]}
    assert httpx.post(f"{address}/v1/chat/completions", json=body, headers=headers).status_code == 405


def test_a_watcher_reaches_health_and_readiness_under_any_name(address):
    wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)  # the home is opened in the background
    for path, word in (("/healthz", "alive\n"), ("/readyz", "ready\n")):
        answer = httpx.get(
            address + path, headers={"Host": "10.0.0.1", "Accept": "text/html", "Sec-Fetch-Site": "none"}
        )
        assert (answer.status_code, answer.text) == (200, word)
        assert "set-cookie" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"
        assert httpx.post(address + path).status_code == 405


def test_a_server_without_its_database_lives_but_is_not_ready(tmp_path):
    home = tmp_path / "home"
    with forked(home, OLLAMA_HOST="127.0.0.1:9") as address:
        wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)
        home.rename(tmp_path / "moved")
        wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 503)
        assert httpx.get(f"{address}/healthz").status_code == 200
        (tmp_path / "moved").rename(home)
        wait_until(lambda: httpx.get(f"{address}/readyz").status_code == 200)


def test_metrics_are_served_only_where_they_were_switched_on(address, switched):
    assert "crag_" not in httpx.get(f"{address}/metrics").text
    counting, _ = switched
    assert "crag_questions_active 0.0" in httpx.get(f"{counting}/metrics", headers={"Host": "10.0.0.1"}).text


def test_foreign_names_get_no_socket(address):
    assert _handshake(int(address.rpartition(":")[2]), "evil.example") in {"400", "403"}


def test_a_file_put_straight_to_the_upload_address_is_refused(address):
    place = f"{address}/_stcore/upload_file/00000000-0000-4000-8000-000000000000/00000000-0000-4000-8000-000000000001"
    answer = httpx.put(place, files={"file": ("a.pdf", b"MZ\x90\0")})
    assert 400 <= answer.status_code < 500


def test_nothing_listens_beyond_this_machine(address):
    assert _listening(_server_of(address)) == {"127.0.0.1"}
    with socket.create_server(("", 0)):
        assert _listening(psutil.Process()) - {"127.0.0.1"}, "else nothing would be found at all"


def test_thousands_of_connections_leave_nothing_behind(address):
    place, server = ("127.0.0.1", int(address.rpartition(":")[2])), _server_of(address)
    for _ in range(15):
        clients = [socket.create_connection(place) for _ in range(200)]
        for number, client in enumerate(clients):
            client.sendall(_UPGRADE[: number % 100].encode())
        for client in clients:
            client.close()
    wait_until(lambda: {one.status for one in server.net_connections("tcp4")} == {psutil.CONN_LISTEN})
    assert httpx.get(address).status_code == 200


def _server_of(address: str) -> psutil.Process:
    """The process that serves this address."""
    port = int(address.rpartition(":")[2])
    children = (one for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE)
    return next(one for one in children if port in {place.laddr.port for place in one.net_connections("inet")})


def _listening(process: psutil.Process) -> set[str]:
    """The addresses on which the process and those that it has started listen."""
    connections = [one for each in (process, *process.children(recursive=True)) for one in each.net_connections("inet")]
    return {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN}


def test_limits_apply_that_streamlit_leaves_open(address):
    """What each of them does is tested with lower ones; this one needs no waiting."""
    path = socket_path(httpx.get(address, headers={"Accept": "text/html"}).text)
    with connect(f"{address.replace('http', 'ws')}{path}", origin=address, compression=None) as tab:
        with suppress(ConnectionClosed):  # it may be closed before all is sent
            tab.send(bytes(ServerConfig.message_bytes + 1))
        with pytest.raises(ConnectionClosed) as closed:
            tab.recv(timeout=PATIENCE)
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1009  # or a reset, which overtakes the code


def _handshake(port: int, host: str) -> str:
    path = socket_path(httpx.get(f"http://127.0.0.1:{port}", headers={"Accept": "text/html"}).text)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(_UPGRADE.format(host=host, path=path).encode())
        return connection.recv(64).split()[1].decode()


@pytest.mark.postgres
def test_a_page_of_one_process_reaches_the_websocket_of_another_on_the_same_database(tmp_path, postgres):
    url = home_url(postgres, tmp_path)
    common = {"CRAG_DATABASE_URL": url, "OLLAMA_HOST": "127.0.0.1:9"}
    with forked(tmp_path / "a", **common) as first, forked(tmp_path / "b", **common) as second:
        path = socket_path(httpx.get(first, headers={"Accept": "text/html"}).text)
        for address in (first, second):
            with connect(f"{address.replace('http', 'ws')}{path}", origin=address):
                pass


def refuse_to_start(folder: Path, port: int = 0) -> str:
    """What the launcher says in this folder instead of serving."""
    code = """
import launcher, os, sys
os.chdir(sys.argv[1])
sys.stderr = sys.stdout
sys.stdout.write(str(launcher.main(["--port", sys.argv[2]])))
"""
    with Forked(code, folder, port or free_port()) as process:
        said, _ = process.communicate(PATIENCE)
    assert said[-1] == "1"
    assert "Traceback" not in said
    return said


def test_a_database_that_does_not_answer_is_said_at_the_start(tmp_path, monkeypatch):
    monkeypatch.setenv("CRAG_DATABASE_URL", "postgresql://user:secret@127.0.0.1:9/crag")
    monkeypatch.setenv("CRAG_HOME", str(tmp_path))
    said = refuse_to_start(tmp_path)
    assert "The database does not answer" in said
    assert "secret" not in said


def test_a_timer_of_a_part_that_is_gone_leaves_the_console_quiet(tmp_path):
    console = tmp_path / "console"
    with forked(tmp_path / "home", console=console, OLLAMA_HOST="127.0.0.1:9") as address:
        path = socket_path(httpx.get(address, headers={"Accept": "text/html"}).text)
        timer, page = BackMsg(), BackMsg()
        timer.rerun_script.fragment_id = "gone"
        page.rerun_script.query_string = ""
        with connect(f"{address.replace('http', 'ws')}{path}", origin=address, compression=None) as tab:
            for message in (timer, page):
                tab.send(message.SerializeToString())
            assert tab.recv(timeout=PATIENCE)
    lines = console.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"CRAG Chat is at {address}"
    assert not [line for line in lines if "fragment" in line]


def test_a_port_in_use_is_told_in_words(tmp_path, monkeypatch):
    monkeypatch.setenv("CRAG_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"Port {port} is in use" in refuse_to_start(tmp_path, port)


def test_the_language_of_the_terminal_is_not_that_of_the_server(tmp_path):
    code = """
import os, sys, types, launcher
from crag.translation import current_language
print_language = lambda config: print(current_language())
launcher.create_app = lambda *_: types.SimpleNamespace(run=print_language)
os.environ |= {"CRAG_LANGUAGE": "ko", "CRAG_HOME": sys.argv[1]}
launcher.main(["--port", sys.argv[2]])
"""
    with Forked(code, tmp_path, free_port()) as process:
        greeting, language = process.communicate(PATIENCE)[0].splitlines()
    assert greeting.startswith("CRAG Chat")
    assert not greeting.isascii()
    assert language == "en"


def test_the_log_shows_no_key_no_path_and_nothing_that_controls_a_terminal():
    code = r"""
import launcher, logging, sys
sys.stderr = sys.stdout
launcher.configure_log()
launcher.ServerConfig(lambda: None)
log, server_log = logging.getLogger("crag.test"), logging.getLogger("uvicorn.error")
log.warning("Could not read %s", "\x1b[2J\x9b31mred\x07\u202e.pdf")
try:
    raise ValueError("sk-secret in /home/somebody")
except ValueError:
    log.exception("It failed")
    server_log.exception("Exception in ASGI application")
"""
    with Forked(code) as process:
        said, _ = process.communicate(PATIENCE)
    assert "WARNING: Could not read [2J31mred.pdf\nERROR: It failed\nValueError in" in said
    assert "ERROR: Exception in ASGI application\nValueError in" in said
    assert not {"secret", "somebody", "Traceback"} & set(re.findall(r"\w+", said))


def test_a_low_limit_of_open_files_is_raised():
    code = (
        "import launcher, resource; limit = resource.RLIMIT_NOFILE; hard = resource.getrlimit(limit)[1];"
        "resource.setrlimit(limit, (256, hard)); launcher.allow_open_files(); print(resource.getrlimit(limit)[0])"
    )
    with Forked(code) as process:
        assert int(process.communicate(PATIENCE)[0]) >= 1024


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"CRAG_HOST": "0.0.0.0"}, "CRAG_PUBLIC_URL"),  # noqa: S104
        ({"CRAG_HOST": "0.0.0.0", "CRAG_PUBLIC_URL": "https://crag.example.org"}, "CRAG_OPEN=yes"),  # noqa: S104
        ({"CRAG_PEOPLE": "accounts"}, "redirect_uri"),
    ],
)
def test_a_server_that_would_be_open_by_mistake_does_not_start(tmp_path, monkeypatch, environment, named):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CRAG_HOME", str(tmp_path / "home"))
    assert named in refuse_to_start(tmp_path)
    assert not (tmp_path / "home").exists()


def test_on_purpose_it_answers_under_its_public_names_alone(tmp_path):
    port = free_port()
    names = f"http://127.0.0.1:{port}, http://crag.test:{port}"
    open_to_all = {"CRAG_OPEN": "yes", "CRAG_HOST": "0.0.0.0", "CRAG_PUBLIC_URL": names}  # noqa: S104
    with forked(tmp_path / "home", port, OLLAMA_HOST="127.0.0.1:9", **open_to_all) as address:
        health = f"{address}/_stcore/health"
        assert _listening(_server_of(address)) == {"0.0.0.0"}  # noqa: S104
        own = {"Host": f"crag.test:{port}", "Origin": f"http://crag.test:{port}"}
        assert httpx.get(health, headers=own).status_code == 200
        assert httpx.get(health, headers=own | {"Origin": f"https://crag.test:{port}"}).status_code == 403
        assert httpx.get(health, headers={"Host": f"localhost:{port}"}).status_code == 400
