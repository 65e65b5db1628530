"""Intake: uploads, files, folders, archives and web addresses, each turned into bytes to ingest."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.folder_watch import open_below
from crag.ingest.http_response import FetchResult
from crag.ingest.parse.child_process import ChildProcess, child_failure, kill_after, run_child
from crag.ingest.parse.document import ParseLimits
from crag.ingest.parse.formats import READABLE_SUFFIXES
from crag.ingest.reader import RawDocument
from crag.ingest.site import CrawledPage, SiteLimits, crawl_site
from crag.settings import Settings
from crag.storage.outbound_log import OutboundLog
from crag.text.sanitization import clean_display_name
from crag.types import Progress, ProgressCallback, Source


@dataclass(frozen=True, slots=True)
class SourceInput:
    """One document to ingest, with its bytes.

    `asked` is what the user named. `located` means that `location` identifies the source permanently. `found_by` is the
    question whose web search found it; empty for documents named by the user. `source_id` is the id to use; empty to
    create one. `is_outdated` means that it was split in another way than now, so that the same bytes are read again.
    """

    asked: str
    location: str
    located: bool
    collection: str
    document: RawDocument
    found_by: str = ""
    source_id: str = ""
    is_outdated: bool = False


def check_size(size: int, limit_bytes: int) -> None:
    """Raise `SourceRefused` if the size is zero or exceeds the limit, both in bytes."""
    if size == 0:
        raise SourceRefused("empty", "The file is empty.")
    if size > limit_bytes:
        raise SourceRefused(
            "too_large",
            f"It has {size / 1_048_576:,.1f} MB; the limit is {limit_bytes / 1_048_576:,.0f} MB.",
            "Split it, or raise CRAG_MAX_UPLOAD_MB.",
        )


def file_size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it cannot be read."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):  # ValueError: a path with NUL in it
        return 0


_ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_DOCUMENT_MEMBERS = (b"mimetype", b"[Content_Types].xml")  # first member of e-books and Office files
_MAX_LINE_BYTES = 1_000_000
ARCHIVE_TYPES = frozenset({"application/zip", "application/x-zip-compressed"})


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file in an archive: its name (for display, never used as a path), and its content or why it was refused."""

    name: str
    data: bytes
    refused: SourceRefused | None = None


def is_archive(name: str, data: bytes | Path) -> bool:
    """Return whether this is a zip file to unpack, not a document format that is zipped."""
    if not name.lower().endswith(".zip"):
        return False
    if isinstance(data, Path):
        try:
            with data.open("rb") as file:
                data = file.read(64)
        except OSError:
            return False
    return data.startswith(_ZIP_SIGNATURES) and not data[30:].startswith(_DOCUMENT_MEMBERS)


def member_location(archive: object, member: str) -> str:
    """Return the location of a member, as in `/folder/a.zip!/b/c.txt` or `https://example.org/a.zip!/b/c.txt`."""
    return f"{archive}!/{member}"


def split_member_location(location: str) -> tuple[str, str] | None:
    """Split a location into archive and member; None if it names no member."""
    start = 0
    while (end := location.find("!", start)) >= 0:
        named = location[start:end].lower()
        is_archive_name = named.endswith(".zip") or ".zip?" in named  # the address of an archive may have a query
        if is_archive_name and location[end + 1 : end + 2] == "/" and end + 2 < len(location):
            return location[:end], location[end + 2 :]
        start = end + 1
    return None


def missing_member_refusal() -> SourceRefused:
    """Return the refusal for a file that is no longer in its archive."""
    return SourceRefused("unreachable", "The archive no longer contains this file.", "Check the archive.")


def read_members(
    data: bytes | Path, limits: ParseLimits, stop: Cancellation, only: str | None = None
) -> Iterator[ArchiveMember]:
    """Yield every file of an archive in order of name, taken or refused, unpacked one by one in a child process.

    `only` restricts it to one member. Nothing is written to disk. Raises `SourceRefused` (`empty`, `unreachable`,
    `encrypted`, `corrupt`, `too_large`, `too_slow`) and `Stopped`.
    """
    found = False
    with run_child("crag.ingest.parse.archive_child", {"only": only}, data, limits, stop) as child:
        while (member := _next_member(child, limits, stop)) is not None:
            found = True
            yield member
    if not found and only is not None:
        raise missing_member_refusal()
    if not found:
        raise SourceRefused("empty", "This archive contains no files.")


def _next_member(child: ChildProcess, limits: ParseLimits, stop: Cancellation) -> ArchiveMember | None:
    """Return the next member, or None at the end. Raises `SourceRefused`, `Stopped`."""
    assert child.stdout  # noqa: S101 — opened as a pipe
    with kill_after(child, limits.seconds) as late:
        reply, data = _read_message(child.stdout, limits)
    stop.check()
    if "member" in reply:
        return ArchiveMember(reply["member"], data, SourceRefused(*reply["refused"]) if "refused" in reply else None)
    if "refused" in reply:
        raise SourceRefused(*reply["refused"])
    if "end" not in reply:
        raise child_failure(child, late.is_set(), limits)
    return None


