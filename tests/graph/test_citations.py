"""Citations and support, judged from the answer and its sources alone."""

from dataclasses import replace

import pytest

from crag.graph.answer_support import answer_outcome, check_sentences, is_supported
from crag.graph.citations import CitationNumbering, collect_citations, collect_quotations, drop_invalid_citations
from crag.types import Knowledge
from tests.doubles.engine import passage

BEES = "Bees dance to tell where the flowers are. The dance has the shape of an eight."
WASPS = "Wasps build nests of paper. They chew wood for it."
KNOWLEDGE = (
    Knowledge(1, passage(1, BEES), BEES),
    Knowledge(2, passage(2, WASPS), WASPS),
    Knowledge(3, passage(-1, "Ants farm aphids.", origin="web"), "Ants farm aphids."),
)


@pytest.mark.parametrize(
    "answer",
    [
        "Bees dance to tell where the flowers are [1]. Wasps build nests of paper [2].",
        "Bees dance to tell where the flowers are. [1] Wasps build nests of paper. [2]",
        "Bees dance to tell where the flowers are. [1]\n\nWasps build nests of paper. [2]",
        "- Bees dance to tell where the flowers are. [1]\n- Wasps build nests of paper. [2]",
    ],
)
def test_a_citation_belongs_to_the_sentence_before_it(answer):
    bees, wasps = check_sentences(answer, KNOWLEDGE)
    assert (bees.citations, bees.strength) == ((1,), "supported")
    assert (wasps.citations, wasps.strength) == ((2,), "supported")
    assert [(cited.n, cited.quote) for cited in collect_citations(answer, KNOWLEDGE)] == [
        (1, "Bees dance to tell where the flowers are."),
        (2, "Wasps build nests of paper."),
    ]


CROSSING = "Bees dance to tell where\nthe flowers are.\n\nWasps build nests of paper. They chew wood for it."
CONTEXT = f"Ants farm aphids in summer.\n\n{CROSSING}"


@pytest.mark.parametrize(
    ("answer", "page"),
    [
        ("Bees tell where the flowers are [1].", 5),
        ("Wasps chew wood for it [1].", 6),
        ("Ants farm aphids in summer [1].", 4),
    ],
)
def test_a_citation_names_the_page_of_its_sentence(answer, page):
    starts = {"page": 5, "page_starts": ((CROSSING.index("Wasps"), 6),)}
    around = ((0, 4), (CONTEXT.index("Bees"), 5), (CONTEXT.index("Wasps"), 6))
    crossing = replace(passage(1, CROSSING, **starts), context=CONTEXT, context_page_starts=around)
    (cited,) = collect_citations(answer, [Knowledge(1, crossing, CONTEXT)])
    assert cited.page == page


def test_a_sentence_put_together_from_two_strips_is_on_the_page_where_it_begins():
    crossing = passage(1, CROSSING, page=5, page_starts=((CROSSING.index("Wasps"), 6),))
    assert crossing.page_of("Wasps build nests of and something else") == 6
    assert crossing.page_of("Nothing of this") == 5
    assert [crossing.text_on_page(page) for page in (4, 6)] == ["", CROSSING.partition("\n\n")[2]]


@pytest.mark.parametrize(
    ("quote", "parts"),
    [
        ("Bees dance to tell where the flowers are.", ["Bees dance to tell where", "the flowers are."]),
        ("the flowers are.", ["", "the flowers are."]),
        ("Bees dance to tell something else", ["Bees dance to tell something else", ""]),
    ],
)
def test_a_quote_over_the_end_of_a_page_has_a_part_on_each(quote, parts):
    crossing = passage(1, CROSSING, page=5, page_starts=((CROSSING.index("the flowers"), 6),))
    assert [crossing.quote_on_page(quote, page) for page in (5, 6)] == parts


def test_two_citations_behind_one_full_stop():
    (sentence,) = check_sentences("Bees dance and wasps chew wood. [1] [2]", KNOWLEDGE)
    assert sentence.citations == (1, 2)


@pytest.mark.parametrize(
    ("sentence", "strength"),
    [
        ("The dance has the shape of an eight [1].", "supported"),
        ("The dance of bees was first described in Vienna by a famous German zoologist [1].", "unsupported"),
        ("Wasps build paper nests under the warm roofs of old country houses [2].", "weak"),
        ("Bananas are rich in potassium.", "unsupported"),
        ("Wasps build nests of paper.", "supported"),
    ],
)
def test_how_far_a_sentence_is_carried(sentence, strength):
    assert [one.strength for one in check_sentences(sentence, KNOWLEDGE)] == [strength]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("So it is [9].", "So it is."),
        ("So it is [1, 9, 2].", "So it is [1] [2]."),
        ("So it is [0][1].", "So it is[1]."),
        ("An array a[1] and a [link](#x) stay.", "An array a[1] and a [link](#x) stay."),
        ("[99999999999999999999]", "[99999999999999999999]"),
    ],
)
def test_citations_of_nothing_are_dropped(given, kept):
    assert drop_invalid_citations(given, KNOWLEDGE) == kept


@pytest.mark.parametrize(
    ("answer", "where_from"),
    [
        ("Bees dance [1].", "documents"),
        ("Ants farm aphids [3].", "web"),
        ("Bees dance [1]. Ants farm aphids [3].", "documents_and_web"),
        ("Wasps build nests of paper.", "documents"),
        ("The knowledge does not say who won the finals.", "not_answered"),
        ("The knowledge does not say who won the finals [1].", "not_answered"),
        ("Hello! [1]", "not_answered"),
    ],
)
def test_where_an_answer_comes_from(answer, where_from):
    assert answer_outcome(answer, check_sentences(answer, KNOWLEDGE), KNOWLEDGE) == where_from


