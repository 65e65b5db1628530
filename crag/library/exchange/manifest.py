"""Contents of a backup: a zip file whose manifest lists the size and SHA-256 of every member."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from crag.database.engine import CHECKPOINTS_NAME, FILE_NAME
from crag.database.migrations import VERSION as SCHEMA
from crag.errors import BadRequest
from crag.stopping import Stop

MANIFEST = "manifest.json"
_FORMAT = "crag-backup"
_VERSION = 1
_LARGEST_MANIFEST = 256 * 1024 * 1024
# The only valid member names, so that a hostile file cannot write anywhere else.
_NAME = re.compile(
    rf"{re.escape(FILE_NAME)}|{re.escape(CHECKPOINTS_NAME)}"
    r"|originals/([0-9a-f]{2})/\1[0-9a-f]{62}|incoming/[0-9a-f]{1,64}"
)
_PIECE = 1 << 20
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Member:
    """One file of the home; `size` in bytes."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All files by name. `missing`: originals that the home itself had lost; `made_at` in seconds since the epoch."""

    made_at: float
    sources: int
    members: dict[str, Member]
    missing: list[str] = field(default_factory=list)
    schema: int = SCHEMA
    format: str = _FORMAT
    version: int = _VERSION

    @property
    def size(self) -> int:
        """Total size of all files, unpacked, in bytes."""
        return sum(member.size for member in self.members.values())

    def encode(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self), indent=1)


def original_name(sha256: str) -> str:
    """Return the relative path of an original, in the home and in a backup."""
    return f"originals/{sha256[:2]}/{sha256}"


def upload_name(job_id: str) -> str:
    """Return the relative path of the upload of an unfinished job."""
    return f"incoming/{job_id}"


def copy_and_hash(read: Callable[[int], bytes], write: Callable[[bytes], object], stop: Stop) -> Member:
    """Copy all bytes from `read` to `write` in blocks; return their size and digest. Raises `Stopped`."""
    digest, size = hashlib.sha256(), 0
    while piece := read(_PIECE):
        stop.check()
        digest.update(piece)
        size += len(piece)
        write(piece)
    return Member(size, digest.hexdigest())


def hash_file(path: Path, stop: Stop) -> Member:
    """Return size and digest of a file. Raises `OSError`, `Stopped`."""
    with path.open("rb") as file:
        return copy_and_hash(file.read, lambda _: None, stop)


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """Return the manifest after checking its names against the archive's. Raises `BadRequest`."""
    infos = {info.filename: info for info in archive.infolist()}
    if MANIFEST not in infos or infos[MANIFEST].file_size > _LARGEST_MANIFEST:
        raise not_a_backup()
    manifest = _decode(archive.read(MANIFEST))
    if len(infos) != len(archive.infolist()) or set(infos) != {MANIFEST, *manifest.members}:
        raise damaged_backup("it does not hold the files that its list names")
    for name, member in manifest.members.items():
        if not _NAME.fullmatch(name) or stat.S_ISLNK(infos[name].external_attr >> 16):
            raise damaged_backup("it holds a file that does not belong there")
        if name.startswith("originals/") and not name.endswith(member.sha256):
            raise damaged_backup("it holds a document under the name of another")
    if FILE_NAME not in manifest.members:
        raise damaged_backup("the database is not in it")
    return manifest


def _decode(written: bytes) -> Manifest:
    try:
        fields: Any = json.loads(written)
        if fields["format"] != _FORMAT:
            raise not_a_backup()
        if fields["version"] > _VERSION or fields["schema"] > SCHEMA:
            raise BadRequest("This backup was made by a newer version of the application.", "Update the application.")
        members = {str(name): Member(int(one["size"]), str(one["sha256"])) for name, one in fields["members"].items()}
        missing = [str(digest) for digest in fields["missing"]]
        manifest = Manifest(float(fields["made_at"]), int(fields["sources"]), members, missing, int(fields["schema"]))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise not_a_backup() from error
    if any(one.size < 0 or not _DIGEST.fullmatch(one.sha256) for one in members.values()):
        raise damaged_backup("its list is damaged")
    return manifest


def not_a_backup() -> BadRequest:
    """Return the error for a file of another kind."""
    return BadRequest("This file is not a backup of this application; nothing was changed.", "Choose another file.")


def damaged_backup(what: str) -> BadRequest:
    """Return the error for a damaged backup; `what` completes the sentence."""
    return BadRequest(f"This backup is damaged: {what}. Nothing was changed.", "Choose another backup.")
