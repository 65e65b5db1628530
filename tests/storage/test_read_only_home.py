"""A home that cannot be written: every command says so in words and leaves it as it is."""

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from crag.errors import HomeFault
from crag.storage.engine import Database
from tests.applications import opened_with
from tests.crashing import Forked
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
REFUSAL = "The data folder cannot be written to. Change its permissions, or choose another with CRAG_HOME."
UNPRIVILEGED = """
import ctypes, io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from crag.app.application import open_application
from crag.cli.main import main
from crag.errors import CragError
from crag.settings import Settings

if os.geteuid() == 0:  # root may write everywhere, unless it gives up that privilege
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0
"""
COMMAND = (
    UNPRIVILEGED
    + """
with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as errors:
    code = main(sys.argv[1:])
print(json.dumps([code, printed.getvalue() + errors.getvalue()]))
"""
)
WHILE_OPEN = (
    UNPRIVILEGED
    + """
home = Path(sys.argv[1])
application = open_application(Settings(home=home, chat_model="builtin", embedder="builtin"))
application.library.pipeline.add_bytes("a.md", b"The kettle whistles.")

def attempt(name):
    try:
        return application.library.pipeline.add_bytes(name, f"{name} is another document.".encode()).status
    except CragError as error:
        return str(error)

folders = [home, *(path for path in home.rglob("*") if path.is_dir())]
for folder in folders:
    folder.chmod(0o500)
said = attempt("b.md")
for folder in folders:
    folder.chmod(0o700)
print(json.dumps([said, attempt("b.md"), len(application.library.sources())]))
application.close()
"""
)


def run(code, *arguments):
    with Forked(code, *arguments) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    return json.loads(output)


def contents(home):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in home.rglob("*") if path.is_file()}


@pytest.fixture
def read_only(tmp_path):
    home = tmp_path / "home"
    with opened_with(home, {"a.md": "The kettle whistles."}):
        pass
    everything = [home, *home.rglob("*")]
    for path in everything:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield home
    for path in everything:
        path.chmod(0o700)


@pytest.mark.parametrize(
    "command", [["list"], ["search", "kettle"], ["ask", "What whistles?"], ["add", __file__], ["conversations"]]
)
def test_every_command_says_so_and_changes_nothing(read_only, command):
    before = contents(read_only)
    code, said = run(COMMAND, *command, "--home", read_only)
    assert code == 1
    assert REFUSAL in said
    assert str(read_only) not in said
    assert contents(read_only) == before


def test_a_database_that_cannot_be_written_can_still_be_read(read_only):
    read_only.chmod(0o700)
    before = contents(read_only)
    assert run(COMMAND, "list", "--home", read_only)[0] == 0
    code, said = run(COMMAND, "add", __file__, "--home", read_only)
    assert code == 1
    assert REFUSAL in said
    assert "Traceback" not in said
    assert {path: digest for path, digest in contents(read_only).items() if path in before} == before


@pytest.mark.parametrize(("cause", "words"), [(errno.EROFS, REFUSAL), (errno.ENOSPC, "The disk is full")])
def test_a_disk_that_takes_no_file_is_said(tmp_path, monkeypatch, cause, words):
    def refuse(path, **_):
        raise OSError(cause, os.strerror(cause), str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(HomeFault, match=words):
        Database(tmp_path)


def test_a_home_that_becomes_read_only_refuses_and_goes_on_afterwards(tmp_path):
    said, status, count = run(WHILE_OPEN, tmp_path / "home")
    assert said == REFUSAL
    assert (status, count) == ("added", 2)
