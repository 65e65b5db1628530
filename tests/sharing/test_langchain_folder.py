"""LangChain's FAISS folders written by others: sound, damaged and hostile."""

import io
import json
import os
import pickle
import warnings
import zipfile
from pathlib import Path

import faiss
import numpy as np
import pytest
from langchain_core.documents import Document

from crag.errors import SourceRefused
from crag.sharing import langchain_folder
from crag.sharing.restricted_pickle import read_docstore
from tests.doubles.library import HashEmbedder
from tests.sharing.contents import only, passages
from tests.sharing.langchain import load, save

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

DOCSTORE = "langchain_community.docstore.in_memory"


THEIRS = [
    ("A cat sleeps.", {"source": "/docs/cats.pdf", "page": 0, "page_label": "i", "total_pages": 2}),
    ("A dog barks.", {"source": "/docs/dogs.txt", "score": 0.5, "nested": {"a": [1]}, "none": None}),
    ("A cat purrs.", {"source": "/docs/cats.pdf", "page": 1, "page_label": "1"}),
]


def test_a_folder_of_langchain_is_embedded_anew_whatever_made_it(exchange, library, tmp_path):
    folder = save(tmp_path / "theirs", THEIRS, HashEmbedder("theirs", 48))
    results = list(exchange.import_passages(folder))
    assert [(one.title, one.passages, one.pages) for one in results] == [("cats.pdf", 2, 2), ("dogs.txt", 1, None)]
    hit = library.search("Who barks?", k=1)[0]
    assert (hit.text, hit.location) == ("A dog barks.", "/docs/dogs.txt")
    assert sorted(hit.page for hit in library.search("cat", k=2)) == [1, 2]
    assert {result.status for result in exchange.import_passages(folder)} == {"unchanged"}


def test_a_zipped_folder_is_read_like_the_folder(exchange, exchange_of, filled, other, tmp_path):
    (tmp_path / "out.zip").write_bytes(exchange.export_bytes("langchain"))
    assert {one.status for one in exchange_of(other).import_passages(tmp_path / "out.zip")} == {"added"}
    assert passages(other) == passages(filled)


@pytest.mark.parametrize("names", [["../../index.faiss", "/x/index.pkl"], ["other.txt"], []])
def test_a_zip_of_something_else_is_refused_and_written_nowhere(exchange, library, tmp_path, names):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    assert only(exchange.import_passages(tmp_path / "a.zip")).error.code in ("corrupt", "unsupported")
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "home"}


def test_a_space_that_is_not_named_in_full_brings_no_vectors(exchange, exchange_of, filled, other, embedder, tmp_path):
    exchange.export(tmp_path / "out", "langchain")
    space = json.loads((tmp_path / "out" / "space.json").read_text())
    (tmp_path / "out" / "space.json").write_text(json.dumps(space | {"digest": "another"}))
    before = embedder.embedded
    assert {one.status for one in exchange_of(other).import_passages(tmp_path / "out")} == {"added"}
    assert embedder.embedded == before + 6


def test_a_folder_whose_vectors_are_not_of_its_space_is_refused(exchange, filled, other, exchange_of, tmp_path):
    exchange.export(tmp_path / "out", "langchain")
    index = faiss.IndexFlatL2(32)
    index.add(np.ones((6, 32), dtype=np.float32))
    faiss.write_index(index, str(tmp_path / "out" / "index.faiss"))
    result = only(exchange_of(other).import_passages(tmp_path / "out"))
    assert result.error.code == "corrupt"
    assert "not belong to the embedding space" in result.error.message


def damage(folder, how):
    """Spoils a folder that LangChain saved."""
    index, held = folder / "index.faiss", folder / "index.pkl"
    if how == "torn":  # as an interrupted save leaves it
        store = load(folder, HashEmbedder())
        store.add_texts(["One more."])
        faiss.write_index(store.index, str(index))
    elif how == "no index":
        index.unlink()
    elif how == "index cut":
        index.write_bytes(index.read_bytes()[:100])
    elif how == "pickle cut":
        held.write_bytes(held.read_bytes()[:-200])
    elif how == "pickle empty":
        held.write_bytes(b"")
    elif how == "places missing":
        store = load(folder, HashEmbedder())
        held.write_bytes(pickle.dumps((store.docstore, {0: "nobody", 1: "nobody", 2: "nobody"})))


