"""Child process that reads one LangChain folder and writes passage lines.

The pickle comes from standard input. After the passages comes `{"end": true}` or
`{"refused": [code, message, remedy]}`.
"""

from __future__ import annotations

import sys
from typing import Any

import faiss
import numpy as np

from crag.errors import SourceRefused
from crag.ingest.parse.confinement import SendReply, run_confined
from crag.ingest.parse.document import ParseLimits, too_much_text_refusal
from crag.sharing.restricted_pickle import read_docstore

_PLAIN_TYPES = (str, int, float, bool)
_INTEGER_BOUND = 1 << 63


def main() -> None:
    """Read the folder and write the answer."""
    run_confined(_read_folder)


def _read_folder(request: dict[str, Any], limits: ParseLimits, answer: SendReply) -> None:
    documents, places = read_docstore(sys.stdin.buffer)
    rows = _load_vectors(request, places)
    written = 0
    for place in range(len(places)):
        text, metadata = _get_document(documents, places, place)
        written += len(text) + sum(len(value) for value in metadata.values() if isinstance(value, str))
        if written > limits.characters:
            raise too_much_text_refusal(limits)
        vector = {"vector": rows[place].tolist(), "space": request["space"]} if rows is not None else {}
        answer({"text": text, "metadata": metadata} | vector)
    answer({"end": True})


def _get_document(
    documents: dict[str, tuple[str, dict[Any, Any]]], places: dict[int, str], place: int
) -> tuple[str, dict[str, Any]]:
    """Return text and plain metadata of one position in the index."""
    if place not in places or places[place] not in documents:
        raise _damaged_folder_error("its index refers to documents that are missing")
    text, metadata = documents[places[place]]
    return text, {key: value for key, value in metadata.items() if type(key) is str and _is_plain(value)}


def _is_plain(value: object) -> bool:
    if type(value) is list:
        return len(value) <= 2 and all(type(one) is int and _is_plain(one) for one in value)
    return type(value) in _PLAIN_TYPES and not (type(value) is int and abs(value) >= _INTEGER_BOUND)


def _load_vectors(request: dict[str, Any], places: dict[int, str]) -> Any:
    """Check the index and return its vectors by row, or None if they are of another space or not stored exactly."""
    try:
        index = faiss.read_index(request["index"])
    except RuntimeError as error:
        raise _damaged_folder_error("its index cannot be read") from error
    if index.ntotal != len(places):
        raise _damaged_folder_error(f"its index holds {index.ntotal:,} vectors for {len(places):,} documents")
    if not request["space"] or not isinstance(index, faiss.IndexFlat):
        return None
    if index.d != request["dimension"]:
        raise _damaged_folder_error("its vectors do not belong to the embedding space it names")
    return faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d).reshape(index.ntotal, index.d).astype(np.float32)


def _damaged_folder_error(what: str) -> SourceRefused:
    return SourceRefused("corrupt", f"The folder is damaged: {what}.", "Save it again with LangChain.")


if __name__ == "__main__":
    main()
