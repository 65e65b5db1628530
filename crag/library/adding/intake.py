"""Intake: uploads, files, folders and web addresses, each turned into bytes to ingest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from crag.errors import SourceRefused
from crag.ledger import Ledger
from crag.library.adding.archive import ARCHIVE_TYPES, Member, inside, members, outside
from crag.library.adding.ingest import Incoming, check_size
from crag.library.adding.reading import Bytes
from crag.library.cleaning import display_name
from crag.library.parse import Limits
from crag.library.parse.request import SUFFIXES
from crag.library.web.response import Fetched
from crag.library.web.site import Found, SiteLimits, read_site
from crag.progress import Report
from crag.settings import Settings
from crag.stopping import Stop
from crag.types import Progress, Source

IMPORTED = "imported"  # the kind of a source imported as passages, without its original file
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|//|(?:about|blob|data|file|ftp|jar|javascript|mailto):", re.IGNORECASE)
_USER = re.compile(r"(?<=//)[^/?#]*@")


def is_address(spec: str) -> bool:
    """Return whether the text is meant as a URL. The fetcher decides which URLs are allowed."""
    return bool(_ADDRESS.match(spec.strip()))


def without_password(spec: str) -> str:
    """Return a URL for display, without user name and password."""
    return _USER.sub("", spec) if is_address(spec) else spec


def files_in(folder: Path) -> list[Path]:
    """List every file below the folder with a supported suffix, except hidden ones."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    ]


def named_files(spec: str) -> list[Path]:
    """Return every supported file below a folder, or the path itself if it is a file. Raises `SourceRefused`."""
    if not spec.strip():  # as a path it would mean the current folder
        raise SourceRefused("unreachable", "No file, folder or address was named.")
    try:
        path = Path(spec).expanduser()
        files = files_in(path) if path.is_dir() else [path]
    except (
        OSError,
        RuntimeError,
    ) as error:  # an overlong name, an unknown user's home, a folder without read permission
        raise SourceRefused("unreachable", "This path cannot be read.", "Check it.") from error
    if not files:
        raise SourceRefused("empty", "There is no file in this folder that can be read.")
    return files


@dataclass(frozen=True, slots=True)
class Archive:
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
    ledger: Ledger

    def upload(self, name: str, data: bytes, collection: str) -> Incoming:
        """Accept uploaded bytes. The name is for display and never used as a path."""
        shown = display_name(name)
        return Incoming(shown, shown, False, collection, Bytes(shown, data))

    def file(self, path: Path, collection: str) -> Incoming:
        """Read a file on disk after checking its size; its path identifies it permanently."""
        name = display_name(path.name)
        try:
            if not path.is_file():
                raise SourceRefused("unreachable", f"There is no file “{name}”.", "Check the path.")
            check_size(path.stat().st_size, self.settings.max_upload_bytes)
            document = Bytes(name, path.read_bytes())
        except (OSError, ValueError) as error:  # ValueError: a path with NUL in it
            raise _unreadable(name) from error
        return Incoming(str(path), str(path.resolve()), True, collection, document)

    def unpacked(self, archive: Archive, collection: str, stop: Stop) -> Iterator[tuple[str, Callable[..., Incoming]]]:
        """Yield for each file in an archive its name and a function that returns its input."""
        try:
            for member in members(archive.data, Limits(size=self.settings.max_upload_bytes), stop):
                location = inside(archive.place, member.name)
                way = partial(_incoming, member, location, archive.located, collection, found_by=archive.found_by)
                yield member.name, way
        except OSError as error:
            raise _unreadable(display_name(archive.asked)) from error

    def member(self, place: str, name: str, collection: str, report: Report, stop: Stop) -> Incoming:
        """Read one file of an archive on disk or on the web."""
        archive = self.address(place, collection, report, stop).document.data if is_address(place) else Path(place)
        try:
            found = next(members(archive, Limits(size=self.settings.max_upload_bytes), stop, only=name))
        except OSError as error:
            raise _unreadable(display_name(Path(place).name)) from error
        return _incoming(found, inside(place, name), True, collection)

    def address(self, url: str, collection: str, report: Report, stop: Stop, found_by: str = "") -> Incoming:
        """Fetch what a URL currently holds; its final URL identifies it permanently."""
        report(Progress("Fetching"))
        fetched = self._fetcher(stop)(url.strip(), progress=report, extra_types=ARCHIVE_TYPES)
        return replace(_page(Found(url.strip(), fetched), collection), found_by=found_by)

    def site(
        self, url: str, collection: str, limits: SiteLimits, report: Report, stop: Stop
    ) -> Iterator[tuple[str, Callable[..., Incoming]]]:
        """Yield for each page of a site its URL and a function that returns its input."""
        for found in read_site(url.strip(), limits, self._fetcher(stop), stop, report):
            yield found.url, partial(_page, found, collection)

    def _fetcher(self, stop: Stop) -> Callable[..., Fetched]:
        from crag.library.web.fetch import fetch

        allow, limit = self.settings.allow_private_urls, self.settings.max_upload_bytes
        return partial(fetch, allow=allow, limit_bytes=limit, stop=stop, ledger=self.ledger)

    def can_get_again(self, source: Source) -> bool:
        """Return whether the source can be read again from its location. Uploads cannot.

        Neither can imported sources: an untrusted export must not choose which local files are read.
        """
        return source.kind != IMPORTED and (is_address(source.location) or Path(source.location).is_absolute())

    def again(self, source: Source, report: Report, stop: Stop) -> Incoming:
        """Read the source again in its current state, keeping its location."""
        if place := outside(source.location):
            now = self.member(*place, source.collection, report, stop)
        elif is_address(source.location):
            now = self.address(source.location, source.collection, report, stop)
        else:
            now = self.file(Path(source.location), source.collection)
        return Incoming(source.location, source.location, True, source.collection, now.document, source.found_by)


def _incoming(
    member: Member, location: str, located: bool, collection: str, *_: object, found_by: str = ""
) -> Incoming:
    """Return the input for a file of an archive. Raises `SourceRefused` if it could not be unpacked."""
    if member.refused:
        raise member.refused
    return Incoming(location, location, located, collection, Bytes(display_name(member.name), member.data), found_by)


def _page(found: Found, collection: str, *_: object) -> Incoming:
    """Return the input for a fetched page. Raises `SourceRefused` if it could not be fetched."""
    page = found.result
    if isinstance(page, SourceRefused):
        raise page
    return Incoming(found.url, page.url_final, True, collection, document(page))


def document(page: Fetched) -> Bytes:
    """Return a fetched page as a raw document named after its URL."""
    return Bytes(_name_of(page.url_final), page.body, page.content_type, page.charset)


def _unreadable(name: str) -> SourceRefused:
    return SourceRefused("unreachable", f"“{name}” cannot be read.", "Check its permissions.")


def _name_of(url: str) -> str:
    """Return a display name for a URL: its last path segment, else its host."""
    parts = urlsplit(url)
    return display_name(unquote(parts.path.rstrip("/")) or parts.netloc)
