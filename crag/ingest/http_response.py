"""HTTP responses: bodies read within a size limit, document types only, no error pages."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from typing import TYPE_CHECKING

from crag.errors import SourceRefused
from crag.types import Progress, ProgressCallback

if TYPE_CHECKING:
    import httpcore


_CONTENT_TYPES = frozenset(
    {
        "",
        "application/xhtml+xml",
        "application/pdf",
        "application/x-pdf",
        "application/json",
        "application/xml",
        "application/markdown",
        "application/octet-stream",
        "application/force-download",
        "application/x-download",
        "binary/octet-stream",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.oasis.opendocument.text",
        "application/epub+zip",
        "application/x-ndjson",
        "message/rfc822",
    }
)
_INFLATE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class FetchResult:
    """A fetched document. `content_type` is lower case, empty if the server did not state it."""

    url_final: str
    content_type: str
    charset: str | None
    body: bytes


class HttpErrorStatus(SourceRefused):
    """The refusal for an HTTP error; `status` is its code (RFC 9110, section 15)."""

    def __init__(self, status: int, message: str, remedy: str = "") -> None:
        super().__init__("http_error", message, remedy)
        self.status = status


def read_response(
    url: str,
    response: httpcore.Response,
    limit_bytes: int,
    extra_types: frozenset[str],
    progress: ProgressCallback | None,
) -> FetchResult:
    """Check status, type and stated length, then read the body within the limit.

    Raises `SourceRefused` (`http_error`, `too_large`, `unsupported`, `corrupt`) and what httpcore raises.
    """
    _check_status(response.status)
    content_type, charset = _read_content_type(response, extra_types)
    stated = read_header(response, b"content-length")
    size = int(stated) if stated.isascii() and stated.isdigit() else 0
    if size > limit_bytes:
        raise _too_large(limit_bytes)
    body = bytearray()
    for piece in _decode_body(response, read_header(response, b"content-encoding").lower()):
        body += piece
        if len(body) > limit_bytes:
            raise _too_large(limit_bytes)
        if progress:
            progress(Progress("Fetching", len(body), max(size, len(body)) if size else 0))
    return FetchResult(url, content_type, charset, bytes(body))


def _check_status(status: int) -> None:
    if status in (401, 403, 407):
        raise HttpErrorStatus(
            status, f"The page answered {describe_status(status)}: it requires a sign-in.", "Save it and add the file."
        )
    if not 200 <= status < 300:
        raise HttpErrorStatus(status, f"The page answered {describe_status(status)} and was not added.")


def _read_content_type(response: httpcore.Response, extra_types: frozenset[str]) -> tuple[str, str | None]:
    """Return content type and charset. Raises `SourceRefused` for types that are not documents."""
    message = Message()
    message["content-type"] = read_header(response, b"content-type")
    stated = message["content-type"] or ""
    content_type = message.get_content_type() if "/" in stated else ""
    if not content_type.startswith("text/") and content_type not in _CONTENT_TYPES | extra_types:
        raise SourceRefused(
            "unsupported",
            f"This address is of type {content_type}, which cannot be read.",
            "Add a web page, a PDF or a text file.",
        )
    return content_type, message.get_content_charset()


def _decode_body(response: httpcore.Response, encoding: str) -> Iterator[bytes]:
    """Yield the body in pieces of bounded size, however well it is compressed."""
    pieces: Iterable[bytes] = response.iter_stream()
    if encoding in ("", "identity"):
        yield from pieces
        return
    if encoding not in ("gzip", "x-gzip"):
        raise SourceRefused("unsupported", "The page uses an unsupported compression.")
    inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        for piece in pieces:
            rest = piece
            while rest and not inflater.eof:
                yield inflater.decompress(rest, _INFLATE_BYTES)
                rest = inflater.unconsumed_tail
    except zlib.error as error:
        raise SourceRefused("corrupt", "The page arrived damaged.", "Try again later.") from error


def read_header(response: httpcore.Response, name: bytes) -> str:
    """Return a header's value; repeated headers are joined (RFC 9110, section 5.3), so they match no known value."""
    return ", ".join(value.decode("latin-1") for key, value in response.headers if key.lower() == name).strip()


def describe_status(status: int) -> str:
    """Return the code with its phrase, such as `404 (Not Found)`."""
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)


def _too_large(limit_bytes: int) -> SourceRefused:
    limit = f"{limit_bytes / 1_048_576:,.0f} MB" if limit_bytes >= 1_048_576 else f"{limit_bytes:,} bytes"
    return SourceRefused("too_large", f"The page is larger than the limit of {limit}.")
