"""Resumable download of one large file with a checksum."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urldefrag

from crag.cancellation import Cancellation, run_cancellable
from crag.errors import ModelFault
from crag.settings import url_host
from crag.storage.files import sync_folder
from crag.text.formatting import format_size
from crag.types import Progress, ProgressCallback

if TYPE_CHECKING:
    import httpx


RecordRequest = Callable[[str, str], None]

_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_CONNECT_SECONDS, _SILENCE_SECONDS = 10.0, 60.0
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class RemoteFileChanged(Exception):
    """Raised when the kept bytes belong to another version of the remote file."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to download: address, and hexadecimal checksum by an `algorithm` of `hashlib`.

    `variable` is the environment variable that sets another address.
    """

    url: str
    algorithm: str
    checksum: str
    variable: str

    @classmethod
    def from_address(cls, address: str, variable: str) -> RemoteFile:
        """Parse an address with its checksum as fragment, as in pip: `https://host/file#sha256=…`."""
        url, fragment = urldefrag(address)
        algorithm, _, checksum = fragment.partition("=")
        return cls(url, algorithm, checksum.lower(), variable)

    @property
    def host(self) -> str:
        """Host for display, without user name or password."""
        return url_host(self.url)

    def fault(self, key: str) -> ModelFault:
        """Return a fault of the download of this file."""
        return ModelFault.make(key, host=self.host, variable=self.variable)


@dataclass(frozen=True, slots=True)
class FilePiece:
    """Bytes of a file from `begin`; `total` size (0: unknown); `mark` identifies the version of the file."""

    body: bytes
    begin: int
    total: int
    mark: str

    @property
    def end(self) -> int:
        """Offset of the next piece."""
        return self.begin + len(self.body)


def receive_pieces(file: RemoteFile, kept: int, record: RecordRequest) -> Iterator[FilePiece]:
    """Yield the pieces from byte `kept` on, or from the start if the server does not support ranges.

    `record(host, what)` is called before each request. Raises `RemoteFileChanged`, `ModelFault`,
    `httpx.TransportError`, and what `record` raises.
    """
    wanted = max(kept - 1, 0)  # re-request one byte, because an empty range is invalid
    with _open_response(file, wanted, record) as response:
        begin, total = _response_range(response, wanted, file)
        state = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        mark = sha256(f"{file.checksum} {total} {state}".encode()).hexdigest()[:16]
        for body in response.iter_raw():
            piece = FilePiece(body, begin, total, mark)
            yield piece
            begin = piece.end


@contextmanager
def _open_response(file: RemoteFile, wanted: int, record: RecordRequest) -> Iterator[httpx.Response]:
    """Open the final response after a few redirects, which must use HTTPS."""
    import httpx

    from crag.models.connections import register_connection

    headers = {"Accept-Encoding": "identity"}  # with any other encoding a byte range has a different meaning
    if wanted:
        headers["Range"] = f"bytes={wanted}-"
    with httpx.Client(timeout=httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)) as client:
        request = client.build_request("GET", file.url, headers=headers, extensions={"trace": register_connection})
        for _ in range(_MAX_REDIRECTS + 1):
            url = str(request.url.copy_with(userinfo=b""))
            record(url_host(url), url)
            response = client.send(request, stream=True)
            if response.status_code not in _REDIRECTS or response.next_request is None:
                yield response
                response.close()
                return
            response.close()
            request = response.next_request
            if request.url.scheme != "https":
                raise file.fault("download.unsafe_redirect")
    raise file.fault("download.endless_redirect")


def _response_range(response: httpx.Response, wanted: int, file: RemoteFile) -> tuple[int, int]:
    """Return (begin, total) of the response in bytes. Raises `RemoteFileChanged`, `ModelFault`."""
    match response.status_code:
        case HTTPStatus.OK:
            return 0, int(response.headers.get("Content-Length", 0))
        case HTTPStatus.PARTIAL_CONTENT:
            content_range = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if content_range is None or int(content_range[1]) != wanted:
                raise RemoteFileChanged
            return wanted, int(content_range[2])
        case HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise RemoteFileChanged
        case status:
            raise ModelFault.from_status("download", status, host=file.host, variable=file.variable)


_BLOCK_BYTES = 1 << 20
_PARTIAL_SUFFIX = ".part"


class PartialFile:
    """Partial download of `target`; its file name holds the mark of the remote version."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def size(self) -> int:
        """Return the number of bytes kept."""
        return sum(path.stat().st_size for path in self._kept())

    def remove(self) -> None:
        """Delete the partial files."""
        for path in self._kept():
            path.unlink(missing_ok=True)

    @contextmanager
    def open_for_writing(self, first: FilePiece) -> Iterator[IO[bytes]]:
        """Open the partial file for writing from the first piece on, locked against other processes.

        Raises `RemoteFileChanged` when the kept bytes are of another version, `ModelFault` when the file is locked or
        the disk is full.
        """
        path = self._target.with_name(f"{self._target.name}.{first.mark}{_PARTIAL_SUFFIX}")
        if first.begin and not path.exists():
            raise RemoteFileChanged
        path.parent.mkdir(parents=True, exist_ok=True)
        for other in set(self._kept()) - {path}:
            other.unlink()
        missing = first.total - first.begin
        if missing > shutil.disk_usage(path.parent).free:
            raise ModelFault.make("download.too_little_space", missing=format_size(missing))
        path.touch()
        with path.open("r+b") as file:
            _lock_file(file)
            file.seek(first.begin)
            file.truncate()
            yield file

    def finish(self, file: IO[bytes], remote: RemoteFile, report: ProgressCallback, stop: Cancellation) -> None:
        """Move the complete file to its target if its checksum matches. Raises `ModelFault`, `Stopped`."""
        file.flush()
        os.fsync(file.fileno())
        report(Progress("Checking", file.tell(), file.tell()))
        if _hash_file(file, remote.algorithm, stop) != remote.checksum:
            self.remove()
            raise remote.fault("download.wrong_checksum")
        Path(file.name).replace(self._target)
        sync_folder(self._target.parent)

    def _kept(self) -> list[Path]:
        return list(self._target.parent.glob(f"{self._target.name}.*{_PARTIAL_SUFFIX}"))


