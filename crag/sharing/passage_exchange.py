"""Export and import of collections as LangChain folders or JSON Lines."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import make_archive
from tempfile import TemporaryDirectory
from typing import IO, Literal
from zipfile import is_zipfile

from crag.cancellation import Cancellation
from crag.conversations.conversations import ConversationOwners
from crag.errors import BadRequest, ModelFault, SourceRefused
from crag.ingest.intake import IMPORTED_KIND, SourceInput, strip_credentials
from crag.ingest.parse.document import Block, Document
from crag.ingest.pipeline import failed_result
from crag.ingest.reader import CHUNK_OVERLAP, CHUNK_TOKENS, CountTokens, RawDocument, ReadDocument, split_document
from crag.library.library import Library
from crag.sharing.backup import write_backup
from crag.sharing.langchain_folder import export_langchain_folder, read_langchain_folder, unpack_langchain_zip
from crag.sharing.passage_lines import (
    MAX_LINE_BYTES,
    Json,
    PassageExport,
    PassageLine,
    decode_line,
    encode_line,
    export_lines,
)
from crag.storage.engine import Database
from crag.storage.user_scope import UserScoped, check_admin
from crag.text.sanitization import clean_display_name
from crag.types import (
    AddResult,
    Chunk,
    EmbeddingSpace,
    Progress,
    ProgressCallback,
    Source,
    Vectors,
    ignore_progress,
)


class LinesBySource:
    """A file of passage lines. All lines are checked before the first source is returned."""

    def __init__(self, path: Path, default_location: str, stop: Cancellation) -> None:
        """`default_location` is for passages without a source. Raises `SourceRefused`, `Stopped`, `OSError`."""
        self._path = path
        self._default_location = default_location
        self._places: dict[tuple[str, str], array[int]] = {}
        with path.open("rb") as file:
            for number, (offset, line) in enumerate(_read_lines(file), start=1):
                stop.check()
                key = decode_line(line, number, default_location).source_key
                self._places.setdefault(key, array("q")).append(offset)
        if not self._places:
            raise SourceRefused("empty", "It contains no passages.")

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self._places)

    def __iter__(self) -> Iterator[Sequence[PassageLine]]:
        """Yield the lines of each source, in file order."""
        with self._path.open("rb") as file:
            for places in self._places.values():
                yield [self._line(file, place) for place in places]

    def _line(self, file: IO[bytes], place: int) -> PassageLine:
        file.seek(place)
        return decode_line(file.readline(MAX_LINE_BYTES), 0, self._default_location)


def _read_lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, line) for every non-blank line. Raises `SourceRefused` for a line without an end."""
    offset = 0
    while line := file.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            raise SourceRefused("too_large", f"It contains a line of more than {MAX_LINE_BYTES // 1_048_576} MB.")
        if line.strip():
            yield offset, line
        offset += len(line)


