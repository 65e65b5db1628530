"""Export and import of collections, as the rest of the application sees them."""

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
    """Takes collections out and in. Safe to share between threads; several processes may work on one home."""

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
        """Writes a collection, or all, to a new folder (`langchain`) or file (`jsonl`); how many passages.

        Passages that the present model has not embedded are embedded first where vectors are wanted. Raises
        `BadRequest` when something is there already or nothing is to be exported, `HomeFault`, `ModelFault`, `Stopped`.
        """
        report, stop = progress or silent, stop or Stop()
        if format_ == "langchain" or vectors:
            self._library.fill_vectors(report, stop)
        export = PassageExport(self._database, self._library.space(), collection)
        if format_ == "langchain":
            return export_folder(export, destination, report, stop)
        return export_lines(export, destination, vectors, report, stop)

    def export_bytes(self, format_: ExportFormat, collection: str = "") -> bytes:
        """What `export` writes, as one file to hand over; a folder is zipped. Raises as `export` does."""
        with TemporaryDirectory(prefix="crag-export-") as work:
            made = Path(work) / "export"
            self.export(made, format_, collection=collection)
            if made.is_dir():
                made = Path(make_archive(str(made), "zip", made))
            return made.read_bytes()

    def backup_bytes(self) -> bytes:
        """A backup of the whole home to hand over. Raises as `write_backup` does."""
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
        """Adds the passages of a LangChain folder, a zip of one, or JSON Lines, each of their sources in one commit.

        A folder or file that cannot be read is refused as a whole, before its first source, as one failed result.
        `name` is what an upload is called; else the path tells it.
        Raises `BadRequest` for a collection name that cannot be, `HomeFault`, `Stopped`.
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
        """What `path` holds; `lines` is where those of a folder may be put. Raises `SourceRefused`, `Stopped`."""
        try:
            folder = path
            if not path.is_dir():
                if not is_zipfile(path):
                    return LinesBySource(path, name, stop)
                folder = lines.with_name("folder")
                unpack_folder(path, folder, stop)
            read_folder(folder, lines, space, stop)
            return LinesBySource(lines, name, stop)
        except (OSError, ValueError) as error:  # ValueError: a path with NUL in it
            raise SourceRefused("unreachable", f"“{name}” cannot be read.", "Check the path.") from error

    def _add(self, imported: ImportedSource, collection: str, present: Mapping[str, Source], stop: Stop) -> AddResult:
        """Where the file is present that the passages were exported from, they are there already."""
        incoming = imported.incoming(collection)
        if twin := present.get(imported.sha256):
            return AddResult(incoming.asked, twin.id, twin.title, "unchanged", twin.passages, twin.pages)
        return self._library.add_reading(incoming, imported.read, stop=stop)