@pytest.mark.parametrize("how", ["torn", "no index", "index cut", "pickle empty", "pickle cut", "places missing"])
def test_a_damaged_folder_is_refused_whole(exchange, library, tmp_path, how):
    folder = save(tmp_path / "theirs", THEIRS, HashEmbedder())
    damage(folder, how)
    result = only(exchange.import_passages(folder))
    assert result.error.code in ("corrupt", "unsupported", "empty")
    assert library.sources() == []


class Calls:
    """Pickles as a call of anything."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class Worse(Document):
    """A document of another class."""


def hostile(canary: Path) -> dict[str, object]:
    touch = f"touch {canary}"
    document = Document(page_content="x", metadata={})
    return {
        "os.system": Calls(os.system, touch),
        "eval": Calls(eval, f"open({str(canary)!r}, 'w')"),
        "exec": Calls(exec, f"open({str(canary)!r}, 'w')"),
        "subprocess": Calls(__import__("subprocess").call, ["touch", str(canary)]),
        "open": Calls(open, str(canary), "w"),
        "import": Calls(__import__, "os"),
        "in metadata": InMemoryDocstore({"1": Document(page_content="x", metadata={"a": Calls(os.system, touch)})}),
        "subclass": InMemoryDocstore({"1": Worse(page_content="x")}),
        "path": InMemoryDocstore({"1": Document(page_content="x", metadata={"source": canary})}),
        "state of the class": Calls(setattr, type(document), "page_content"),
    }


@pytest.mark.parametrize("name", list(hostile(Path("x"))))
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_malicious_pickle_is_refused_and_not_run(tmp_path, name, protocol):
    canary = tmp_path / "canary"
    written = pickle.dumps((hostile(canary)[name], {0: "1"}), protocol=protocol)
    with pytest.raises(SourceRefused, match="besides documents") as refused:
        read_docstore(io.BytesIO(written))
    assert refused.value.code == "unsupported"
    assert not canary.exists()


def test_a_folder_with_such_a_pickle_is_refused_whole(exchange, library, tmp_path):
    canary = tmp_path / "canary"
    folder = save(tmp_path / "theirs", THEIRS[:1], HashEmbedder())
    (folder / "index.pkl").write_bytes(pickle.dumps((hostile(canary)["in metadata"], {0: "1"})))
    result = only(exchange.import_passages(folder))
    assert (result.error.code, result.id) == ("unsupported", None)
    assert not canary.exists()
    assert library.sources() == []


def test_the_canary_would_be_there_if_anything_were_called(tmp_path):
    pickle.loads(pickle.dumps((hostile(tmp_path / "canary")["os.system"], {0: "1"})))  # noqa: S301 — what is refused above
    assert (tmp_path / "canary").exists()


@pytest.mark.parametrize("module", ["langchain.schema", "langchain.schema.document", "langchain.docstore.document"])
def test_documents_of_older_versions_are_read(module):
    """Their pickles name the same classes by other modules."""
    store = InMemoryDocstore({"1": Document(page_content="An old text.", metadata={"source": "a"})})
    written = pickle.dumps((store, {0: "1"}))
    for new, old in (("langchain_core.documents.base", module), (DOCSTORE, "langchain.docstore.in_memory")):
        written = written.replace(
            b"\x8c" + bytes([len(new)]) + new.encode(), b"\x8c" + bytes([len(old)]) + old.encode()
        )
    unframed = written[:2] + written[11:]  # the length of the frame is no longer right, and need not be there
    assert read_docstore(io.BytesIO(unframed)) == ({"1": ("An old text.", {"source": "a"})}, {0: "1"})


STACK_GLOBAL_CHAIN = b"\x80\x04\x8c\x1dlangchain_core.documents.base\x8c\x1cDocument.__init__.__globals__\x93."
OPCODES = {
    "getattr chain": STACK_GLOBAL_CHAIN,
    "builtins": b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85\x81.",
    "instance": b"(S'touch canary'\nios\nsystem\n.",
    "object": b"(cos\nsystem\nS'touch canary'\no.",
    "persistent": b"\x80\x04\x8c\x01x\x51.",
    "extension": b"\x80\x04\x82\x01.",
    "new object": b"\x80\x04\x8c\x02os\x8c\x06system\x93)}\x92.",
    "endless text": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fx.",
    "far memo": b"\x80\x04Nr\xff\xff\xff\x7f.",
    "text": b"not a pickle",
    "a list": pickle.dumps(["a list"]),
    "class as state": b"\x80\x04\x8c\x1dlangchain_core.documents.base\x8c\x08Document\x93}\x8c\x01a\x8c\x01bsb.",
}


@pytest.mark.parametrize("name", list(OPCODES))
def test_instructions_written_by_hand_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceRefused):
        read_docstore(io.BytesIO(OPCODES[name]))
    assert list(tmp_path.iterdir()) == []


def test_a_text_that_is_named_a_million_times_is_too_large(exchange, library, tmp_path, monkeypatch):
    """A pickle of some kilobytes may name one text as often as it likes."""
    from dataclasses import replace

    monkeypatch.setattr(langchain_folder, "CHILD_LIMITS", replace(langchain_folder.CHILD_LIMITS, characters=1_000_000))
    text = "x" * 50_000
    store = InMemoryDocstore({str(n): Document(page_content=text, metadata={}) for n in range(40)})
    index = faiss.IndexFlatL2(4)
    index.add(np.eye(40, 4, dtype=np.float32))
    FAISS(len, index, store, {n: str(n) for n in range(40)}).save_local(str(tmp_path / "theirs"))
    assert only(exchange.import_passages(tmp_path / "theirs")).error.code == "too_large"


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\x80\x04.",  # nothing to return
        b"\x80\x04\x8fK\x01a.",  # appended to a set
        b"\x80\x04\x8fK\x01K\x02s.",  # an item of a set
        b"\x80\x04]K\x05K\x01s.",  # the sixth item of an empty list
        b"\x80\x04\x95" + b"\xff" * 8 + b".",  # a frame longer than any file
    ],
)
def test_a_pickle_that_cannot_be_followed_is_damaged(written):
    with pytest.raises(SourceRefused, match="is damaged"):
        read_docstore(io.BytesIO(written))


def store_of(documents):
    store = InMemoryDocstore()
    store.__dict__ = {"_dict": documents}
    return store


def document_of(**fields):
    document = Document(page_content="x", metadata={})
    document.__dict__.update(fields)
    return document


@pytest.mark.parametrize(
    "held", [[], [store_of({}), {}], (store_of({}),), (store_of({}), {}, {}), ({}, {}), (store_of({}), [])]
)
def test_a_pickle_of_something_else_is_refused(held):
    with pytest.raises(SourceRefused, match="something else besides documents"):
        read_docstore(io.BytesIO(pickle.dumps(held)))


@pytest.mark.parametrize(
    ("documents", "places"),
    [
        ([], {}),
        ({"1": "x"}, {}),
        ({1: document_of()}, {}),
        ({"1": document_of(page_content=1)}, {}),
        ({"1": document_of(metadata=[])}, {}),
        ({"1": document_of()}, {"a": "1"}),
        ({"1": document_of()}, {0: 1}),
    ],
)
def test_a_pickle_whose_parts_have_other_types_is_damaged(documents, places):
    with pytest.raises(SourceRefused, match="is damaged"):
        read_docstore(io.BytesIO(pickle.dumps((store_of(documents), places))))