def test_an_answer_that_does_not_cover_the_question_is_partly_from_the_documents():
    def outcome(answer):
        return answer_outcome(answer, check_sentences(answer, KNOWLEDGE), KNOWLEDGE, is_covered=False)

    assert outcome("Bees dance [1].") == "documents_partly"
    assert outcome("Ants farm aphids [3].") == "web"
    assert outcome("The knowledge does not say it [1].") == "not_answered"


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("Bees dance [1].", True),
        ("Bees dance [1]. Volcanoes erupt in Iceland every decade.", False),
        ("Bees dance [1]. The documents do not say why.", False),
    ],
)
def test_a_claim_without_a_source_or_a_silent_source_is_noticed(answer, supported):
    assert is_supported(answer, check_sentences(answer, KNOWLEDGE)) is supported


def test_korean_and_chinese_are_checked_too():
    korean = "벌은 꽃이 있는 곳을 알리려고 춤을 춘다."
    chinese = "蜜蜂用舞蹈告訴同伴花在哪裡。"
    knowledge = (Knowledge(1, passage(1, korean), korean), Knowledge(2, passage(2, chinese), chinese))
    assert [one.strength for one in check_sentences(f"{korean} [1]", knowledge)] == ["supported"]
    assert [one.strength for one in check_sentences("蜜蜂用舞蹈告訴同伴花在哪裡[2]。", knowledge)] == ["supported"]


def test_the_head_of_a_table_claims_nothing():
    table = "| insect | builds |\n|:---|---:|\n| Wasps [2] | nests of paper |"
    assert [one.sentence for one in check_sentences(table, KNOWLEDGE)] == ["| Wasps [2] | nests of paper |"]


def test_an_answer_without_citations_names_what_supports_it():
    answer = "Wasps build nests of paper."
    (cited,) = collect_citations(answer, KNOWLEDGE, check_sentences(answer, KNOWLEDGE))
    assert "paper" in cited.quote
    assert collect_citations(answer, KNOWLEDGE) == ()


STEPS = "To report it:\n1. Bring everyone ashore.\n2. Call the office."


@pytest.mark.parametrize(
    ("after", "origin", "is_cut"),
    [
        ("", "library", False),
        ("\n\nDogs are not allowed.", "library", False),
        ("\n\n3. Fill in the form.", "library", True),
        ("", "web", True),
    ],
)
def test_a_list_is_cut_if_it_goes_on_after_its_passage(after, origin, is_cut):
    source = replace(passage(1, STEPS, origin=origin), context=STEPS + after)
    answer = "To report it: [1]\n\n- Bring everyone ashore. [1]\n- Call the office. [1]"
    (quoted,) = collect_quotations(answer, [Knowledge(1, source, STEPS)])
    assert (quoted.items, quoted.is_cut) == (2, is_cut)
    elsewhere = replace(source, context="Nothing of the list.")
    (quoted,) = collect_quotations(answer, [Knowledge(1, elsewhere, STEPS)])
    assert quoted.is_cut  # nobody knows what comes after it


def test_citations_are_numbered_in_order_of_appearance():
    numbering = CitationNumbering()
    pieces = [numbering.renumber(piece) for piece in ("Ants farm. [3]", " Bees dance. [1]", " Ants dig. [3, 1]")]
    assert pieces == ["Ants farm. [1]", " Bees dance. [2]", " Ants dig. [1, 2]"]
    assert [(item.n, item.passage.id) for item in numbering.reorder(KNOWLEDGE)] == [(1, -1), (2, 1), (3, 2)]


def test_a_passage_without_any_sentence_is_quoted_as_it_is():
    (cited,) = collect_citations("Bees dance [1].", [Knowledge(1, passage(1, " "), " ")])
    assert cited.quote == " "


def test_a_sentence_before_a_list_is_whole():
    text = "Bees dance on sunny days.\n- Wasps build nests.\n- Ants farm aphids."
    (quoted,) = collect_quotations("Bees dance on sunny days. [1]", [Knowledge(1, passage(1, text), text)])
    assert (quoted.text, quoted.is_cut) == ("Bees dance on sunny days.", False)


def test_a_numbered_row_is_no_list_that_is_cut():
    text = "1. Wasps | paper nests | big\n2. Bees | wax combs | small\n3. Ants | hills | tiny"
    source = replace(passage(1, text), context=text)
    (quoted,) = collect_quotations("Wasps | paper nests | big [1]", [Knowledge(1, source, text)])
    assert not quoted.is_cut


def test_a_sentence_and_the_first_row_below_it_are_one_quotation():
    text = "Insects build:\n\n| insect | builds |\n|---|---|\n| Wasps | paper nests |\n| Bees | wax combs |"
    answer = "Insects build: [1]\n\n- insect: Wasps — builds: paper nests [1]"
    (quoted,) = collect_quotations(answer, [Knowledge(1, passage(1, text), text)])
    assert quoted.text == "Insects build:\ninsect: Wasps | builds: paper nests"


def test_the_name_of_a_column_is_no_value_of_a_row_that_leaves_it_empty():
    held = passage(1, "Ada | Rigger | 40\nBen | Cook |", heading="Crew › Name | Post | Wage")
    (quoted,) = collect_quotations("Name: Ben — Post: Cook [1]", [Knowledge(1, held, held.text)])
    assert quoted.text == "Name: Ben | Post: Cook"
    assert "Crew" in quoted.context
    assert "Wage" not in quoted.context
