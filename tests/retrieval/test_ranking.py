"""The order of hits: titles, long words, fusion, near-duplicates."""

from itertools import permutations

import pytest

from crag.retrieval.full_text import PassageTerms, encode_passage_terms
from crag.retrieval.ranking import (
    are_duplicates,
    assign_ranks,
    fuse_rankings,
    fuse_scores,
    make_fingerprint,
    score_bm25,
    weigh_term_pairs,
    weigh_terms,
)
from crag.types import SearchHit
from tests.doubles.engine import passage

NOTICE = "This report is confidential. It may not be copied, shown or passed on without the consent of the board."
LONGER = f"{NOTICE} Whoever finds it sends it to the office in Main Street, where the clerk keeps all papers in a safe."


class AllAlike:
    """A library in which every term is as rare as the next."""

    def idf(self, terms):
        return dict.fromkeys(terms, 1.0)


def test_a_passage_is_found_by_the_title_of_its_document(library):
    library.pipeline.add_bytes("Kublai Khan.txt", b"He was born in 1215.\nHis mother was a princess.")
    library.pipeline.add_bytes("Other people.txt", b"Nobody was born here, and nobody was born there.")
    assert library.search("Where was Kublai born?", k=1)[0].text == "He was born in 1215."


def test_two_rankings_are_fused_as_far_as_they_are_compared():
    def hits(*scores: tuple[int, float]):
        return (SearchHit(passage(id_, score=score), score, None, None, None, frozenset()) for id_, score in scores)

    fused = fuse_rankings(hits((1, 1.0), (2, 0.9), (3, 0.1)), hits((2, 1.0), (4, 0.9), (3, 0.8)), 2)
    scores = [(hit.passage.id, round(hit.passage.score, 2)) for hit in fused]
    assert scores == [(2, 0.93), (1, 0.67), (4, 0.3), (3, 0.1)]


def test_a_long_word_does_not_outweigh_short_ones_by_its_length():
    weights = weigh_terms("방탄소년단은 데뷔", AllAlike())
    assert len(weights) == 5
    assert weights["데뷔"] == 1
    assert sum(weights.values()) - weights["데뷔"] == pytest.approx(4**0.5)


def test_terms_said_more_often_and_in_less_text_score_higher():
    texts = {1: "fox", 2: "fox fox", 3: "fox dog dog dog", 4: "dog"}
    scores = score_bm25({"fox": 2.0}, {}, {id_: PassageTerms.from_row(row) for id_, row in texts.items()})
    assert sorted(scores, key=scores.__getitem__) == [4, 3, 1, 2]
    assert scores[4] == 0
    assert score_bm25({}, {}, {}) == {}


def test_a_text_with_all_terms_scores_higher_than_one_that_repeats_some():
    texts = {1: "fox fox fox fox dog dog", 2: "fox dog owl cow cow cow"}
    weights = dict.fromkeys(("fox", "dog", "owl"), 1.0)
    scores = score_bm25(weights, {}, {id_: PassageTerms.from_row(row) for id_, row in texts.items()})
    assert scores[2] > scores[1]


def test_what_the_question_names_is_found_where_it_is_mentioned(library):
    for year in range(4):
        library.pipeline.add_bytes(f"sales {year}.md", f"Sales in June. June sales of year {year}, sales.".encode())
    library.pipeline.add_bytes(
        "others.md", b"Many boats were built here in all those years, one of them the Kittiwake."
    )
    found = [hit.title for hit in library.search("What were the June sales of Kittiwake?", k=2)]
    assert len(found) == 2
    assert "others.md" in found


def test_texts_of_the_same_terms_score_the_same():
    weights = {term: 1 / (3 + number) for number, term in enumerate("abcdefgh")}
    texts = {number: PassageTerms.from_row(" ".join(one)) for number, one in enumerate(permutations("abcdefgh", 8))}
    assert len({*score_bm25(weights, {}, texts).values()}) == 1


def test_word_order_counts_in_the_text_but_not_in_the_title():
    rows = {
        1: encode_passage_terms("", "", "Foxes are quick, brown and red; quick and brown."),
        2: encode_passage_terms("", "", "The quick, brown foxes and many other beasts that run in the woods at night."),
        3: encode_passage_terms("", "Quick brown foxes", "Beasts that run in the woods at night, and others."),
    }
    texts = {id_: PassageTerms.from_row(row) for id_, row in rows.items()}
    weights = weigh_terms("Quick brown foxes", AllAlike())
    alone = score_bm25(weights, {}, texts)
    beside = score_bm25(weights, weigh_term_pairs("Quick brown foxes", weights), texts)
    assert {id_: beside[id_] - alone[id_] for id_ in texts} == pytest.approx({1: 1, 2: 2, 3: 0})
    assert max(alone, key=alone.__getitem__) == 1
    assert max(beside, key=beside.__getitem__) == 2


