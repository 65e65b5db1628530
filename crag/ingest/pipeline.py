"""Ingest pipeline: every way of adding, from bytes to passages and vectors stored in one commit."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

from sqlalchemy import Connection

from crag.cancellation import Cancellation
from crag.concurrency.workers import map_in_order
from crag.errors import ModelFault, SourceRefused
from crag.ingest.intake import (
    IMPORTED_KIND,
    ArchiveInput,
    Intake,
    SourceInput,
    can_reread,
    check_size,
    file_size,
    is_archive,
    is_url,
    list_named_files,
    member_location,
    missing_member_refusal,
    split_member_location,
    strip_credentials,
)
from crag.ingest.reader import DocumentReader, RawDocument, ReadDocument, is_short_text, parse_short_texts
from crag.ingest.site import SiteLimits
from crag.retrieval.active_embedder import ActiveEmbedder
from crag.retrieval.embedding_batches import embed_in_batches, passage_text
from crag.retrieval.full_text import encode_passage_terms, index_title
from crag.storage.collections import Collections, normalize_collection_name
from crag.storage.files import Originals
from crag.storage.sources import (
    NewPassages,
    NewSource,
    SourceDescription,
    SourceIdentity,
    SourceStore,
    SpaceSwitched,
    StoreResult,
    read_source_titles,
)
from crag.storage.tables import sources
from crag.storage.user_scope import UserScoped
from crag.text.sanitization import clean_display_name, clean_text
from crag.types import DEFAULT_COLLECTION, AddResult, Progress, ProgressCallback, Refusal, Source, ignore_progress

_MAX_ATTEMPTS = 3
_TEXTS_AT_ONCE = 16  # short texts in one process and one commit
_GetInput = Callable[[ProgressCallback, Cancellation], SourceInput]


class _File(NamedTuple):
    """A file to add: what the user named, its name and size in bytes, and what returns its input."""

    asked: str
    name: str
    size: int
    get: _GetInput


class _Received(NamedTuple):
    """A document that is to be read. `is_known` tells that the same bytes were split in another way before."""

    asked: str
    incoming: SourceInput
    identity: SourceIdentity
    is_known: bool


@dataclass(frozen=True, slots=True)
class _PreparedDocument:
    """A document that was read and is to be stored. `asked` is what the user named."""

    asked: str
    incoming: SourceInput
    identity: SourceIdentity
    description: SourceDescription
    reading: ReadDocument

    def result(self, stored: StoreResult) -> AddResult:
        """Return the result after the commit."""
        facts = (self.reading.title, stored.status, len(self.reading.chunks), self.reading.pages)
        return AddResult(self.incoming.asked, stored.id, *facts, note=self.reading.note, kind=self.reading.kind)


class AddOptions(TypedDict, total=False):
    """Options of every way of adding: the collection, who sees the progress, and what cancels it."""

    collection: str
    progress: ProgressCallback | None
    stop: Cancellation | None


class IngestPipeline(UserScoped):
    """Adds uploads, files, folders, archives, web pages and sites. Safe to use from several threads and processes.

    Reading and embedding come first; a short transaction then makes a document visible. A document that cannot be added
    yields a failed `AddResult`. Adding raises only `Stopped`, `HomeFault` and, for an invalid collection name or one
    that the user may only read, `BadRequest`.
    """

    def __init__(
        self,
        store: SourceStore,
        collections: Collections,
        originals: Originals,
        active_embedder: ActiveEmbedder,
        intake: Intake,
        read: DocumentReader,
        chunker: str,
        limit_bytes: int,
    ) -> None:
        self._store = store
        self._collections = collections
        self._originals = originals
        self._active_embedder = active_embedder
        self._intake = intake
        self._read = read
        self._chunker = chunker
        self._limit_bytes = limit_bytes

    def add_bytes(self, name: str, data: bytes, **options: Unpack[AddOptions]) -> AddResult:
        """Add an upload. `name` is for display and a hint at the format, never a path."""
        return self._add(name, lambda *_: self._intake.read_upload(name, data, self._target(options)), options)

    def add_upload(self, name: str, data: bytes, **options: Unpack[AddOptions]) -> Iterator[AddResult]:
        """Add an upload; for an archive, every file in it, with a refusal for each that cannot be added."""
        if is_archive(name, data):
            archive = ArchiveInput(name, data, clean_display_name(name), located=False)
            yield from self._add_archive(archive, options)
        else:
            yield self.add_bytes(name, data, **options)

    def add_path(self, path: Path, **options: Unpack[AddOptions]) -> AddResult:
        """Add one file; a changed file replaces its old version."""
        return self._add(str(path), lambda *_: self._intake.read_file(path, self._target(options)), options)

    def add_address(self, url: str, *, found_by: str = "", **options: Unpack[AddOptions]) -> Iterator[AddResult]:
        """Add what a URL holds; for an archive, every file. Changed content replaces its old version.

        `found_by` is the question whose web search found the URL, if any.
        """
        try:
            incoming = self._intake.fetch_address(url, self._target(options), *_progress_and_stop(options), found_by)
        except SourceRefused as error:
            yield failed_result(url, error)
            return
        yield from self._add_input(incoming.asked, incoming, options)

    def add_site(self, url: str, limits: SiteLimits, **options: Unpack[AddOptions]) -> Iterator[AddResult]:
        """Add a page and the pages it links to on its site, or the pages of a sitemap; `progress` counts pages."""
        report, stop = _progress_and_stop(options)
        found = False
        for address, get in self._intake.crawl(url, self._target(options), limits, report, stop):
            found = True
            yield self._add(address, get, {"stop": stop})
        if not found:
            yield failed_result(url, SourceRefused("empty", "This sitemap lists no pages of its site."))

    def add(self, spec: str, **options: Unpack[AddOptions]) -> Iterator[AddResult]:
        """Add a URL, a file, or every supported file below a folder or in an archive, one by one."""
        if is_url(spec):
            yield from self.add_address(spec, **options)
            return
        try:
            files = list_named_files(spec)
        except SourceRefused as error:
            yield failed_result(spec, error)
            return
        yield from self.add_files(files, **options)

    def add_files(self, files: Iterable[Path], **options: Unpack[AddOptions]) -> Iterator[AddResult]:
        """Add files, and every file in archives."""
        for are_archives, group in groupby(files, lambda file: is_archive(file.name, file)):
            if are_archives:
                for file in group:
                    archive = ArchiveInput(str(file), file, str(file.resolve()), located=True)
                    yield from self._add_archive(archive, options)
            else:
                described = (
                    self._describe_file(file, partial(self._intake.read_file, file), options) for file in group
                )
                yield from self._add_in_groups(described, options)

    def add_below(self, folder: Path, paths: Iterable[str], **options: Unpack[AddOptions]) -> Iterator[AddResult]:
        """Add files, and every file in archives, by their paths below a folder. Links are not followed."""

        def describe(path: str) -> _File:
            return self._describe_file(folder / path, partial(self._intake.read_below, folder, path), options)

        yield from self._add_in_groups(map(describe, paths), options)

    def _add_input(self, asked: str, incoming: SourceInput, options: AddOptions) -> list[AddResult]:
        """Add a document; for an archive, every file in it."""
        data = incoming.document.data
        if not is_archive(incoming.document.name, data):
            return [self._add(asked, lambda *_: incoming, options)]
        place = ArchiveInput(
            strip_credentials(asked), data, incoming.location, located=True, found_by=incoming.found_by
        )
        return list(self._add_archive(place, options))

    def _describe_file(self, path: Path, read: Callable[[str], SourceInput], options: AddOptions) -> _File:
        return _File(str(path), path.name, file_size(path), lambda *_: read(self._target(options)))

    def _add_in_groups(self, files: Iterable[_File], options: AddOptions) -> Iterator[AddResult]:
        """Add files: some short texts at once, any other file alone; for an archive, every file in it."""
        report, stop = _progress_and_stop(options)

        def add(group: Sequence[_File], stop: Cancellation) -> list[AddResult]:
            within = options | AddOptions(progress=report, stop=stop)
            if len(group) > 1:
                return self._add_together([(file.asked, file.get) for file in group], within)
            try:
                return self._add_input(group[0].asked, group[0].get(report, stop), within)
            except SourceRefused as error:
                return [failed_result(group[0].asked, error)]

        for results in map_in_order(add, _group_short_texts(files), stop):
            yield from results

    def add_with_reader(
        self, incoming: SourceInput, reader: DocumentReader, **options: Unpack[AddOptions]
    ) -> AddResult:
        """Add a source whose passages come from `reader` instead of a parsed file."""
        return self._add(incoming.asked, lambda *_: incoming, options, reader)

    def refresh(self, ids: Sequence[str] | None = None, **options: Unpack[AddOptions]) -> list[AddResult]:
        """Fetch or read these sources again, or all.

        Uploads cannot change; they are read again only if they were split by another tokenizer or size than now.
        """
        chosen = self._store.sources() if ids is None else self._store.sources(sources.c.id.in_(ids))
        results: dict[str, AddResult] = {}
        for place, group in groupby(sorted(chosen, key=_archive_of), _archive_of):
            members = list(group)
            if place and len(members) > 1:
                results |= self._refresh_members(place, members, options)
            else:
                results |= {source.id: self._refresh(source, options) for source in members}
        return [results[source.id] for source in chosen]

    def _add_archive(self, archive: ArchiveInput, options: AddOptions) -> Iterator[AddResult]:
        """Add each file in the archive, then report files added from it earlier that it no longer contains."""
        collection, (report, stop) = self._target(options), _progress_and_stop(options)
        held: set[str] = set()
        refusals: list[SourceRefused] = []

        def unpack() -> Iterator[_File]:
            try:
                for member, get in self._intake.unpack(archive, collection, stop):
                    held.add(member_location(archive.place, member.name))
                    asked = member_location(archive.asked, member.name)
                    yield _File(asked, member.name, len(member.data), get)
            except SourceRefused as error:  # kept for later, so that what was unpacked before is still added
                refusals.append(error)

        yield from self._add_in_groups(unpack(), {"progress": report, "stop": stop})
        if refusals:
            yield failed_result(archive.asked, refusals[0])
            return
        below = sources.c.location.startswith(member_location(archive.place, ""), autoescape=True)
        for source in self._store.sources(sources.c.collection == collection, below) if archive.located else []:
            if source.location not in held:
                yield replace(
                    failed_result(source.location, missing_member_refusal()), id=source.id, title=source.title
                )

    def _refresh_members(self, place: str, members: Sequence[Source], options: AddOptions) -> dict[str, AddResult]:
        """Refresh files of one archive, which is fetched and unpacked only once; return the results by source id."""
        report, stop = _progress_and_stop(options)
        left = defaultdict[str, list[Source]](list)  # by location, one in each collection
        for source in members:
            left[source.location].append(source)
        results, refusal = {}, missing_member_refusal()
        try:
            archive = self._intake.open_archive(place, report, stop)
            for member, get in self._intake.unpack(archive, DEFAULT_COLLECTION, stop):
                for source in left.pop(member_location(place, member.name), []):
                    results[source.id] = self._refresh(source, options, get)
                if not left:
                    break
        except SourceRefused as error:
            refusal = error
        return results | {one.id: failed_result(one.location, refusal) for rest in left.values() for one in rest}

    def _refresh(self, source: Source, options: AddOptions, member: _GetInput | None = None) -> AddResult:
        """Refresh one source; `member` returns its current state if its archive is already open."""
        is_outdated = source.kind != IMPORTED_KIND and self._store.chunker(source.id) != self._chunker
        original = self._originals.path(source.sha256) if is_outdated else None
        if can_reread(source):

            def read_again(report: ProgressCallback, stop: Cancellation) -> SourceInput:
                return replace(self._intake.reread(source, report, stop, member), is_outdated=is_outdated)

            return self._add(source.location, read_again, options)
        if original is not None:
            return self._add(source.location, lambda *_: _reread_upload(source, original), options)
        return AddResult(source.location, source.id, source.title, "unchanged", source.passages, source.pages)

    def _target(self, options: AddOptions) -> str:
        return self._collections.find_target(options.get("collection", ""))

    def _add(self, asked: str, get: _GetInput, options: AddOptions, read: DocumentReader | None = None) -> AddResult:
        return self._add_together([(asked, get)], options, read)[0]

    def _add_together(
        self, inputs: Sequence[tuple[str, _GetInput]], options: AddOptions, read: DocumentReader | None = None
    ) -> list[AddResult]:
        """Add documents, given by what the user named and what returns the input, in one commit.

        `read` replaces the file reader.
        """
        report, stop = _progress_and_stop(options)
        received = [self._receive(asked, get, report, stop) for asked, get in inputs]
        new = [one for one in received if isinstance(one, _Received)]
        documents = parse_short_texts([one.incoming.document for one in new], stop)
        read_each = (
            self._prepare(one, document, read or self._read, report, stop)
            for one, document in zip(new, documents, strict=True)
        )
        found = [next(read_each) if isinstance(one, _Received) else one for one in received]
        prepared = [one for one in found if isinstance(one, _PreparedDocument)]
        stored = iter(self._store_each(prepared, report, stop))
        return [next(stored) if isinstance(one, _PreparedDocument) else one for one in found]

    def _receive(
        self, asked: str, get: _GetInput, report: ProgressCallback, stop: Cancellation
    ) -> _Received | AddResult:
        """Get one document, or return the result if it is unchanged or refused. Raises `Stopped`."""
        try:
            incoming = get(report, stop)
            check_size(len(incoming.document.data), self._limit_bytes)
        except (SourceRefused, ModelFault) as error:
            return failed_result(asked, error)
        identity = _identify_source(incoming)
        known = self._store.find_unchanged(identity)
        if known and not incoming.is_outdated:
            return AddResult(incoming.asked, known.id, known.title, "unchanged", known.passages, known.pages)
        return _Received(asked, incoming, identity, is_known=known is not None)

    def _prepare(
        self, new: _Received, document: RawDocument, read: DocumentReader, report: ProgressCallback, stop: Cancellation
    ) -> _PreparedDocument | AddResult:
        """Read one document, or return its refusal. Raises `Stopped`."""
        report(Progress("Reading"))
        try:
            reading = read(document, report, stop)
        except (SourceRefused, ModelFault) as error:
            return failed_result(new.asked, error)
        if not reading.chunks:
            nothing = SourceRefused(
                "no_text", "No text was found.", "If it is a scan, install Tesseract, then add it again."
            )
            return failed_result(new.asked, nothing)
        title = clean_text(reading.title).strip() or clean_display_name(document.name)
        given = self._store.given_title(new.identity) if new.identity.located or new.is_known else ""
        reading = replace(reading, title=given or title)
        origin = (clean_text(reading.author), reading.published, clean_text(new.incoming.found_by))
        chunker = reading.chunker or self._chunker
        description = SourceDescription(title, reading.kind, reading.pages, chunker, *origin)
        return _PreparedDocument(new.asked, new.incoming, new.identity, description, reading)

    def _store_each(
        self, prepared: Sequence[_PreparedDocument], report: ProgressCallback, stop: Cancellation
    ) -> list[AddResult]:
        """Store documents in one commit; one by one if that fails. Raises `HomeFault`, `Stopped`."""
        try:
            return self._store_together(prepared, report, stop) if prepared else []
        except (SourceRefused, ModelFault) as error:
            if len(prepared) == 1:
                return [failed_result(prepared[0].asked, error)]
        return [result for one in prepared for result in self._store_each([one], report, stop)]

    def _store_together(
        self, prepared: Sequence[_PreparedDocument], report: ProgressCallback, stop: Cancellation
    ) -> list[AddResult]:
        """Embed for the active space and store; start over if another space becomes active before the commit."""
        originals = {one.identity.sha256: one.incoming.document.data for one in prepared}

        def finish(connection: Connection, results: Sequence[StoreResult]) -> None:
            shown = read_source_titles(connection, [one.id for one in results], None)
            for one, result in zip(prepared, results, strict=True):
                if result.status != "unchanged" and shown[result.id] != one.reading.title:  # renamed in the meantime
                    index_title(connection, result.id, shown[result.id])
            # Again: another worker may have released these bytes in the meantime.
            self._originals.keep(originals)
            stop.check()

        for _ in range(_MAX_ATTEMPTS):
            try:
                contents = self._embed([one.reading for one in prepared], report, stop)
                report(Progress("Saving"))
                # Written before the transaction, so that a slow disk does not block other writers.
                self._originals.keep(originals)
                new = [
                    NewSource(one.identity, one.description, content, replace_same=one.incoming.is_outdated)
                    for one, content in zip(prepared, contents, strict=True)
                ]
                results = self._store.put(new, finish, stop.check)
                break
            except SpaceSwitched:
                continue
            except ModelFault as fault:
                if fault.code != "embedder_changed":
                    raise
        else:
            raise ModelFault.make("embedder.changed_meanwhile")
        if dropped := [result.dropped for result in results if result.dropped]:
            self._store.release_originals(dropped, self._originals.remove)
        return [one.result(stored) for one, stored in zip(prepared, results, strict=True)]

    def _embed(
        self, readings: Sequence[ReadDocument], report: ProgressCallback, stop: Cancellation
    ) -> list[NewPassages]:
        """Compute vectors and search terms of all chunks of these documents."""
        active, embedder = self._active_embedder.open_for_storing()
        vectors = {
            place: reading.vectors
            for place, reading in enumerate(readings)
            if reading.vectors is not None and reading.space == embedder.space.id
        }
        if left := [place for place in range(len(readings)) if place not in vectors]:
            chunks = [chunk for place in left for chunk in readings[place].chunks]
            texts = [passage_text(chunk.heading, chunk.text) for chunk in chunks]
            rows = embed_in_batches(embedder, texts, report, stop)
            for place in left:
                end = len(readings[place].chunks)
                vectors[place], rows = rows[:end], rows[end:]
        contents = []
        for place, reading in enumerate(readings):
            terms = []
            for chunk in reading.chunks:
                stop.check()
                terms.append(encode_passage_terms(reading.title, chunk.heading, chunk.text))
            facts = (vectors[place], embedder.space, embedder.canary, active.number)
            contents.append(NewPassages(reading.chunks, terms, *facts))
        return contents


def _group_short_texts(files: Iterable[_File]) -> Iterator[list[_File]]:
    """Yield the files in order: some short texts at once, any other file alone."""
    for is_short, run in groupby(files, lambda file: is_short_text(file.name, file.size)):
        while group := list(islice(run, _TEXTS_AT_ONCE if is_short else 1)):
            yield group


def _archive_of(source: Source) -> str:
    """Return the location of the archive on disk or on the web that holds the source; empty if there is none."""
    found = split_member_location(source.location)
    return found[0] if found and can_reread(source) else ""


def _reread_upload(source: Source, original: Path) -> SourceInput:
    """Return the stored bytes of an upload, to be split again."""
    document = RawDocument(source.location, original.read_bytes())
    located, known = False, (source.found_by, source.id)
    return SourceInput(source.location, source.location, located, source.collection, document, *known, is_outdated=True)


def _progress_and_stop(options: AddOptions) -> tuple[ProgressCallback, Cancellation]:
    return options.get("progress") or ignore_progress, options.get("stop") or Cancellation()


def _identify_source(incoming: SourceInput) -> SourceIdentity:
    """Return collection, location, SHA-256 and size of the input."""
    digest = hashlib.sha256(incoming.document.data).hexdigest()
    collection = normalize_collection_name(incoming.collection)
    # Paths are stored unchanged, so that the file can be read again; bytes that are not UTF-8 are escaped.
    location = incoming.location.encode("utf-8", "backslashreplace").decode()
    size = len(incoming.document.data)
    return SourceIdentity(collection, location, incoming.located, digest, size, incoming.source_id)


def failed_result(asked: str, error: SourceRefused | ModelFault) -> AddResult:
    """Return the result for a refusal; `asked` is what the user named. Model faults get the code `embedding_failed`."""
    code = error.code if isinstance(error, SourceRefused) else "embedding_failed"
    shown = strip_credentials(asked)
    title = clean_display_name(shown.rstrip("/"))
    return AddResult(shown, None, title, "failed", error=Refusal(code, str(error)))
