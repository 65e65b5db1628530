"""HTTP download of a file from a byte offset, in pieces that carry their position."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from crag.models.nomic import faults

if TYPE_CHECKING:
    import httpx

Record = Callable[[str, str], None]

_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_CONNECT_SECONDS, _SILENCE_SECONDS = 10.0, 60.0
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")


class FileChanged(Exception):
    """Raised when the kept bytes belong to another version of the remote file."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file to download: address, and hexadecimal checksum by an `algorithm` of `hashlib`."""

    url: str
    algorithm: str
    checksum: str

    @classmethod
    def read(cls, address: str) -> RemoteFile:
        """Parse an address with its checksum as fragment, as in pip: `https://host/file#sha256=…`."""
        url, fragment = urldefrag(address)
        algorithm, _, checksum = fragment.partition("=")
        return cls(url, algorithm, checksum.lower())

    @property
    def host(self) -> str:
        """Host for display, without user name or password."""
        return _host(self.url)


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file from `begin`; `total` size (0: unknown); `mark` identifies the version of the file."""

    body: bytes
    begin: int
    total: int
    mark: str

    @property
    def end(self) -> int:
        """Offset of the next piece."""
        return self.begin + len(self.body)


def receive(file: RemoteFile, kept: int, record: Record) -> Iterator[Piece]:
    """Yield the pieces from byte `kept` on, or from the start if the server does not support ranges.

    `record(host, what)` is called before each request. Raises `RemoteFileChanged`, `ModelFault`,
    `httpx.TransportError`, and what `record` raises.
    """
    wanted = max(kept - 1, 0)  # re-request one byte, because an empty range is invalid
    with _opened(file, wanted, record) as response:
        begin, total = _place(response, wanted, file.host)
        state = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        mark = sha256(f"{file.checksum} {total} {state}".encode()).hexdigest()[:16]
        for body in response.iter_raw():
            piece = Piece(body, begin, total, mark)
            yield piece
            begin = piece.end


@contextmanager
def _opened(file: RemoteFile, wanted: int, record: Record) -> Iterator[httpx.Response]:
    """Open the final response after a few redirects, which must use HTTPS."""
    import httpx

    from crag.models.connections import note_connection

    headers = {"Accept-Encoding": "identity"}  # with any other encoding a byte range has a different meaning
    if wanted:
        headers["Range"] = f"bytes={wanted}-"
    with httpx.Client(timeout=httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)) as client:
        request = client.build_request("GET", file.url, headers=headers, extensions={"trace": note_connection})
        for _ in range(_MAX_REDIRECTS + 1):
            url = str(request.url.copy_with(userinfo=b""))
            record(_host(url), url)
            response = client.send(request, stream=True)
            if response.status_code not in _REDIRECTS or response.next_request is None:
                yield response
                response.close()
                return
            response.close()
            request = response.next_request
            if request.url.scheme != "https":
                raise faults.unsafe_redirect(file.host)
    raise faults.endless_redirect(file.host)


def _place(response: httpx.Response, wanted: int, host: str) -> tuple[int, int]:
    """Return (begin, total) of the response in bytes. Raises `RemoteFileChanged`, `ModelFault`."""
    match response.status_code:
        case HTTPStatus.OK:
            return 0, int(response.headers.get("Content-Length", 0))
        case HTTPStatus.PARTIAL_CONTENT:
            told = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if told is None or int(told[1]) != wanted:
                raise FileChanged
            return wanted, int(told[2])
        case HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise FileChanged
        case status:
            raise faults.refused(status, host)


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]