def _hash_file(file: IO[bytes], algorithm: str, stop: Cancellation) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    file.seek(0)
    while block := file.read(_BLOCK_BYTES):
        stop.check()
        digest.update(block)
    return digest.hexdigest()


def _lock_file(file: IO[bytes]) -> None:
    """Lock out other processes; Windows does that itself. Raises `ModelFault`."""
    if os.name == "nt":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ModelFault.make("download.busy") from error


# Seconds before each retry after a broken connection.
_RETRY_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
_DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MAX_BYTES = 2_000_000_000  # the largest weights are 571 MB; anything larger is wrong and would fill the disk


def download_file(
    file: RemoteFile, target: Path, magic: bytes, record: RecordRequest, report: ProgressCallback, stop: Cancellation
) -> None:
    """Download the file to `target`, complete and verified; on failure an existing `target` stays.

    The file must begin with `magic`. `record(host, what)` is called before each request; `report` receives bytes. A
    partial download is kept in the same folder for the next call. Raises `ModelFault`, `Stopped` and what `record`
    raises.
    """
    import httpx

    partial = PartialFile(target)
    at_first = partial.size()
    for pause in (*_RETRY_PAUSES, None):
        try:
            with _translate_disk_errors(target.parent):
                return _download_rest(file, partial, magic, record, report, stop)
        except RemoteFileChanged:
            partial.remove()
        except (httpx.TransportError, httpx.InvalidURL) as error:
            if partial.size() <= at_first:
                raise _connection_fault(file, error) from error
        if pause is not None:
            stop.wait(pause)
            stop.check()
    raise file.fault("download.broken_off")


def _connection_fault(file: RemoteFile, error: Exception) -> ModelFault:
    """Translate an error of the HTTP library for a host that sent nothing."""
    untrusted = isinstance(error.__cause__ and error.__cause__.__context__, ssl.SSLError)
    return file.fault("download.untrusted" if untrusted else "download.unreachable")


@contextmanager
def _translate_disk_errors(folder: Path) -> Iterator[None]:
    """Translate operating system errors while writing the file to `folder`. Raises `ModelFault`."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_FULL_ERRNOS:
            raise ModelFault.make("download.disk_full") from error
        raise ModelFault.make("download.not_writable", folder=folder.relative_to(Path.home())) from error


def _download_rest(
    file: RemoteFile,
    partial: PartialFile,
    magic: bytes,
    record: RecordRequest,
    report: ProgressCallback,
    stop: Cancellation,
) -> None:
    pieces = run_cancellable(lambda: receive_pieces(file, partial.size(), record), stop)
    first = next(pieces, None)
    if first is None or (first.begin == 0 and not magic.startswith(first.body[: len(magic)])):
        raise file.fault("download.wrong_file")
    with partial.open_for_writing(first) as kept:
        for piece in chain([first], pieces):
            if piece.end > _MAX_BYTES:
                partial.remove()
                raise file.fault("download.wrong_file")
            kept.write(piece.body)
            report(Progress("Downloading", piece.end, piece.total))
        partial.finish(kept, file, report, stop)
