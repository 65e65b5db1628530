"""Collections out and in again: LangChain's folder as LangChain itself reads and writes it, and JSON Lines."""

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
from langchain_core.embeddings import Embeddings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

from crag.errors import BadRequest, SourceRefused
from crag.library.exchange import langchain_folder
from crag.library.exchange.exchange import Exchange
from crag.library.exchange.restricted_pickle import read_docstore
from tests.doubles.library import HashEmbedder

DOCSTORE = "langchain_community.docstore.in_memory"
KETTLES = b"# Kettles\nA kettle boils water.\nIt whistles when the water boils.\nDescale it.\nRinse it twice.\n"
CATS = b"A cat sleeps all day.\nA cat purrs.\n"


class AsLangChain(Embeddings):
    """The same embedder as a LangChain user would bring."""

    def __init__(self, embedder: HashEmbedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts):
        return self._embedder.embed_documents(texts).tolist()

    def embed_query(self, text):
        return self._embedder.embed_query(text).tolist()


@pytest.fixture
def exchange_of():
    return lambda library: Exchange(library._database, library, lambda text: len(text.split()))


@pytest.fixture
def exchange(library, exchange_of):
    return exchange_of(library)


@pytest.fixture
def filled(library):
    library.add_bytes("kettles.md", KETTLES)
    library.add_bytes("cats.md", CATS, collection="Animals")
    return library


@pytest.fixture
def other(tmp_path, reopen, embedder, reader):
    """A second home."""
    from tests.doubles.library import open_library

    opened = open_library(tmp_path / "other", embedder=embedder, read=reader)
    yield opened
    opened._database.close()


def passages(library):
    """What is known of every passage, but ids."""
    found = [library.passage(hit.id) for hit in library.search("cat kettle water it", k=50)]
    return sorted((one.title, one.location, one.text, one.page or 0, one.heading, one.context) for one in found)


def load(folder, embedder):
    return FAISS.load_local(str(folder), AsLangChain(embedder), allow_dangerous_deserialization=True)


def save(folder, texts, embedder, **options):
    documents = [Document(page_content=text, metadata=metadata) for text, metadata in texts]
    FAISS.from_documents(documents, AsLangChain(embedder), **options).save_local(str(folder))
    return folder


def only(results):
    (result,) = results
    return result


def test_langchain_reads_what_is_exported(exchange, filled, embedder, tmp_path, caplog):
    assert exchange.export(tmp_path / "out", "langchain") == 6
    assert caplog.records == []
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"index.faiss", "index.pkl", "space.json"}
    store = load(tmp_path / "out", embedder)
    for query in ("Which animal sleeps all day?", "whistles", "rinse"):
        found, score = store.similarity_search_with_score(query, k=1)[0]
        nearest = filled.search(query, k=1)[0]
        assert (found.page_content, found.metadata["passage_id"]) == (nearest.text, nearest.id)
        apart = embedder.embed_query(query) - embedder.embed_documents([f"{nearest.heading}\n{nearest.text}"])[0]
        assert nearest.heading == "" or score == pytest.approx(float(apart @ apart), abs=1e-5)
    rinse = store.similarity_search("rinse twice", k=1)[0]
    assert {name: rinse.metadata[name] for name in ("source", "title", "page", "heading")} == {
        "source": "kettles.md",
        "title": "kettles.md",
        "page": 2,
        "heading": "Kettles",
    }


def test_exporting_embeds_nothing_again_and_one_collection_alone(exchange, filled, embedder, tmp_path):
    before = embedder.embedded
    assert exchange.export(tmp_path / "out", "langchain", collection="Animals") == 2
    assert embedder.embedded == before
    assert load(tmp_path / "out", embedder).index.ntotal == 2


