"""Reader for the pickle of a LangChain docstore that never executes any of it.

Two stand-in classes hold the data; nothing is called (see “Restricting Globals” in the documentation of Python).
Only the opcodes that Python writes for such a docstore are admitted. REDUCE, which calls functions, is refused
before the first byte is unpickled.
"""

from __future__ import annotations

import pickle
import pickletools
from typing import IO, Any

from crag.errors import SourceRefused

_ALLOWED_OPCODES = frozenset(
    """
    PROTO FRAME MARK STOP MEMOIZE BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT
    SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES EMPTY_LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1
    TUPLE2 TUPLE3 EMPTY_DICT SETITEM SETITEMS EMPTY_SET ADDITEMS STACK_GLOBAL NEWOBJ BUILD
    """.split()  # noqa: SIM905 — a list literal this long would hide the words
)
_DAMAGE_ERRORS = (pickle.UnpicklingError, ValueError, AttributeError, TypeError, IndexError, OverflowError)


class _PickledState:
    """Stand-in for a pickled object: holds its saved state, and has no method except the one that sets it."""

    __slots__ = ("state",)

    def __setstate__(self, state: object) -> None:
        self.state = state


class PickledDocument(_PickledState):
    """Stand-in for LangChain's `Document`."""

    __slots__ = ()


class PickledDocstore(_PickledState):
    """Stand-in for LangChain's `InMemoryDocstore`."""

    __slots__ = ()


# Module paths that LangChain has used over the years.
_STAND_INS: dict[tuple[str, str], type[_PickledState]] = {
    ("langchain_core.documents.base", "Document"): PickledDocument,
    ("langchain.schema.document", "Document"): PickledDocument,
    ("langchain.schema", "Document"): PickledDocument,
    ("langchain.docstore.document", "Document"): PickledDocument,
    ("langchain_community.docstore.in_memory", "InMemoryDocstore"): PickledDocstore,
    ("langchain.docstore.in_memory", "InMemoryDocstore"): PickledDocstore,
}


class _DocstoreUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_PickledState]:
        """Return the stand-in of an admitted class. Raises `SourceRefused` for any other class."""
        if found := _STAND_INS.get((module, name)):
            return found
        raise _unsupported_content_error(f"“{module[:60]}.{name[:60]}”")

    def persistent_load(self, pid: Any) -> Any:
        """Refuse references to external objects."""
        raise _unsupported_content_error(f"a reference to “{str(pid)[:60]}”")


def read_docstore(file: IO[bytes]) -> tuple[dict[str, tuple[str, dict[Any, Any]]], dict[int, str]]:
    """Return text and metadata by id, and ids by position in the index.

    Texts and ids are type-checked; metadata is untrusted.
    Raises `SourceRefused`, and `MemoryError` under a memory limit.
    """
    try:
        _check_opcodes(file)
        file.seek(0)
        held = _DocstoreUnpickler(file).load()
    except _DAMAGE_ERRORS as error:
        raise _damaged_pickle_error() from error
    if type(held) is not tuple or len(held) != 2 or type(held[0]) is not PickledDocstore or type(held[1]) is not dict:
        raise _unsupported_content_error("something else")
    documents = _get_field(held[0], "_dict")
    if type(documents) is not dict:
        raise _damaged_pickle_error()
    texts = {_require_type(key, str): _check_document(value) for key, value in documents.items()}
    return texts, {_require_type(place, int): _require_type(key, str) for place, key in held[1].items()}


def _check_opcodes(file: IO[bytes]) -> None:
    for opcode, _, _ in pickletools.genops(file):
        if opcode.name not in _ALLOWED_OPCODES:
            raise _unsupported_content_error(f"the instruction {opcode.name}")


def _check_document(value: object) -> tuple[str, dict[Any, Any]]:
    """Return text and metadata. Pydantic stores the fields of a document under `__dict__`."""
    fields = _get_field(value, "__dict__")
    text, metadata = (fields.get("page_content"), fields.get("metadata")) if type(fields) is dict else (None, None)
    return _require_type(text, str), _require_type(metadata, dict)


def _get_field(held: object, name: str) -> object:
    state = getattr(held, "state", None)
    return state.get(name) if type(state) is dict else None


def _require_type(value: object, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise _damaged_pickle_error()
    return value


def _unsupported_content_error(what: str) -> SourceRefused:
    return SourceRefused(
        "unsupported",
        f"The pickle in this folder contains {what} besides documents, so it was not read.",
        "Save the documents with plain metadata: text, numbers, yes and no.",
    )


def _damaged_pickle_error() -> SourceRefused:
    return SourceRefused("corrupt", "The pickle in this folder is damaged.", "Save the folder again with LangChain.")