def test_pairs_of_characters_within_a_word_are_no_neighbours():
    weights = weigh_terms("방탄소년단은 데뷔", AllAlike())
    assert list(weigh_term_pairs("방탄소년단은 데뷔", weights)) == [("년단", "데뷔")]
    assert weigh_term_pairs("fox fox", {"fox": 1.0}) == {}


TITLE = "Type Specialization for Dynamic Languages"
PAPER = f"""
# {TITLE}
{TITLE}, by Ann, Bob, Cid, Dan, Eve and Fay.
Types of dynamic languages are known late, and specialization needs one type.
A specialization of each type makes dynamic typing quick in such languages.
Specialization, in languages of a dynamic kind, is done by type.
"""
OTHERS = "\n".join(f"Page {n} speaks of something else, such as cooking, walking or sleeping." for n in range(20))


def test_a_title_finds_its_own_passage_first(library):
    library.pipeline.add_bytes("paper.md", PAPER.encode())
    library.pipeline.add_bytes("others.md", OTHERS.encode())
    [first] = [hit.passage.text for hit in library.explain(TITLE)[0] if hit.word_rank == 1]
    assert first.startswith(f"{TITLE}, by")


def test_fusion_weighs_both_on_one_scale():
    scores = fuse_scores({1: 8.0, 2: 4.0, 3: 0.0}, {1: 0.2, 2: 0.4, 3: 0.6}, 0.25)
    assert scores == {1: pytest.approx(0.75), 2: pytest.approx(0.5), 3: pytest.approx(0.25)}


def test_without_vectors_the_words_decide():
    assert fuse_scores({1: 8.0, 2: 4.0}, {}, 0.25) == {1: 1.0, 2: 0.5}
    assert fuse_scores({1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}, {1: 0.2, 2: 0.4, 3: 0.6}, 0.5)[4] == pytest.approx(0.75)
    assert fuse_scores({}, {}, 0.5) == {}
    assert fuse_scores({1: 2.0}, {1: 0.3}, 0.25) == {1: 1.0}


def test_ranks_begin_with_one_and_leave_out_what_has_no_score():
    assert assign_ranks({7: 1.0, 8: 3.0, 9: 0.0}) == {8: 1, 7: 2}


def test_the_same_text_in_two_documents_takes_one_place(library):
    library.pipeline.add_bytes("a.txt", f"{NOTICE}\nThe lift is serviced in March.".encode())
    library.pipeline.add_bytes("b.txt", f"{NOTICE.replace('It may', 'it may')}\nThe roof is tight.".encode())
    library.pipeline.add_bytes("c.txt", f"{NOTICE}\nThe heating is new.".encode())
    first, *others = library.search("Who must consent to copying the report?", k=4)
    assert first.text.lower() == NOTICE.lower()
    assert len(first.also_in) == 2
    assert {first.title, *first.also_in} == {"a.txt", "b.txt", "c.txt"}
    assert len(others) == 3
    assert not any("consent" in passage.text for passage in others)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (NOTICE, NOTICE.upper(), True),
        (LONGER, f"Page header. {LONGER}", True),
        (f"{NOTICE} Revision 3", f"{NOTICE} Revision 4", False),
        (NOTICE, "Something else altogether, which nobody calls a report.", False),
        ("Yes", "Yes", True),
        ("Yes", "No way", False),
    ],
)
def test_duplicates_share_nearly_all_text_and_all_numbers(one, other, expected):
    assert are_duplicates(make_fingerprint(one, frozenset()), make_fingerprint(other, frozenset())) is expected


def test_what_differs_in_the_thing_asked_for_is_kept_apart():
    berlin, paris = (make_fingerprint(f"{NOTICE} Office of {city}.", frozenset({city})) for city in ("Berlin", "Paris"))
    assert not are_duplicates(berlin, paris)


def test_a_search_explains_itself(library):
    library.pipeline.add_bytes("animals.txt", "The café cat sleeps.\nA dog barks.\nNothing at all.".encode())
    hits, _ = library.explain("cat in a cafe", k=3)
    assert [hit.passage for hit in hits] == library.search("cat in a cafe", k=3)
    assert hits[0].matched == {"cat", "cafe"}
    assert (hits[0].word_rank, hits[0].vector_rank) == (1, 1)
    assert hits[0].word_score > 0
    assert hits[0].cosine == max(hit.cosine for hit in hits)
    assert (hits[-1].word_rank, hits[-1].word_score, hits[-1].matched) == (None, 0, set())
    assert library.explain("", k=3) == ([], "")