def test_what_is_there_is_never_written_over(exchange, filled, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("there", "link"):
        for format_ in ("langchain", "jsonl"):
            with pytest.raises(BadRequest, match="exists already"):
                exchange.export(tmp_path / name, format_)
    assert list((tmp_path / "there").iterdir()) == []


def test_nothing_is_not_exported(exchange, tmp_path):
    with pytest.raises(BadRequest, match="nothing to export"):
        exchange.export(tmp_path / "out", "jsonl")
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


@pytest.mark.parametrize(("format_", "vectors"), [("langchain", False), ("jsonl", False), ("jsonl", True)])
def test_a_round_trip_keeps_every_passage(exchange, exchange_of, filled, other, embedder, tmp_path, format_, vectors):
    exchange.export(tmp_path / "out", format_, vectors=vectors)
    before = embedder.embedded
    results = list(exchange_of(other).import_(tmp_path / "out", collection="Back"))
    assert [(result.title, result.status, result.passages) for result in results] == [
        ("kettles.md", "added", 4),
        ("cats.md", "added", 2),
    ]
    assert passages(other) == passages(filled)
    assert [source.collection for source in other.sources()] == ["Back", "Back"]
    assert (embedder.embedded == before) == (format_ == "langchain" or vectors)
    again = list(exchange_of(other).import_(tmp_path / "out", collection="Back"))
    assert {result.status for result in again} == {"unchanged"}
    home = list(exchange.import_(tmp_path / "out"))
    assert [result.status for result in home] == ["unchanged", "added"]  # the second was not in this collection


def test_what_was_imported_goes_out_and_in_again_unchanged(exchange_of, filled, other, tmp_path):
    exchange_of(filled).export(tmp_path / "first", "jsonl")
    list(exchange_of(other).import_(tmp_path / "first"))
    exchange_of(other).export(tmp_path / "second", "jsonl")
    assert {result.status for result in exchange_of(other).import_(tmp_path / "second")} == {"unchanged"}


def test_vectors_of_another_space_or_unsound_ones_are_made_anew(
    exchange, exchange_of, filled, other, embedder, tmp_path
):
    exchange.export(tmp_path / "lines", "jsonl", vectors=True)
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()]
    for n, spoil in enumerate(({"space": "another"}, {"vector": [float("nan")] * 64}, {"vector": [1.0, 0.0]})):
        path = tmp_path / f"spoiled-{n}"
        path.write_text("".join(json.dumps(line | spoil) + "\n" for line in lines))
        before = embedder.embedded
        results = list(exchange_of(other).import_(path, collection=f"Collection {n}"))
        assert [result.status for result in results] == ["added", "added"]
        assert embedder.embedded == before + 6
        nearest = other.search("whistles", k=1, collection=f"Collection {n}")
        assert [passage.text for passage in nearest] == ["It whistles when the water boils."]