_IMPORTED_CHUNKER = "imported"
_MAX_PASSAGE_CHARACTERS = 8_000  # characters; longer texts are whole documents rather than passages
_MAX_CONTEXT_PASSAGES = 50  # passages; untrusted lines may not claim a wider context
_UNIT_NORM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """One imported source. Its lines serve as the original, because the file itself was not exported.

    `space` is the embedding space whose vectors can be used.
    """

    lines: Sequence[PassageLine]
    space: EmbeddingSpace
    count_tokens: CountTokens

    @property
    def sha256(self) -> str:
        """SHA-256 of the file the passages were cut from, as the lines state it; empty if they do not."""
        return self.lines[0].sha256

    def source_input(self, collection: str) -> SourceInput:
        """Return the ingest input.

        The location does not identify the source, so it never replaces a source added from there.
        """
        first = self.lines[0]
        location = strip_credentials(first.location)
        return SourceInput(
            location, location, False, collection, RawDocument(first.title, self._original()), first.found_by
        )

    def read(self, document: RawDocument, report: ProgressCallback, stop: Cancellation) -> ReadDocument:
        """Return the passages unchanged, except that overlong ones are split (see `DocumentReader`)."""
        report(Progress("Splitting"))
        first = self.lines[0]
        pages = [line.page_starts[-1][1] if line.page_starts else line.page for line in self.lines if line.page]
        chunks = [chunk for line in self.lines for chunk in self._chunks(line, stop)]
        whole = len(chunks) == len(self.lines) and all(len(line.text) <= _MAX_PASSAGE_CHARACTERS for line in self.lines)
        contexts = [line.context for line in self.lines] if whole else [None] * len(chunks)
        vectors = self._vectors() if whole else None
        return ReadDocument(
            title=document.name,
            kind=IMPORTED_KIND,
            pages=max(pages, default=None),
            chunks=[_with_ordinal(chunk, n, contexts[n], len(chunks)) for n, chunk in enumerate(chunks)],
            author=first.author,
            published=first.published,
            chunker=_IMPORTED_CHUNKER,
            space=self.space.id,
            vectors=vectors,
        )

    def _vectors(self) -> Vectors | None:
        """Return one row per line, or None unless every line has a unit vector of this space."""
        import numpy as np

        given = [line.vector for line in self.lines if line.vector and line.space == self.space.id]
        if len(given) < len(self.lines) or any(len(vector) != self.space.dimension for vector in given):
            return None
        rows = np.array(given, dtype=np.float32)
        sound = bool((np.abs(np.linalg.norm(rows, axis=1) - 1) < _UNIT_NORM_TOLERANCE).all())
        return rows if sound else None

    def _original(self) -> bytes:
        return b"".join(encode_line(line.text, _line_metadata(line)) for line in self.lines)

    def _chunks(self, line: PassageLine, stop: Cancellation) -> list[Chunk]:
        if len(line.text) <= _MAX_PASSAGE_CHARACTERS:
            return [Chunk(line.text, line.page, line.heading, 0, 0, 0, line.page_starts)]

        def count(text: str) -> int:
            stop.check()
            return self.count_tokens(text)

        blocks = tuple(Block(part.strip(), page=line.page) for part in line.text.split("\n\n") if part.strip())
        parts = split_document(Document(line.title, None, blocks), count, CHUNK_TOKENS, CHUNK_OVERLAP)
        return [replace(part, heading=line.heading) for part in parts]


def number_pages_from_one(lines: Sequence[PassageLine]) -> Sequence[PassageLine]:
    """Return the lines with pages numbered from 1.

    LangChain's PDF loaders number from 0. A page 0 or a page label reveals this.
    """
    if not any(line.from_zero for line in lines):
        return lines
    return [line if line.page is None else replace(line, page=line.page + 1) for line in lines]


def _with_ordinal(chunk: Chunk, ordinal: int, context: tuple[int, int] | None, count: int) -> Chunk:
    start, end = context or (ordinal, ordinal)
    if not (0 <= start <= ordinal <= end <= start + _MAX_CONTEXT_PASSAGES):
        start = end = ordinal
    end = min(end, count - 1)
    return replace(chunk, ordinal=ordinal, context_start=start, context_end=end)


def _line_metadata(line: PassageLine) -> Json:
    metadata: Json = {"source": line.location, "title": line.title, "page": line.page, "heading": line.heading}
    metadata |= {"author": line.author, "published": line.published, "found_by": line.found_by, "context": line.context}
    metadata |= {"page_starts": line.page_starts}
    return {name: value for name, value in metadata.items() if value}


ExportFormat = Literal["langchain", "jsonl"]


