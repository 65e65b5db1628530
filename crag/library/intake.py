"""Where sources come from: uploads, files, folders and addresses, each turned into bytes to add."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from crag.errors import SourceRefused
from crag.library.cleaning import display_name
from crag.library.ingest import Incoming, check_size
from crag.library.reading import Bytes, Report
from crag.settings import Settings
from crag.stopping import Stop
from crag.types import Progress, Source

SUFFIXES = frozenset(
    """
    .pdf .docx .pptx .pptm .xlsx .xlsm .odt .epub .eml .html .htm .xhtml .csv .tsv .json .jsonl .ndjson .md .markdown
    .txt .text
    """.split()  # noqa: SIM905 — a list of so many would hide the words
)
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


@dataclass(frozen=True, slots=True)
class Intake:
    """Gets the bytes. Every method raises `SourceRefused`, and those that fetch `Stopped`."""

    settings: Settings

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
            raise SourceRefused("unreachable", f"“{name}” cannot be read.", "Check its permissions.") from error
        return Incoming(str(path), str(path.resolve()), True, collection, document)

    def address(self, url: str, collection: str, report: Report, stop: Stop) -> Incoming:
        """What an address holds now; its final address names it for good."""
        from crag.library.fetch import fetch

        report(Progress("Fetching"))
        url = url.strip()
        fetched = fetch(
            url,
            allow=self.settings.allow_private_urls,
            limit_bytes=self.settings.max_upload_bytes,
            stop=stop,
            progress=report,
        )
        name = _name_of(fetched.url_final)
        document = Bytes(name, fetched.body, fetched.content_type, fetched.charset)
        return Incoming(url, fetched.url_final, True, collection, document)

    def can_get_again(self, source: Source) -> bool:
        """Whether the source has a place to be got from again; uploads come once."""
        return is_address(source.location) or Path(source.location).is_absolute()

    def again(self, source: Source, report: Report, stop: Stop) -> Incoming:
        """The source as it is now, under its old location."""
        if is_address(source.location):
            now = self.address(source.location, source.collection, report, stop)
        else:
            now = self.file(Path(source.location), source.collection)
        return Incoming(source.location, source.location, True, source.collection, now.document)


def _name_of(url: str) -> str:
    """A name for what an address holds: its last part, else its host."""
    parts = urlsplit(url)
    return display_name(unquote(parts.path.rstrip("/")) or parts.netloc)
