"""LangChain FAISS folders: written by LangChain itself, read in a child process that can be killed."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from crag.cancellation import Cancellation
from crag.errors import ModelFault, SourceRefused
from crag.ingest.parse.child_process import ChildProcess, child_failure, kill_after, run_child
from crag.ingest.parse.document import ParseLimits, too_large_refusal
from crag.ingest.parse.zip_container import ZIP_ERRORS
from crag.sharing.backup import copy_and_hash
from crag.sharing.passage_lines import SPACE_FILE, ExportedPassage, PassageExport, write_space
from crag.storage.files import check_absent, move_into_place, staging_folder
from crag.types import EmbeddingSpace, ProgressCallback

if TYPE_CHECKING:
    from langchain_core.documents import Document


INDEX_FILE, PICKLE_FILE = "index.faiss", "index.pkl"
CHILD_LIMITS = ParseLimits(
    size=512 * 1024 * 1024, memory=6 * 1024 * 1024 * 1024, characters=1_000_000_000, seconds=300.0
)
_BATCH_SIZE = 1000
_MAX_SPACE_FILE_BYTES = 10_000


def export_langchain_folder(
    export: PassageExport, destination: Path, report: ProgressCallback, stop: Cancellation
) -> int:
    """Write the folder that `FAISS.load_local` reads, and return the passage count. Raises as `export_lines` does."""
    check_absent(destination)
    with staging_folder(destination) as work, export.open(report, stop) as exported:
        count = _save_faiss_folder(exported, export.space.dimension, work / "folder")
        write_space(work / "folder" / SPACE_FILE, export.space)
        move_into_place(work / "folder", destination)
    return count


def _save_faiss_folder(exported: Iterator[ExportedPassage], dimension: int, folder: Path) -> int:
    """Write index and docstore. Vectors have length 1, so the Euclidean distance of `load_local` ranks like cosine."""
    import faiss
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package is archived; only its folder format is used
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.vectorstores import FAISS
        from langchain_core.documents import Document
        from langchain_core.embeddings import FakeEmbeddings

    index = faiss.IndexFlatL2(dimension)
    documents: dict[str, Document] = {}
    while batch := list(islice(exported, _BATCH_SIZE)):
        index.add(np.stack([_require_vector(passage) for passage in batch]))
        documents |= {
            str(one.id): Document(id=str(one.id), page_content=one.text, metadata=one.metadata) for one in batch
        }
    unused = FakeEmbeddings(size=dimension)  # the store is only saved, never queried
    store = FAISS(unused, index, InMemoryDocstore(documents), dict(enumerate(documents)))
    store.save_local(str(folder))
    return len(documents)


def _require_vector(passage: ExportedPassage) -> Any:
    if passage.vector is None:  # added by another process with another model since the vectors were filled in
        raise ModelFault("embedding_failed", "A document without vectors was just added.", "Try again.", "passing")
    return passage.vector


def read_langchain_folder(folder: Path, lines: Path, space: EmbeddingSpace, stop: Cancellation) -> None:
    """Write the passages of a folder to the file `lines`, with vectors if they belong to this space.

    Raises `SourceRefused` (`corrupt`, `unsupported`, `too_large`, `too_slow`), `Stopped`, `OSError`.
    """
    for name in (INDEX_FILE, PICKLE_FILE):
        if not (folder / name).is_file():
            raise SourceRefused(
                "unsupported", f"There is no file {name} in this folder.", "Choose one saved by LangChain."
            )
    request = {
        "index": str((folder / INDEX_FILE).resolve()),
        "space": space.id if describes_space(folder / SPACE_FILE, space) else "",
        "dimension": space.dimension,
    }
    with (
        run_child("crag.sharing.langchain_child", request, folder / PICKLE_FILE, CHILD_LIMITS, stop) as child,
        kill_after(child, CHILD_LIMITS.seconds) as late,
    ):
        last = _copy_lines(child, lines)
    _check_child_result(child, last, late.is_set())


def unpack_langchain_zip(archive: Path, folder: Path, stop: Cancellation) -> None:
    """Extract the three files of a folder from a zip and ignore all others. Raises `SourceRefused`, `Stopped`."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                name = PurePosixPath(info.filename).name
                if name not in (INDEX_FILE, PICKLE_FILE, SPACE_FILE) or (folder / name).exists():
                    continue
                if info.file_size > CHILD_LIMITS.size:  # reading stops at this declared size
                    raise too_large_refusal(f"The folder has more than {CHILD_LIMITS.size / 1_048_576:,.0f} MB.")
                with packed.open(info) as file, (folder / name).open("xb") as target:
                    copy_and_hash(file.read, target.write, stop)
    except ZIP_ERRORS as error:
        raise SourceRefused("corrupt", "The zip file is damaged.", "Zip the folder again.") from error


def describes_space(path: Path, space: EmbeddingSpace) -> bool:
    """Return whether the file describes exactly this space, in every field."""
    try:
        with path.open("rb") as file:
            fields = json.loads(file.read(_MAX_SPACE_FILE_BYTES))
        return {name: fields[name] for name in asdict(space)} == asdict(space)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _copy_lines(child: ChildProcess, lines: Path) -> dict[str, Any]:
    """Copy the child's output and return its last line, the result; empty if the child died before."""
    assert child.stdout  # noqa: S101 — opened as a pipe
    last: bytes = b""
    with lines.open("xb") as file:
        for line in child.stdout:
            if last:
                file.write(last)
            last = line
    try:
        ended = json.loads(last)
    except ValueError:
        return {}
    return ended if isinstance(ended, dict) else {}


def _check_child_result(child: ChildProcess, last: dict[str, Any], late: bool) -> None:
    if "refused" in last:
        raise SourceRefused(*last["refused"])
    if "end" in last:
        return
    raise child_failure(child, late, CHILD_LIMITS)
