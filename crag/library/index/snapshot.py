"""Vector index on disk: a cache that is either intact and of this library, or ignored."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Literal

from crag.durable import write_durably

_MAGIC = "crag-vectors"
_VERSION = 2
_HEADER_BYTES = 4096
_CHECKSUM_BYTES = 32
_PIECE = 1 << 20

Kind = Literal["exact", "approximate"]


@dataclass(frozen=True, slots=True)
class Header:
    """Metadata of a snapshot; for an approximate index also the number of lists to probe and its recall."""

    space_id: str
    epoch: int
    count: int
    dimension: int
    kind: Kind = "exact"
    nprobe: int = 0
    recall: float = 1.0
    magic: str = _MAGIC
    version: int = _VERSION


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A loaded snapshot: an exact index is in memory, an approximate one is memory-mapped."""

    header: Header
    index: Any


def write_snapshot(path: Path, header: Header, index: Any) -> None:
    """Write the index durably and atomically: readers see the old file or the new one. Raises `OSError`.

    File layout: the index in FAISS format (which FAISS can map only from the start of a file), one block of JSON (the
    header), then the SHA-256 of everything before.
    """
    import faiss

    digest = hashlib.sha256()

    def write(file: IO[bytes]) -> None:
        def pass_on(data: bytes) -> int:
            digest.update(data)
            return file.write(data)

        faiss.write_index(index, faiss.PyCallbackIOWriter(pass_on))  # type: ignore[attr-defined]
        pass_on(json.dumps(asdict(header)).encode().ljust(_HEADER_BYTES))
        file.write(digest.digest())

    write_durably(path, write)


def read_snapshot(path: Path, is_wanted: Callable[[Header], bool]) -> Snapshot | None:
    """Return None if the file is missing, damaged, of another version, or not wanted.

    Reads the whole file once for its checksum, which also leaves it in the system's page cache for the mapping.
    """
    import faiss

    if not path.is_file():  # opening a named pipe would block until someone writes to it
        return None
    try:
        with path.open("rb") as file:
            header = _read_header(file)
            if header is None or not is_wanted(header) or not _is_whole(file):
                return None
            index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC if header.kind == "approximate" else 0)
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return None  # the file was replaced meanwhile, so the verified file is not the loaded one
    except (OSError, RuntimeError):  # FAISS raises RuntimeError for unreadable files
        return None
    return Snapshot(header, index) if (index.ntotal, index.d) == (header.count, header.dimension) else None


def _read_header(file: IO[bytes]) -> Header | None:
    file.seek(-_HEADER_BYTES - _CHECKSUM_BYTES, os.SEEK_END)
    try:
        header = Header(**json.loads(file.read(_HEADER_BYTES)))
    except (ValueError, TypeError):
        return None
    return header if (header.magic, header.version) == (_MAGIC, _VERSION) else None


def _is_whole(file: IO[bytes]) -> bool:
    digest = hashlib.sha256()
    left = file.seek(-_CHECKSUM_BYTES, os.SEEK_END)
    file.seek(0)
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    return left == 0 and file.read() == digest.digest()
