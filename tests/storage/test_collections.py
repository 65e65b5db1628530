"""Collections: create, rename, delete, move documents; search follows at once."""

import pytest

from crag.errors import BadRequest, NotFound
from crag.types import DEFAULT_COLLECTION

TEA = b"Tea is steeped for four minutes."
COFFEE = b"Coffee is ground for a pour-over."


def titles(library, query, collection):
    return [hit.title for hit in library.search(query, collection=collection)]


def names(library):
    return [collection.name for collection in library.collections()]


def test_a_renamed_collection_keeps_its_documents(library):
    library.pipeline.add_bytes("tea.md", TEA, collection="Drinks")
    assert titles(library, "tea", "Drinks") == ["tea.md"]
    assert library.rename_collection("Drinks", " Hot  drinks ") == "Hot drinks"
    assert names(library) == [DEFAULT_COLLECTION, "Hot drinks"]
    assert titles(library, "tea", "Hot drinks") == ["tea.md"]
    assert titles(library, "tea", "Drinks") == []


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (DEFAULT_COLLECTION, "Other", BadRequest),
        ("Drinks", DEFAULT_COLLECTION, BadRequest),
        ("Drinks", "  ", BadRequest),
        ("Gone", "Other", NotFound),
    ],
)
def test_what_cannot_be_renamed_stays(library, old, new, error):
    library.pipeline.add_bytes("tea.md", TEA, collection="Drinks")
    with pytest.raises(error):
        library.rename_collection(old, new)
    assert names(library) == [DEFAULT_COLLECTION, "Drinks"]
    assert titles(library, "tea", "Drinks") == ["tea.md"]


def test_a_moved_document_is_found_only_in_its_new_collection(library):
    tea = library.pipeline.add_bytes("tea.md", TEA).id
    library.pipeline.add_bytes("coffee.md", COFFEE)
    assert set(titles(library, "tea", DEFAULT_COLLECTION)) == {"tea.md", "coffee.md"}
    assert [result.status for result in library.move([tea, "unknown"], "Drinks")] == ["moved"]
    assert titles(library, "tea", "Drinks") == ["tea.md"]
    assert titles(library, "tea", DEFAULT_COLLECTION) == ["coffee.md"]


def test_a_document_that_is_there_already_ends_as_one_copy(library):
    library.pipeline.add_bytes("tea.md", TEA, collection="Drinks")
    second = library.pipeline.add_bytes("tea again.md", TEA)
    assert [result.status for result in library.move([second.id], "Drinks")] == ["merged"]
    assert [source.title for source in library.sources()] == ["tea.md"]
    assert library.original_path(library.sources()[0].id).read_bytes() == TEA


def test_two_versions_of_one_file_are_not_moved_together(library, tmp_path):
    path = tmp_path / "tea.md"
    path.write_bytes(TEA)
    old = library.pipeline.add_path(path).id
    path.write_bytes(COFFEE)
    library.pipeline.add_path(path, collection="Drinks")
    assert [result.status for result in library.move([old], "Drinks")] == ["kept"]
    assert {(source.id == old, source.collection) for source in library.sources()} == {
        (True, DEFAULT_COLLECTION),
        (False, "Drinks"),
    }


def test_deleting_a_collection_can_be_undone_with_its_documents(library):
    coffee = library.pipeline.add_bytes("coffee.md", COFFEE, collection="Drinks").id
    library.delete_collection("Drinks")
    assert names(library) == [DEFAULT_COLLECTION]
    assert titles(library, "coffee pour-over", "") == []
    library.restore([one.id for one in library.removed()])
    assert names(library) == [DEFAULT_COLLECTION, "Drinks"]
    assert [source.id for source in library.sources("Drinks")] == [coffee]
    assert titles(library, "coffee pour-over", "") == ["coffee.md"]


def test_deleting_takes_the_documents_and_in_the_end_only_their_originals(library):
    library.pipeline.add_bytes("tea.md", TEA, collection="Drinks")
    coffee = library.pipeline.add_bytes("coffee.md", COFFEE, collection="Drinks").id
    kept = library.pipeline.add_bytes("tea.md", TEA).id
    lost = library.original_path(coffee)
    assert library.delete_collection("Drinks") == 2
    library.purge_removed()
    assert names(library) == [DEFAULT_COLLECTION]
    assert [source.id for source in library.sources()] == [kept]
    assert library.original_path(kept).read_bytes() == TEA
    assert not lost.exists()
    assert titles(library, "coffee pour-over", "") == ["tea.md"]


def test_default_and_unknown_collections_cannot_be_deleted(library):
    library.pipeline.add_bytes("tea.md", TEA)
    for name, error in ((DEFAULT_COLLECTION, BadRequest), ("Gone", NotFound)):
        with pytest.raises(error):
            library.delete_collection(name)
    assert len(library.sources()) == 1
