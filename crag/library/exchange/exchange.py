"""Export and import of collections, as the application uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shutil import make_archive
from tempfile import TemporaryDirectory
from typing import Literal
from zipfile import is_zipfile

from crag.database import Database
from crag.errors import ModelFault, SourceRefused
from crag.library.adding.adding import failed_result
from crag.library.cleaning import display_name
from crag.library.collections import collection_name
from crag.library.exchange.backup import write_backup
from crag.library.exchange.exported import PassageExport, export_lines
from crag.library.exchange.grouping import LinesBySource
from crag.library.exchange.imported import ImportedSource, pages_from_one
from crag.library.exchange.langchain_folder import export_folder, read_folder, unpack_folder
from crag.library.library import Library
from crag.progress import Report, silent
from crag.stopping import Stop
from crag.types import DEFAULT_COLLECTION, AddResult, Progress, Source, Space

ExportFormat = Literal["langchain", "jsonl"]


class Exchange:
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
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> int:
        """Write a collection, or all, to a new folder (`langchain`) or file (`jsonl`), and return the passage count.

        If vectors are needed, passages without a vector of the active space are embedded first.
        Raises `BadRequest` if the destination exists or nothing can be exported, `HomeFault`, `ModelFault`, `Stopped`.
        """
        report, stop = progress or silent, stop or Stop()
        if format_ == "langchain" or vectors:
            self._library.fill_vectors(report, stop)
        export = PassageExport(self._database, self._library.space(), collection)
        if format_ == "langchain":
            return export_folder(export, destination, report, stop)
        return export_lines(export, destination, vectors, report, stop)

    def export_bytes(self, format_: ExportFormat, collection: str = "") -> bytes:
        """Return the export as one download; a folder is zipped. Raises as `export` does."""
        with TemporaryDirectory(prefix="crag-export-") as work:
            made = Path(work) / "export"
            self.export(made, format_, collection=collection)
            if made.is_dir():
                made = Path(make_archive(str(made), "zip", made))
            return made.read_bytes()

    def backup_bytes(self) -> bytes:
        """Return a backup of the whole home as one download. Raises as `write_backup` does."""
        with TemporaryDirectory(prefix="crag-backup-") as work:
            made = Path(work) / "backup"
            write_backup(self._database, made, silent, Stop())
            return made.read_bytes()

    def import_(
        self,
        path: Path,
        *,
        collection: str = DEFAULT_COLLECTION,
        name: str = "",
        progress: Report | None = None,
        stop: Stop | None = None,
    ) -> Iterator[AddResult]:
        """Import the passages of a LangChain folder, a zip of one, or JSON Lines; each source in one commit.

        A folder or file that cannot be read is refused as a whole before its first source, as one failed result.
        `name` is the name of an upload; it defaults to the file name of the path.
        Raises `BadRequest` for an invalid collection name, `HomeFault`, `Stopped`.
        """
        report, stop = progress or silent, stop or Stop()
        collection, name = collection_name(collection), display_name(name or path.name)
        with TemporaryDirectory(prefix="crag-import-") as work:
            try:
                space = self._library.space()
                found = self._read(path, name, Path(work) / "lines", space, stop)
            except (SourceRefused, ModelFault) as error:
                yield failed_result(name, error)
                return
            present = {source.sha256: source for source in self._library.sources(collection)}
            for done, lines in enumerate(found):
                report(Progress("Importing documents", done, len(found)))
                imported = ImportedSource(pages_from_one(lines), space, self._count_tokens)
                yield self._add(imported, collection, present, stop)

    def _read(self, path: Path, name: str, lines: Path, space: Space, stop: Stop) -> LinesBySource:
        """Read `path`; the passages of a folder go to the file `lines` first. Raises `SourceRefused`, `Stopped`."""
        try:
            folder = path
            if not path.is_dir():
                if not is_zipfile(path):
                    return LinesBySource(path, name, stop)
                folder = lines.with_name("folder")
                unpack_folder(path, folder, stop)
            read_folder(folder, lines, space, stop)
            return LinesBySource(lines, name, stop)
        except (OSError, ValueError) as error:  # ValueError: a path that contains NUL
            raise SourceRefused("unreachable", f"“{name}” cannot be read.", "Check the path.") from error

    def _add(self, imported: ImportedSource, collection: str, present: Mapping[str, Source], stop: Stop) -> AddResult:
        """Add one source, unless the file it was exported from is already present."""
        incoming = imported.incoming(collection)
        if existing := present.get(imported.sha256):
            return AddResult(
                incoming.asked, existing.id, existing.title, "unchanged", existing.passages, existing.pages
            )
        return self._library.add_reading(incoming, imported.read, stop=stop)