class PassageExchange(UserScoped):
    """Exports and imports collections. Thread-safe; several processes may use one home."""

    def __init__(self, database: Database, library: Library, count_tokens: Callable[[str], int]) -> None:
        self._database = database
        self._library = library
        self._count_tokens = count_tokens

    def export(
        self,
        destination: Path,
        format_: ExportFormat,
        *,
        collection: str = "",
        vectors: bool = False,
        progress: ProgressCallback = ignore_progress,
    ) -> int:
        """Write a collection, or all, to a new folder (`langchain`) or file (`jsonl`), and return the passage count.

        If vectors are needed, passages without a vector of the active space are embedded first.
        Raises `BadRequest` if the destination exists or nothing can be exported, `HomeFault`, `ModelFault`.
        """
        stop = Cancellation()
        if format_ == "langchain" or vectors:
            self._library.fill_vectors(progress, stop)
        export = PassageExport(self._database, self._library.space(), collection, self._user)
        if format_ == "langchain":
            return export_langchain_folder(export, destination, progress, stop)
        return export_lines(export, destination, vectors, progress, stop)

    def export_bytes(self, format_: ExportFormat, collection: str = "") -> bytes:
        """Return the export as one download; a folder is zipped. Raises as `export` does."""
        with TemporaryDirectory(prefix="crag-export-") as work:
            made = Path(work) / "export"
            self.export(made, format_, collection=collection)
            if made.is_dir():
                made = Path(make_archive(str(made), "zip", made))
            return made.read_bytes()

    def backup_bytes(self) -> bytes:
        """Return a backup of the whole home as one download.

        Raises as `write_backup` does, and `BadRequest` if the home holds anything of another user, or if the user does
        not administer it.
        """
        check_admin(self._database, self._user)
        self._check_sole_user()
        with TemporaryDirectory(prefix="crag-backup-") as work:
            made = Path(work) / "backup"
            write_backup(self._database, made, ignore_progress, Cancellation())
            self._check_sole_user()  # somebody may have asked before the database was copied
            return made.read_bytes()

    def _check_sole_user(self) -> None:
        if ConversationOwners(self._database).for_user(self._user).has_others():
            raise BadRequest("A backup would contain the questions of several people.", "Make it on the server.")

    def import_passages(
        self,
        path: Path,
        *,
        collection: str = "",
        name: str = "",
        progress: ProgressCallback = ignore_progress,
    ) -> Iterator[AddResult]:
        """Import the passages of a LangChain folder, a zip of one, or JSON Lines; each source in one commit.

        A folder or file that cannot be read is refused as a whole before its first source, as one failed result.
        `name` is the name of an upload; it defaults to the file name of the path.
        Raises `BadRequest` for an invalid collection name or one that the user may only read, `HomeFault`.
        """
        stop = Cancellation()
        collection, name = self._library.find_target(collection), clean_display_name(name or path.name)
        with TemporaryDirectory(prefix="crag-import-") as work:
            try:
                space = self._library.space()
                found = self._read(path, name, Path(work) / "lines", space, stop)
            except (SourceRefused, ModelFault) as error:
                yield failed_result(name, error)
                return
            present = {source.sha256: source for source in self._library.sources(collection)}
            for done, lines in enumerate(found):
                progress(Progress("Importing documents", done, len(found)))
                imported = ImportedSource(number_pages_from_one(lines), space, self._count_tokens)
                yield self._add(imported, collection, present, stop)

    def _read(self, path: Path, name: str, lines: Path, space: EmbeddingSpace, stop: Cancellation) -> LinesBySource:
        """Read `path`; the passages of a folder go to the file `lines` first. Raises `SourceRefused`, `Stopped`."""
        try:
            folder = path
            if not path.is_dir():
                if not path.is_file():  # to tell whether it is a ZIP file, a device would be read without end
                    raise FileNotFoundError(path)
                if not is_zipfile(path):
                    return LinesBySource(path, name, stop)
                folder = lines.with_name("folder")
                unpack_langchain_zip(path, folder, stop)
            read_langchain_folder(folder, lines, space, stop)
            return LinesBySource(lines, name, stop)
        except (OSError, ValueError) as error:  # ValueError: a path that contains NUL
            raise SourceRefused("unreachable", f"“{name}” cannot be read.", "Check the path.") from error

    def _add(
        self, imported: ImportedSource, collection: str, present: Mapping[str, Source], stop: Cancellation
    ) -> AddResult:
        """Add one source, unless the file it was exported from is already present."""
        incoming = imported.source_input(collection)
        if existing := present.get(imported.sha256):
            return AddResult(
                incoming.asked, existing.id, existing.title, "unchanged", existing.passages, existing.pages
            )
        return self._library.pipeline.add_with_reader(incoming, imported.read, stop=stop)
