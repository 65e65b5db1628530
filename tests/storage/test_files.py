"""Atomic writes: homes that are gone, clocks that jump, and what a power failure leaves."""

import errno
import hashlib
import os
import stat
import sys
import time

import pytest

from crag.errors import BadRequest, HomeFault
from crag.storage.files import (
    Originals,
    move_into_place,
    remove_unfinished_files,
    staging_folder,
    write_atomically,
    write_fault,
)


def test_a_home_that_is_gone_does_not_come_into_being_again(tmp_path):
    home = tmp_path / "home"
    with pytest.raises(HomeFault, match="gone or was replaced"):
        Originals(home).keep({hashlib.sha256(b"tea").hexdigest(): b"tea"})
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


def break_folder_sync(monkeypatch, code):
    """Make syncing a folder fail, as on some network drives or on a failing disk; files can still be synced."""
    sync = os.fsync

    def sync_files_only(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(code, os.strerror(code))
        sync(handle)

    monkeypatch.setattr(os, "fsync", sync_files_only)


@pytest.mark.parametrize(
    ("code", "words"),
    [(errno.ENOSPC, "disk is full"), (errno.EDQUOT, "disk is full"), (errno.EACCES, "cannot be written to")],
)
def test_the_fault_names_what_is_wrong_with_the_folder(code, words):
    assert words in write_fault(OSError(code, os.strerror(code))).message


@pytest.mark.parametrize("name", ["../crag.sqlite", "/etc/passwd", "", "A" * 64])
def test_what_is_no_digest_is_no_name_of_an_original(tmp_path, name):
    with pytest.raises(ValueError, match="not a SHA-256"):
        Originals(tmp_path).path(name)


def test_originals_that_nothing_uses_are_removed_and_other_files_kept(tmp_path):
    used, unused = (hashlib.sha256(text).hexdigest() for text in (b"tea", b"milk"))
    originals = Originals(tmp_path)
    originals.keep({used: b"tea", unused: b"milk"})
    folder = originals.path(used).parent
    (folder / "notes.txt").write_bytes(b"of someone")
    (folder / ("0" * 64)).mkdir()
    originals.remove_unused([used])
    assert originals.path(unused) is None
    assert {path.name for path in folder.iterdir()} == {used, "notes.txt", "0" * 64}


def write_folder(destination):
    with staging_folder(destination) as staging:
        made = staging / "made"
        (made / "inside").mkdir(parents=True)
        (made / "inside" / "file").write_bytes(b"tea")
        move_into_place(made, destination)


@pytest.mark.parametrize("there", ["a file", "a link that leads nowhere"])
def test_nothing_is_written_over(tmp_path, there):
    finished, destination = tmp_path / "finished", tmp_path / "destination"
    finished.write_bytes(b"new")
    if there == "a file":
        destination.write_bytes(b"old")
    else:
        destination.symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadRequest, match="already exists"):
        move_into_place(finished, destination)
    assert finished.read_bytes() == b"new"
    assert destination.is_symlink() or destination.read_bytes() == b"old"


def test_a_young_file_is_kept_for_its_writer_on_another_machine(tmp_path):
    young, old = (tmp_path / f"{name}.elsewhere-1-1.unfinished" for name in ("young", "old"))
    for path in (young, old):
        path.write_bytes(b"tea")
    os.utime(old, (1, 1))
    remove_unfinished_files(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [young.name]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not sync folders")
@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM])
def test_a_file_system_that_cannot_sync_folders_takes_files_and_folders(tmp_path, monkeypatch, code):
    break_folder_sync(monkeypatch, code)
    write_atomically(tmp_path / "a" / "file", lambda file: file.write(b"tea"), tmp_path)
    write_folder(tmp_path / "folder")
    assert (tmp_path / "a" / "file").read_bytes() == b"tea"
    assert (tmp_path / "folder" / "inside" / "file").read_bytes() == b"tea"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not sync folders")
def test_a_disk_that_fails_is_reported(tmp_path, monkeypatch):
    break_folder_sync(monkeypatch, errno.EIO)
    with pytest.raises(HomeFault):
        write_folder(tmp_path / "folder")
