"""The vector index on disk: a cache that is either whole and of this very library, or not used at all.

Layout: one line of JSON (the header), the index as FAISS writes it, the SHA-256 of all that precedes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from crag.library.durable import write_durably

_MAGIC = "crag-vectors"
_VERSION = 1
_CHECKSUM_BYTES = 32
_LONGEST_HEADER = 4096
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Header:
    """What a snapshot holds. It may be used only where space, epoch and dimension are the same as the library's."""

    space_id: str
    epoch: int
    count: int
    dimension: int
    magic: str = _MAGIC
    version: int = _VERSION


def write_snapshot(path: Path, header: Header, index: Any) -> None:
    """Writes durably and at once: readers see the old file or the new one. Raises `OSError`."""
    import faiss

    digest = hashlib.sha256()

    def write(file: IO[bytes]) -> None:
        def pass_on(data: bytes) -> int:
            digest.update(data)
            return file.write(data)

        pass_on(json.dumps(asdict(header)).encode() + b"\n")
        faiss.write_index(index, faiss.PyCallbackIOWriter(pass_on))  # type: ignore[attr-defined]
        file.write(digest.digest())

    write_durably(path, write)


def read_snapshot(path: Path, is_wanted: Callable[[Header], bool]) -> Any | None:
    """The index, or None where the file is missing, torn, of another version, or not the one that is wanted."""
    import faiss

    try:
        with path.open("rb") as file:
            header = _read_header(file)
            start = file.tell()
            if header is None or not is_wanted(header) or not _is_whole(file, path.stat().st_size):
                return None
            file.seek(start)
            index = faiss.read_index(faiss.PyCallbackIOReader(file.read))  # type: ignore[attr-defined]
    except (OSError, RuntimeError):  # RuntimeError is what FAISS raises for what it cannot read
        return None
    return index if (index.ntotal, index.d) == (header.count, header.dimension) else None


def _read_header(file: IO[bytes]) -> Header | None:
    try:
        header = Header(**json.loads(file.readline(_LONGEST_HEADER)))
    except (ValueError, TypeError):
        return None
    return header if (header.magic, header.version) == (_MAGIC, _VERSION) else None


def _is_whole(file: IO[bytes], size: int) -> bool:
    digest = hashlib.sha256()
    file.seek(0)
    left = size - _CHECKSUM_BYTES
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    return left == 0 and file.read() == digest.digest()
