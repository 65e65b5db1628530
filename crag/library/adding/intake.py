"""Where sources come from: uploads, files, folders and addresses, each turned into bytes to add."""

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

IMPORTED = "imported"  # the kind of a source that came as passages, without the file they were cut from
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|//|(?:about|blob|data|file|ftp|jar|javascript|mailto):", re.IGNORECASE)
_USER = re.compile(r"(?<=//)[^/?#]*@")


def is_address(spec: str) -> bool:
    """Whether this is meant as an address; which ones may be fetched is the fetcher's word."""
    return bool(_ADDRESS.match(spec.strip()))


def without_password(spec: str) -> str:
    """An address as it may be shown: a user name and a password in it are left out."""
    return _USER.sub("", spec) if is_address(spec) else spec


def files_in(folder: Path) -> list[Path]:
    """Every file in the folder and below that looks as if it could be read, hidden ones left out."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    ]


def named_files(spec: str) -> list[Path]:
    """What a path names: every file in and below a folder, else the path itself. Raises `SourceRefused`."""
    if not spec.strip():  # as a path it would mean the present folder
        raise SourceRefused("unreachable", "No file, folder or address was named.")
    try:
        path = Path(spec).expanduser()
        files = files_in(path) if path.is_dir() else [path]
    except (OSError, RuntimeError) as error:  # a name that is too long, a home of nobody, a folder that may not be read
        raise SourceRefused("unreachable", "This path cannot be read.", "Check it.") from error
    if not files:
        raise SourceRefused("empty", "There is no file in this folder that can be read.")
    return files


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive as the person named it (`asked`); `place` is what locates its files, for good if `located`.

    `found_by` is the question whose web search found it, if one did.
    """

    asked: str
    data: Path | bytes
    place: str
    located: bool
    found_by: str = ""


@dataclass(frozen=True, slots=True)
class Intake:
    """Gets the bytes. Every method raises `SourceRefused`, and those that fetch `Stopped`."""

    settings: Settings
    ledger: Ledger

    def upload(self, name: str, data: bytes, collection: str) -> Incoming:
        """Bytes handed over under a name, which is text to show and never a path."""
        shown = display_name(name)
        return Incoming(shown, shown, False, collection, Bytes(shown, data))

    def file(self, path: Path, collection: str) -> Incoming:
        """A file on disk, its size judged before it is read; its place names it for good."""
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
        """For each file in an archive its name there and what gets it."""
        try:
            for member in members(archive.data, Limits(size=self.settings.max_upload_bytes), stop):
                location = inside(archive.place, member.name)
                way = partial(_incoming, member, location, archive.located, collection, found_by=archive.found_by)
                yield member.name, way
        except OSError as error:
            raise _unreadable(display_name(archive.asked)) from error

    def member(self, place: str, name: str, collection: str, report: Report, stop: Stop) -> Incoming:
        """One file of an archive on disk or behind an address."""
        archive = self.address(place, collection, report, stop).document.data if is_address(place) else Path(place)
        try:
            found = next(members(archive, Limits(size=self.settings.max_upload_bytes), stop, only=name))
        except OSError as error:
            raise _unreadable(display_name(Path(place).name)) from error
        return _incoming(found, inside(place, name), True, collection)

    def address(self, url: str, collection: str, report: Report, stop: Stop, found_by: str = "") -> Incoming:
        """What an address holds now; its final address names it for good."""
        report(Progress("Fetching"))
        fetched = self._fetcher(stop)(url.strip(), progress=report, extra_types=ARCHIVE_TYPES)
        return replace(_page(Found(url.strip(), fetched), collection), found_by=found_by)

    def site(
        self, url: str, collection: str, limits: SiteLimits, report: Report, stop: Stop
    ) -> Iterator[tuple[str, Callable[..., Incoming]]]:
        """For each page of a site its address and what gives it."""
        for found in read_site(url.strip(), limits, self._fetcher(stop), stop, report):
            yield found.url, partial(_page, found, collection)

    def _fetcher(self, stop: Stop) -> Callable[..., Fetched]:
        from crag.library.web.fetch import fetch

        allow, limit = self.settings.allow_private_urls, self.settings.max_upload_bytes
        return partial(fetch, allow=allow, limit_bytes=limit, stop=stop, ledger=self.ledger)

    def can_get_again(self, source: Source) -> bool:
        """Whether the source has a place to be got from again; uploads come once.

        What was imported only says so itself: a stranger's folder shall not name the files to read here.
        """
        return source.kind != IMPORTED and (is_address(source.location) or Path(source.location).is_absolute())

    def again(self, source: Source, report: Report, stop: Stop) -> Incoming:
        """The source as it is now, under its old location."""
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
    """A file of an archive. Raises `SourceRefused` when it could not be unpacked."""
    if member.refused:
        raise member.refused
    return Incoming(location, location, located, collection, Bytes(display_name(member.name), member.data), found_by)


def _page(found: Found, collection: str, *_: object) -> Incoming:
    """What an address holds. Raises `SourceRefused` when it could not be fetched."""
    page = found.result
    if isinstance(page, SourceRefused):
        raise page
    return Incoming(found.url, page.url_final, True, collection, document(page))


def document(page: Fetched) -> Bytes:
    """What an address held, under the name that its address gives it."""
    return Bytes(_name_of(page.url_final), page.body, page.content_type, page.charset)


def _unreadable(name: str) -> SourceRefused:
    return SourceRefused("unreachable", f"“{name}” cannot be read.", "Check its permissions.")


def _name_of(url: str) -> str:
    """A name for what an address holds: its last part, else its host."""
    parts = urlsplit(url)
    return display_name(unquote(parts.path.rstrip("/")) or parts.netloc)