def _read_message(out: IO[bytes], limits: ParseLimits) -> tuple[dict[str, Any], bytes]:
    """Read one JSON line from the child and the bytes of a file after it; an empty message if the child ended."""
    line = out.readline(_MAX_LINE_BYTES)
    try:
        reply: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}, b""
    size = min(reply.get("size", 0), limits.size)
    data = out.read(size)
    return (reply, data) if len(data) == size else ({}, b"")


IMPORTED_KIND = "imported"  # the kind of a source imported as passages, without its original file
_URL = re.compile(r"[a-z][a-z0-9+.-]*://|//|(?:about|blob|data|file|ftp|jar|javascript|mailto):", re.IGNORECASE)
_BARE_ADDRESS = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}(?::\d+)?(?:[/?#]\S*)?$")
_CREDENTIALS = re.compile(r"(?<=//)[^/?#]*@")


def compose_text_file(title: str, text: str) -> tuple[str, bytes]:
    """Return a text as a Markdown file: its name, and its content below the title unless it has a heading."""
    headed = text if text.lstrip().startswith("#") else f"# {title}\n\n{text}"
    return f"{title}.md", headed.encode()


def is_url(spec: str) -> bool:
    """Return whether the text is meant as a URL. The fetcher decides which URLs are allowed."""
    return bool(_URL.match(spec.strip()))


def complete_url(text: str) -> str:
    """Return a web address as a URL: `https://` is put before one without a scheme, such as `example.com/page`."""
    text = text.strip()
    return f"https://{text}" if _BARE_ADDRESS.match(text) and not is_url(text) else text


def strip_credentials(spec: str) -> str:
    """Return a URL for display, without user name and password."""
    return _CREDENTIALS.sub("", spec) if is_url(spec) else spec


def list_readable_files(folder: Path) -> list[Path]:
    """List every file below the folder with a supported suffix, except hidden ones and links that lead elsewhere."""
    root = folder.resolve()
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in READABLE_SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
        and (not path.is_symlink() or path.resolve().is_relative_to(root))
    ]


def list_named_files(spec: str) -> list[Path]:
    """Return every supported file below a folder, or the path itself if it is a file. Raises `SourceRefused`."""
    if not spec.strip():  # as a path it would mean the current folder
        raise SourceRefused("unreachable", "No file, folder or address given.")
    try:
        path = Path(spec).expanduser()
        files = list_readable_files(path) if path.is_dir() else [path]
    except (
        OSError,
        RuntimeError,
    ) as error:  # an overlong name, an unknown user's home, a folder without read permission
        raise SourceRefused("unreachable", "This path cannot be read.", "Check it.") from error
    if not files:
        raise SourceRefused("empty", "This folder contains no files that can be read.")
    return files


@dataclass(frozen=True, slots=True)
class ArchiveInput:
    """An archive to unpack. `asked` is what the user named.

    `place` prefixes the location of its files; it identifies them permanently if `located`. `found_by` is the question
    whose web search found it, if any.
    """

    asked: str
    data: Path | bytes
    place: str
    located: bool
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class Intake:
    """Turns what the user named into bytes. Every method raises `SourceRefused`, and those that fetch `Stopped`."""

    settings: Settings
    outbound_log: OutboundLog

    def read_upload(self, name: str, data: bytes, collection: str) -> SourceInput:
        """Accept uploaded bytes. The name is for display and never used as a path."""
        shown = clean_display_name(name)
        return SourceInput(shown, shown, False, collection, RawDocument(shown, data))

    def read_file(self, path: Path, collection: str) -> SourceInput:
        """Read a file on disk after checking its size; its path identifies it permanently."""
        name = clean_display_name(path.name)
        try:
            if not path.is_file():
                raise SourceRefused("unreachable", f"There is no file “{name}”.", "Check the path.")
            check_size(path.stat().st_size, self.settings.max_upload_bytes)
            document = RawDocument(name, path.read_bytes())
        except (OSError, ValueError) as error:  # ValueError: a path with NUL in it
            raise _unreadable_file(name) from error
        return SourceInput(str(path), str(path.resolve()), True, collection, document)

    def read_below(self, folder: Path, path: str, collection: str) -> SourceInput:
        """Read a file by its path below a folder as `read_file` does, but follow no link."""
        place, limit = str(folder / path), self.settings.max_upload_bytes
        name = clean_display_name(PurePosixPath(path).name)
        try:
            with open_below(folder, path) as file:
                check_size(os.fstat(file.fileno()).st_size, limit)
                document = RawDocument(name, file.read(limit + 1))
        except (OSError, ValueError) as error:
            raise _unreadable_file(name) from error
        return SourceInput(place, place, True, collection, document)

    def unpack(
        self, archive: ArchiveInput, collection: str, stop: Cancellation
    ) -> Iterator[tuple[ArchiveMember, Callable[..., SourceInput]]]:
        """Yield each file in an archive and a function that returns its input."""
        try:
            for member in read_members(archive.data, ParseLimits(size=self.settings.max_upload_bytes), stop):
                location = member_location(archive.place, member.name)
                way = partial(_member_input, member, location, archive.located, collection, found_by=archive.found_by)
                yield member, way
        except OSError as error:
            raise _unreadable_file(clean_display_name(archive.asked)) from error

    def open_archive(self, place: str, report: ProgressCallback, stop: Cancellation) -> ArchiveInput:
        """Return an archive on disk or on the web in its current state."""
        data = self.fetch_address(place, "", report, stop).document.data if is_url(place) else Path(place)
        return ArchiveInput(place, data, place, located=True)

    def read_member(
        self, place: str, name: str, collection: str, report: ProgressCallback, stop: Cancellation
    ) -> SourceInput:
        """Read one file of an archive on disk or on the web."""
        archive = self.open_archive(place, report, stop)
        try:
            found = next(read_members(archive.data, ParseLimits(size=self.settings.max_upload_bytes), stop, only=name))
        except OSError as error:
            raise _unreadable_file(clean_display_name(Path(place).name)) from error
        return _member_input(found, member_location(place, name), True, collection)

    def fetch_address(
        self, url: str, collection: str, report: ProgressCallback, stop: Cancellation, found_by: str = ""
    ) -> SourceInput:
        """Fetch what a URL currently holds; its final URL identifies it permanently."""
        report(Progress("Fetching"))
        fetched = self._fetcher(stop)(url.strip(), progress=report, extra_types=ARCHIVE_TYPES)
        return replace(_page_input(CrawledPage(url.strip(), fetched), collection), found_by=found_by)

    def crawl(
        self, url: str, collection: str, limits: SiteLimits, report: ProgressCallback, stop: Cancellation
    ) -> Iterator[tuple[str, Callable[..., SourceInput]]]:
        """Yield for each page of a site its URL and a function that returns its input."""
        for found in crawl_site(url.strip(), limits, self._fetcher(stop), stop, report):
            yield found.url, partial(_page_input, found, collection)

    def _fetcher(self, stop: Cancellation) -> Callable[..., FetchResult]:
        from crag.ingest.fetch import fetch

        allow, limit = self.settings.allow_private_urls, self.settings.max_upload_bytes
        return partial(fetch, allow=allow, limit_bytes=limit, stop=stop, outbound_log=self.outbound_log)

    def reread(
        self,
        source: Source,
        report: ProgressCallback,
        stop: Cancellation,
        member: Callable[..., SourceInput] | None = None,
    ) -> SourceInput:
        """Read the source again in its current state, or take it from an open archive, keeping its location."""
        if member:
            now = member(report, stop)
        elif place := split_member_location(source.location):
            now = self.read_member(*place, source.collection, report, stop)
        elif is_url(source.location):
            now = self.fetch_address(source.location, source.collection, report, stop)
        else:
            now = self.read_file(Path(source.location), source.collection)
        return SourceInput(source.location, source.location, True, source.collection, now.document, source.found_by)


def can_reread(source: Source) -> bool:
    """Return whether the source can be read again from its location. Uploads cannot.

    Neither can imported sources: an untrusted export must not choose which local files are read.
    """
    return source.kind != IMPORTED_KIND and (is_url(source.location) or Path(source.location).is_absolute())


def _member_input(
    member: ArchiveMember, location: str, located: bool, collection: str, *_: object, found_by: str = ""
) -> SourceInput:
    """Return the input for a file of an archive. Raises `SourceRefused` if it could not be unpacked."""
    if member.refused:
        raise member.refused
    document = RawDocument(clean_display_name(member.name), member.data)
    return SourceInput(location, location, located, collection, document, found_by)


def _page_input(found: CrawledPage, collection: str, *_: object) -> SourceInput:
    """Return the input for a fetched page. Raises `SourceRefused` if it could not be fetched."""
    page = found.result
    if isinstance(page, SourceRefused):
        raise page
    return SourceInput(found.url, page.url_final, True, collection, to_raw_document(page))


def to_raw_document(page: FetchResult) -> RawDocument:
    """Return a fetched page as a raw document named after its URL."""
    return RawDocument(_name_from_url(page.url_final), page.body, page.content_type, page.charset)


def _unreadable_file(name: str) -> SourceRefused:
    return SourceRefused("unreachable", f"“{name}” cannot be read.", "Check its permissions.")


def _name_from_url(url: str) -> str:
    """Return a display name for a URL: its last path segment, else its host."""
    parts = urlsplit(url)
    return clean_display_name(unquote(parts.path.rstrip("/")) or parts.netloc)
