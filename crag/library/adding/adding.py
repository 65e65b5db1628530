"""Adding of uploads, files, folders, archives, web pages and whole sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from crag.database.tables import sources
from crag.errors import ModelFault, SourceRefused
from crag.library.adding.archive import inside, is_archive, no_longer_there
from crag.library.adding.ingest import Incoming, Ingest
from crag.library.adding.intake import Archive, Intake, is_address, named_files, without_password
from crag.library.adding.parallel import map_in_order
from crag.library.adding.reading import Read
from crag.library.cleaning import display_name
from crag.library.store import Store
from crag.library.web.site import SiteLimits
from crag.progress import Report, silent
from crag.stopping import Stop
from crag.types import DEFAULT_COLLECTION, AddResult, Refusal, Source


class Adding:
    """Adds uploads, files, folders, archives, web pages and sites. Safe to share between threads.

    A document that cannot be added yields a failed `AddResult`. Adding raises only `Stopped`, `HomeFault` and, for an
    invalid collection name, `BadRequest`.
    """

    def __init__(self, intake: Intake, ingest: Ingest, store: Store) -> None:
        self._intake = intake
        self._ingest = ingest
        self._store = store

    def add_bytes(
        self,
        name: str,
        data: bytes,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> AddResult:
        """Add an upload. `name` is for display and a hint at the format, never a path."""
        return self._add(name, lambda *_: self._intake.upload(name, data, collection), progress, stop)

    def add_upload(
        self,
        name: str,
        data: bytes,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Add an upload; for an archive, every supported file in it."""
        if is_archive(name, data):
            archive = Archive(name, data, display_name(name), located=False)
            yield from self._add_archive(archive, collection, progress, stop)
        else:
            yield self.add_bytes(name, data, collection=collection, progress=progress, stop=stop)

    def add_path(
        self,
        path: Path,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> AddResult:
        """Add one file; a changed file replaces its old version."""
        return self._add(str(path), lambda *_: self._intake.file(path, collection), progress, stop)

    def add_address(
        self,
        url: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        found_by: str = "",
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Add what a URL holds; for an archive, every supported file. Changed content replaces its old version.

        `found_by` is the question whose web search found the URL, if any.
        """
        try:
            incoming = self._intake.address(url, collection, progress or silent, stop or Stop(), found_by)
        except SourceRefused as error:
            yield failed_result(url, error)
            return
        data = incoming.document.data
        if is_archive(incoming.document.name, data):
            archive = Archive(without_password(url), data, incoming.location, located=True, found_by=found_by)
            yield from self._add_archive(archive, collection, progress, stop)
        else:
            yield self._add(url, lambda *_: incoming, progress, stop)

    def add_site(
        self,
        url: str,
        limits: SiteLimits,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Add a page and the pages it links to on its site, or the pages of a sitemap; `progress` counts pages."""
        stop = stop or Stop()
        found = False
        for address, get in self._intake.site(url, collection, limits, progress or silent, stop):
            found = True
            yield self._add(address, get, None, stop)
        if not found:
            yield failed_result(url, SourceRefused("empty", "This sitemap names no page of its site."))

    def add(
        self,
        spec: str,
        *,
        collection: str = DEFAULT_COLLECTION,
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Add a URL, a file, or every supported file below a folder or in an archive, one by one."""
        if is_address(spec):
            yield from self.add_address(spec, collection=collection, progress=progress, stop=stop)
            return
        try:
            files = named_files(spec)
        except SourceRefused as error:
            yield failed_result(spec, error)
            return
        for are_archives, group in groupby(files, lambda file: is_archive(file.name, file)):
            if are_archives:
                for file in group:
                    archive = Archive(str(file), file, str(file.resolve()), located=True)
                    yield from self._add_archive(archive, collection, progress, stop)
            else:
                yield from self._add_files(group, collection, progress, stop or Stop())

    def add_reading(
        self, incoming: Incoming, read: Read, *, progress: Report | None = None, stop: Stop | None = None
    ) -> AddResult:
        """Add passages that were split elsewhere: `read` supplies them instead of parsing a file."""
        return self._add(incoming.asked, lambda *_: incoming, progress, stop, read)

    def refresh(
        self, ids: Sequence[str] | None = None, *, progress: Report | None = None, stop: Stop | None = None
    ) -> list[AddResult]:
        """Fetch or read these sources again, or all; uploads cannot change and yield *unchanged*."""
        chosen = self._store.sources() if ids is None else self._store.sources(sources.c.id.in_(ids))
        return [self._refresh(source, progress, stop) for source in chosen]

    def _add_files(
        self, files: Iterable[Path], collection: str, progress: Report | None, stop: Stop
    ) -> Iterator[AddResult]:
        def add(file: Path, stop: Stop) -> AddResult:
            return self.add_path(file, collection=collection, progress=progress, stop=stop)

        yield from map_in_order(add, files, stop)

    def _add_archive(
        self, archive: Archive, collection: str, progress: Report | None, stop: Stop | None
    ) -> Iterator[AddResult]:
        """Add each file in the archive, then report files added from it earlier that it no longer contains."""
        stop, held = stop or Stop(), set()
        try:
            for name, get in self._intake.unpacked(archive, collection, stop):
                held.add(inside(archive.place, name))
                yield self._add(inside(archive.asked, name), get, progress, stop)
        except SourceRefused as error:
            yield failed_result(archive.asked, error)
            return
        below = sources.c.location.startswith(inside(archive.place, ""), autoescape=True)
        for source in self._store.sources(sources.c.collection == collection, below) if archive.located else []:
            if source.location not in held:
                yield replace(failed_result(source.location, no_longer_there()), id=source.id, title=source.title)

    def _refresh(self, source: Source, progress: Report | None, stop: Stop | None) -> AddResult:
        if self._intake.can_get_again(source):
            return self._add(source.location, lambda *way: self._intake.again(source, *way), progress, stop)
        return AddResult(source.location, source.id, source.title, "unchanged", source.passages, source.pages)

    def _add(
        self,
        asked: str,
        get: Callable[[Report, Stop], Incoming],
        progress: Report | None,
        stop: Stop | None,
        read: Read | None = None,
    ) -> AddResult:
        report, stop = progress or silent, stop or Stop()
        try:
            return self._ingest.add(get(report, stop), report, stop, read)
        except (SourceRefused, ModelFault) as error:
            return failed_result(asked, error)


def failed_result(asked: str, error: SourceRefused | ModelFault) -> AddResult:
    """Return the result for a refusal; `asked` is what the user named. Model faults get the code `embedding_failed`."""
    code = error.code if isinstance(error, SourceRefused) else "embedding_failed"
    shown = without_password(asked)
    title = display_name(shown.rstrip("/"))
    return AddResult(shown, None, title, "failed", error=Refusal(code, str(error)))