def test_an_imported_source_is_shown_without_a_file_to_read_again(exchange, library, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("A stranger's folder may not name this.")
    path = tmp_path / "lines.jsonl"
    path.write_text(json.dumps({"text": "A cat sleeps.", "metadata": {"source": str(secret), "page": 3}}) + "\n")
    added = only(exchange.import_(path))
    source = library.source(added.id)
    assert (source.kind, source.location, source.pages, source.title) == ("imported", str(secret), 3, "secret.txt")
    assert only(library.refresh([added.id])).status == "unchanged"
    assert library.search("cat", k=1)[0].text == "A cat sleeps."
    assert b"A cat sleeps." in library.original(added.id).read_bytes()


def test_lines_of_others_become_one_source_for_each_they_name(exchange, library, tmp_path):
    path = tmp_path / "theirs.jsonl"
    lines = [
        {"page_content": "First of a.", "metadata": {"source": "a.pdf", "page": 0}},
        {"text": "First of b.", "metadata": {"source": "https://me:secret@example.com/b"}},
        {"page_content": "Second of a.", "metadata": {"source": "a.pdf", "page": 1, "tags": ["x"], "n": None}},
        {"text": "Of nobody."},
    ]
    path.write_text("\n\n".join(json.dumps(line) for line in lines))
    assert [(one.title, one.passages, one.pages) for one in exchange.import_(path)] == [
        ("a.pdf", 2, 2),
        ("b", 1, None),
        ("theirs.jsonl", 1, None),
    ]
    first, second = sorted(
        (hit.page, hit.text) for hit in library.search("a first second", k=9) if hit.title == "a.pdf"
    )
    assert (first, second) == ((1, "First of a."), (2, "Second of a."))
    assert "secret" not in "".join(source.location for source in library.sources())


def test_a_whole_document_on_one_line_is_cut(exchange, library, tmp_path):
    path = tmp_path / "long.jsonl"
    paragraphs = "\n\n".join(f"Paragraph {n} speaks of topic {n} and of nothing else at all." for n in range(300))
    path.write_text(json.dumps({"text": paragraphs, "metadata": {"source": "long.txt"}}))
    assert only(exchange.import_(path)).passages > 5
    assert library.search("topic 123", k=1)[0].text.count("Paragraph") < 60


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no passage"),
        ("{", "Line 1 is not JSON"),
        ("[" * 100_000, "Line 1 is not JSON"),
        ('{"text": "Good."}\n{"text": " "}', "Line 2 has no text"),
        ('{"text": "Good."}\n[1]', "Line 2 has no text"),
        ('{"text": "Good.", "metadata": 3}', "metadata"),
        ('{"text": 1' + "0" * 5000 + "}", "Line 1"),
        ("\x00\xff", "Line 1 is not JSON"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(exchange, library, tmp_path, content, words):
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="latin-1")
    result = only(exchange.import_(path))
    assert (result.status, result.id) == ("failed", None)
    assert words in result.error.message
    assert library.sources() == []


@pytest.mark.parametrize("name", ["nowhere", "nul\x00", "home"])
def test_what_is_no_export_is_refused(exchange, library, tmp_path, name):
    result = only(exchange.import_(tmp_path / name))
    assert result.error.code in ("unreachable", "unsupported")


# LangChain's own folders ---------------------------------------------------------------------------------------------

THEIRS = [
    ("A cat sleeps.", {"source": "/docs/cats.pdf", "page": 0, "page_label": "i", "total_pages": 2}),
    ("A dog barks.", {"source": "/docs/dogs.txt", "score": 0.5, "nested": {"a": [1]}, "none": None}),
    ("A cat purrs.", {"source": "/docs/cats.pdf", "page": 1, "page_label": "1"}),
]


def test_a_folder_of_langchain_is_embedded_anew_whatever_made_it(exchange, library, tmp_path):
    folder = save(tmp_path / "theirs", THEIRS, HashEmbedder("theirs", 48))
    results = list(exchange.import_(folder))
    assert [(one.title, one.passages, one.pages) for one in results] == [("cats.pdf", 2, 2), ("dogs.txt", 1, None)]
    hit = library.search("Who barks?", k=1)[0]
    assert (hit.text, hit.location) == ("A dog barks.", "/docs/dogs.txt")
    assert sorted(hit.page for hit in library.search("cat", k=2)) == [1, 2]
    assert {result.status for result in exchange.import_(folder)} == {"unchanged"}


def test_a_zipped_folder_is_read_like_the_folder(exchange, exchange_of, filled, other, tmp_path):
    (tmp_path / "out.zip").write_bytes(exchange.export_bytes("langchain"))
    assert {one.status for one in exchange_of(other).import_(tmp_path / "out.zip")} == {"added"}
    assert passages(other) == passages(filled)


@pytest.mark.parametrize("names", [["../../index.faiss", "/x/index.pkl"], ["other.txt"], []])
def test_a_zip_of_something_else_is_refused_and_written_nowhere(exchange, library, tmp_path, names):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    assert only(exchange.import_(tmp_path / "a.zip")).error.code in ("corrupt", "unsupported")
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "home"}


def test_a_space_that_is_not_named_in_full_brings_no_vectors(exchange, exchange_of, filled, other, embedder, tmp_path):
    exchange.export(tmp_path / "out", "langchain")
    space = json.loads((tmp_path / "out" / "space.json").read_text())
    (tmp_path / "out" / "space.json").write_text(json.dumps(space | {"digest": "another"}))
    before = embedder.embedded
    assert {one.status for one in exchange_of(other).import_(tmp_path / "out")} == {"added"}
    assert embedder.embedded == before + 6


def test_a_folder_whose_vectors_are_not_of_its_space_is_refused(exchange, filled, other, exchange_of, tmp_path):
    exchange.export(tmp_path / "out", "langchain")
    index = faiss.IndexFlatL2(32)
    index.add(np.ones((6, 32), dtype=np.float32))
    faiss.write_index(index, str(tmp_path / "out" / "index.faiss"))
    result = only(exchange_of(other).import_(tmp_path / "out"))
    assert result.error.code == "corrupt"
    assert "not of the space" in result.error.message


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
    result = only(exchange.import_(folder))
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
def test_a_pickle_that_would_do_anything_is_refused_and_does_nothing(tmp_path, name, protocol):
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
    result = only(exchange.import_(folder))
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

    monkeypatch.setattr(langchain_folder, "LIMITS", replace(langchain_folder.LIMITS, characters=1_000_000))
    text = "x" * 50_000
    store = InMemoryDocstore({str(n): Document(page_content=text, metadata={}) for n in range(40)})
    index = faiss.IndexFlatL2(4)
    index.add(np.eye(40, 4, dtype=np.float32))
    FAISS(len, index, store, {n: str(n) for n in range(40)}).save_local(str(tmp_path / "theirs"))
    assert only(exchange.import_(tmp_path / "theirs")).error.code == "too_large"
