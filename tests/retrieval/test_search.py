"""Search: words and vectors together, limits, scripts, hostile queries."""

import math

import pytest

from crag.options import RunOptions
from crag.retrieval.full_text import index_terms
from crag.text.language import extract_terms

ANIMALS = "\n".join(
    [
        "The cat sleeps on the warm roof.",
        "A dog barks at the mailman every morning.",
        "Embeddings turn words into vectors.",
        "The café opens at nine.",
        "북한의 수도는 평양이다.",
        "臺灣最高的山是玉山。",
        "日本の首都は東京です。",
    ]
).encode()


@pytest.fixture
def animals(library):
    library.pipeline.add_bytes("animals.txt", ANIMALS)
    return library


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Where do cats sleep?", "The cat sleeps"),
        ("dogs barking", "A dog barks"),
        ("What is an embedding?", "Embeddings turn"),
        ("CAFE", "The café opens"),
        ("평양은 어느 나라의 수도인가?", "북한의 수도는"),
        ("臺灣哪座山最高？", "臺灣最高的山"),
        ("東京", "日本の首都は東京"),
    ],
)
def test_the_right_passage_comes_first(animals, query, expected):
    assert animals.search(query, k=2)[0].text.startswith(expected)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        '" OR terms:*',
        "cat AND NOT dog",
        "NEAR(cat dog, 2)",
        "terms : cat",
        "cat*",
        "version 3.11 of cat",
        "^cat",
        "'; DROP TABLE passages; --",
        "cat\x00dog",
        "\ud800cat",
        "(((",
        "{}[]\\%_",
        "cat " * 5000,
    ],
)
def test_no_query_is_taken_for_a_command(animals, query):
    assert all(0 <= passage.score <= 1 for passage in animals.search(query))
    assert animals.counts()[1] == 7


def test_operators_are_words_like_others(animals):
    assert animals.search("cat AND NOT dog", k=2)[0].text.startswith(("The cat", "A dog"))
    assert {p.text[:5] for p in animals.search("cat AND NOT dog", k=2)} == {"The c", "A dog"}


@pytest.mark.parametrize("query", ["", "  \n", "\x00"])
def test_an_empty_query_finds_nothing(animals, query):
    assert animals.search(query) == []


def test_no_more_than_k_and_none_for_none(animals):
    assert len(animals.search("cat dog", k=3)) == 3
    assert len(animals.search("cat dog", k=50)) == 7
    assert animals.search("cat", k=0) == []


def test_limits_are_exact_even_where_better_passages_lie_outside(library):
    for n in range(60):
        library.pipeline.add_bytes(f"{n}.txt", f"The cat number {n} is a cat among cats.".encode())
    inside = library.pipeline.add_bytes("inside.txt", b"Somewhere a cat.\nNothing of interest.", collection="Small")
    found = library.search("cat", k=4, collection="Small")
    assert [passage.text for passage in found] == ["Somewhere a cat.", "Nothing of interest."]
    assert library.search("cat", source_ids=[inside.id]) == found
    assert library.search("cat", collection="Small", source_ids=["other"]) == []
    assert library.search("cat", collection="No such") == []
    assert (library.size(), library.size("Small"), library.size(source_ids=[inside.id])) == (62, 2, 2)


def test_a_limit_follows_the_library(library):
    library.pipeline.add_bytes("a.txt", b"The cat sleeps.", collection="Small")
    assert len(library.search("cat", collection="Small")) == 1
    library.pipeline.add_bytes("b.txt", b"Another cat.", collection="Small")
    assert len(library.search("cat", collection="Small")) == 2


def test_what_a_follow_up_asks_counts_more_than_what_was_added_to_it(library):
    library.pipeline.add_bytes("a.txt", b"The Vantor pump has a seal and a lid.")
    library.pipeline.add_bytes("b.txt", b"A pump is descaled in an hour.")
    library.pipeline.add_bytes("c.txt", b"The mill grinds coffee.")
    understood = "How is it descaled? (Vantor pump)"

    def first(as_asked: str) -> str:
        return library.retriever.retrieve(understood, RunOptions(k=2), as_asked=as_asked).passages[0].title

    assert first("") == "a.txt"
    assert first("How is it descaled?") == "b.txt"
    assert first("Why?") == "a.txt"


def test_the_retriever_obeys_the_options(animals):
    other = animals.pipeline.add_bytes("cats.txt", b"Cats again.", collection="Other")
    retriever = animals.retriever
    options = RunOptions(k=2, collection="Other")
    assert [passage.source_id for passage in retriever.retrieve("cat", options)[0]] == [other.id]
    assert retriever.size(options) == 1
    assert retriever.size(RunOptions()) == 8


def test_rare_terms_weigh_more_and_absent_ones_most(library):
    library.pipeline.add_bytes("a.txt", b"Cats and dogs.\nCats and mice.\nCats and Caf\xc3\xa9s.\n")
    weights = library.idf(extract_terms("cats dogs unicorns"))
    cat, dog, unicorn = weights.values()
    assert 0 < cat < dog < unicorn
    assert cat == pytest.approx(math.log(1 + 0.5 / 3.5))
    assert unicorn == pytest.approx(math.log(1 + 3.5 / 0.5))
    assert library.idf(extract_terms("cafés"))["cafés"] == pytest.approx(weights["dog"])
    library.pipeline.add_bytes("b.txt", b"A unicorn.")
    assert library.idf(["unicorn"])["unicorn"] < unicorn
    assert library.idf([]) == {}


def test_what_is_indexed_is_told_apart_by_spaces_only():
    assert index_terms("Version 3.11 of café") == "version 3.11 cafe"


def test_another_form_or_synonym_of_a_word_is_found_by_words_alone(library):
    library.pipeline.add_bytes("a.txt", b"The tenancy begins on 1 March.")
    library.pipeline.add_bytes("b.txt", b"The tenancy is for a flat with a garden and a shed.")
    hits, _ = library.retriever.search("When does the tenancy start?", k=2)
    assert hits[0].passage.text.startswith("The tenancy begins")
    assert hits[0].word_score > hits[1].word_score
    assert "start" in hits[0].matched
