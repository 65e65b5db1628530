"""Reads the pickle of a LangChain docstore without running any of it: two classes stand for data, nothing is called.

Python's documentation, “Restricting Globals”. On top of that only those opcodes are let in that Python writes for
such a docstore, so REDUCE, which calls things, is refused before the first byte is unpickled.
"""

from __future__ import annotations

import pickle
import pickletools
from typing import IO, Any

from crag.errors import SourceRefused

_OPCODES = frozenset(
    """
    PROTO FRAME MARK STOP MEMOIZE BINGET LONG_BINGET NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT
    SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES EMPTY_LIST APPEND APPENDS EMPTY_TUPLE TUPLE TUPLE1
    TUPLE2 TUPLE3 EMPTY_DICT SETITEM SETITEMS EMPTY_SET ADDITEMS STACK_GLOBAL NEWOBJ BUILD
    """.split()  # noqa: SIM905 — a list of so many would hide the words
)
_DAMAGED = (
    pickle.UnpicklingError,
    ValueError,
    EOFError,
    AttributeError,
    TypeError,
    KeyError,
    IndexError,
    OverflowError,
)


class _Held:
    """What stands for an object of the pickle: the state it was saved with, and no method but to take that."""

    __slots__ = ("state",)

    def __setstate__(self, state: object) -> None:
        self.state = state


class Document(_Held):
    """Stands for LangChain's `Document`."""

    __slots__ = ()


class Docstore(_Held):
    """Stands for LangChain's `InMemoryDocstore`."""

    __slots__ = ()


# Where LangChain has had them over the years.
_CLASSES: dict[tuple[str, str], type[_Held]] = {
    ("langchain_core.documents.base", "Document"): Document,
    ("langchain.schema.document", "Document"): Document,
    ("langchain.schema", "Document"): Document,
    ("langchain.docstore.document", "Document"): Document,
    ("langchain_community.docstore.in_memory", "InMemoryDocstore"): Docstore,
    ("langchain.docstore.in_memory", "InMemoryDocstore"): Docstore,
}


class _DocumentsOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[_Held]:
        """The stand-in of an admitted class. Raises `SourceRefused` for everything else."""
        if found := _CLASSES.get((module, name)):
            return found
        raise _refused(f"“{module[:60]}.{name[:60]}”")

    def persistent_load(self, pid: Any) -> Any:
        """Nothing is fetched from elsewhere."""
        raise _refused(f"a reference to “{str(pid)[:60]}”")


def read_docstore(file: IO[bytes]) -> tuple[dict[str, tuple[str, dict[Any, Any]]], dict[int, str]]:
    """Text and metadata by id, and the ids by place in the index; texts and ids are checked, metadata are foreign data.

    Raises `SourceRefused`, and `MemoryError` where memory is bounded.
    """
    try:
        _check_opcodes(file)
        file.seek(0)
        held = _DocumentsOnly(file).load()
    except _DAMAGED as error:
        raise _damaged() from error
    if type(held) is not tuple or len(held) != 2 or type(held[0]) is not Docstore or type(held[1]) is not dict:
        raise _refused("something else")
    documents = _get(held[0], "_dict")
    if type(documents) is not dict:
        raise _damaged()
    texts = {_checked(key, str): _document(value) for key, value in documents.items()}
    return texts, {_checked(place, int): _checked(key, str) for place, key in held[1].items()}


def _check_opcodes(file: IO[bytes]) -> None:
    for opcode, _, _ in pickletools.genops(file):
        if opcode.name not in _OPCODES:
            raise _refused(f"the instruction {opcode.name}")


def _document(value: object) -> tuple[str, dict[Any, Any]]:
    """Pydantic keeps the fields of a document under `__dict__`."""
    if type(value) is not Document:
        raise _damaged()
    fields = _get(value, "__dict__")
    text, metadata = (fields.get("page_content"), fields.get("metadata")) if type(fields) is dict else (None, None)
    return _checked(text, str), _checked(metadata, dict)


def _get(held: _Held, name: str) -> object:
    state = getattr(held, "state", None)
    return state.get(name) if type(state) is dict else None


def _checked(value: object, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise _damaged()
    return value


def _refused(what: str) -> SourceRefused:
    return SourceRefused(
        "unsupported",
        f"The pickle in this folder holds {what} besides documents, so none of it was read.",
        "Save the documents with plain metadata: text, numbers, yes and no.",
    )


def _damaged() -> SourceRefused:
    return SourceRefused("corrupt", "The pickle in this folder is damaged.", "Save the folder anew with LangChain.")
