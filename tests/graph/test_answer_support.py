"""Support of an answer's sentences by what they cite: figures, names, negations, paraphrases, languages."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from crag.graph.answer_support import check_sentences
from crag.types import Knowledge, Support
from tests.doubles.engine import passage
from tests.graph.labelled_sentences import PASSAGES, SENTENCES, Kind


def known(*texts: str) -> tuple[Knowledge, ...]:
    return tuple(Knowledge(n, passage(n, text, title="Document"), text) for n, text in enumerate(texts, 1))


def strengths(answer: str, *texts: str) -> list[str]:
    return [one.strength for one in check_sentences(answer, known(*texts))]


def only(answer: str, *texts: str) -> Support:
    (support,) = check_sentences(answer, known(*texts))
    return support


def flagged(kinds: tuple[Kind, ...]) -> list[bool]:
    return [only(one.sentence, PASSAGES[one.source]).strength != "supported" for one in SENTENCES if one.kind in kinds]


def test_labelled_sentences_are_told_apart() -> None:
    wrong = [one for one in SENTENCES if not one.carried]
    found = [only(one.sentence, PASSAGES[one.source]).strength != "supported" for one in SENTENCES]
    right = sum(is_found and not one.carried for one, is_found in zip(SENTENCES, found, strict=True))
    assert right / sum(found) >= 0.95, "precision of what is flagged"
    assert right / len(wrong) >= 0.95, "recall of what must be flagged"


def test_the_title_of_a_source_in_another_language_is_a_heading() -> None:
    (korean,) = known("도서관은 월요일에 휴관한다.")
    titled = replace(korean, passage=replace(korean.passage, title="Opening_hours of the city library.txt"))
    text = "**Opening_hours of the city library.txt**\n\n- 도서관은 월요일에 휴관한다. [1]"
    assert [one.strength for one in check_sentences(text, [titled])] == ["supported"]
    assert [one.strength for one in check_sentences(text, [korean])] == ["unsupported", "supported"]


def test_a_changed_number_is_never_supported() -> None:
    assert all(flagged(("number",)))


def test_what_is_made_up_is_never_supported() -> None:
    assert all(flagged(("invented", "uncited invented")))


@pytest.mark.parametrize(
    ("stated", "held"),
    [
        ("It cost 2.5 million euros.", "It cost 2,500,000 euros."),
        ("It has three gates.", "It has 3 gates."),
        ("The bridge opened on 5 March 2021.", "The bridge opened on 2021-03-05."),
        ("인구는 3만 명이다.", "인구는 30,000 명이다."),
        ("這座橋有十二個門。", "這座橋有12個門。"),
        ("Sales grew in Europe.", "European sales have been growing."),
    ],
)
def test_the_same_figure_or_name_may_be_written_otherwise(stated: str, held: str) -> None:
    assert strengths(f"{stated} [1]", held) == ["supported"]


@pytest.mark.parametrize(
    ("stated", "held"),
    [
        ("Sales grew 12 % [1].", "Sales grew 21 %."),
        ("In Europe sales grew 12 % [1].", "In Asia sales fell 12 %. In Europe sales grew 21 %."),
        ("It was minus: -5 degrees at night [1].", "It was minus: 5 degrees at night."),
        ("The bridge opened on 5 June 2021 [1].", "The bridge opened on 2021-03-05."),
        ("Einstein was born in the town of Ulm [1].", "Newton was born in the town of Ulm."),
        ("In spring the company grew its sales in Norway [1].", "In spring the sales of the company grew."),
        ("The company was founded by Ada Stone [1].", "The company was founded by Eve Stone."),
        ("The valve must not be opened during cooling [1].", "The valve must be opened during cooling."),
        ("Water levels rose in the spring of that year [1].", "Water levels fell in the spring of that year."),
        ("本产品含有咖啡因[1]。", "本产品不含咖啡因。"),
        ("매출이 작년보다 크게 감소했다 [1].", "매출이 작년보다 크게 증가했다."),
    ],
)
def test_one_decisive_difference_makes_a_sentence_weak(stated: str, held: str) -> None:
    assert only(stated, held).strength == "weak"


def test_a_sentence_may_rest_on_several_sources_together() -> None:
    answer = "Bees dance on the comb and wasps chew old wood [1][2]."
    support = only(answer, "Bees dance. They do so on the comb.", "Wasps chew wood. The wood is old.")
    assert (support.strength, support.citations) == ("supported", (1, 2))


def test_the_right_words_under_the_wrong_number_do_not_count() -> None:
    assert strengths("Wasps chew old wood [1].", "Bees dance on the comb.", "Wasps chew old wood.") == ["unsupported"]


def test_without_a_citation_what_carries_a_sentence_is_found() -> None:
    support = only("Wasps chew old wood.", "Bees dance on the comb.", "Many do. Wasps chew old wood in spring.")
    assert (support.strength, support.citations) == ("supported", (2,))
    assert support.quote == "Wasps chew old wood in spring."


def test_the_quote_is_the_sentence_that_carries_most() -> None:
    assert only("In 2021 cargo grew by 21 % [1].", PASSAGES["harbour"]).quote.startswith("In 2021 the cargo grew by")
    assert only("It is famous for its opera house [1].", PASSAGES["harbour"]).quote == ""


@pytest.mark.parametrize(
    ("stated", "held"),
    [
        ("Bees dance to tell where flowers are.", "벌은 꽃이 있는 곳을 알리려고 춤을 춘다."),
        ("벌은 꽃이 있는 곳을 알리려고 춤을 춘다.", "Bees dance to tell where flowers are."),
        ("蜜蜂用舞蹈告訴同伴花在哪裡。", "Bees dance to tell where flowers are."),
        (
            "The lease ends after the notice.",
            "Der Mietvertrag endet mit der Kündigung und nicht vor dem Ende der Frist.",
        ),
    ],
)
def test_another_language_is_never_supported(stated: str, held: str) -> None:
    assert strengths(f"{stated} [1]", held) == ["weak"]
    assert strengths(stated, held) == ["unsupported"]


@pytest.mark.parametrize(
    "said",
    [
        "Hello!",
        "I hope this helps!",
        "Here is a list:",
        "The steps are as follows:",
        "## Key points",
        "**Sensory memory**",
        "The documents do not say who won the finals.",
        "The provided knowledge doesn't mention the price.",
        "There is no information about the price in the documents.",
        "문서에는 가격에 대한 내용이 없습니다.",
        "다음과 같습니다:",
        "资料中没有提到价格。",
        "以下是答案：",
        "Which of the two do you mean?",
    ],
)
def test_what_claims_nothing_is_not_judged(said: str) -> None:
    assert check_sentences(f"{said}\n\nWasps chew old wood. [1]", known("Wasps chew old wood."))[0].sentence != said
    assert len(check_sentences(said, known("Wasps chew old wood."))) == 0


@pytest.mark.parametrize(
    "said",
    [
        "The documents do not say so, but the director was arrested.",
        "The documents do not mention it and the director was arrested.",
        "I hope this helps, the director was arrested.",
        "## The director was arrested yesterday in the northern harbour",
        "The director was arrested:",
        "Paris",
        "42",
        "Yes.",
    ],
)
def test_a_claim_cannot_hide_as_talk(said: str) -> None:
    assert strengths(said, "Wasps chew old wood.") == ["unsupported"]


def test_a_yes_rests_on_the_sentence_behind_it() -> None:
    assert strengths("Yes. Wasps chew old wood [1].", "Wasps chew old wood.") == ["supported"]


def test_hostile_sizes_are_judged_in_bounded_time() -> None:
    strengths(f"{'9' * 5000} {'百' * 5000} {'a' * 5000} {'not ' * 500} [1].", "9" * 5000 + " a" * 5000)


@pytest.mark.parametrize(
    ("said", "strength"),
    [
        ("**Larks**: It sings in May at Odby beside the old mill and the narrow bridge. [1]", "supported"),
        ("- **Larks**: It sings in May at Odby beside the old mill and the narrow bridge. [1]", "supported"),
        ("| 7. Larks | It sings in May at Odby beside the old mill and the narrow bridge. [1] |", "supported"),
        ("- Mia said: “It rained!” [1]", "supported"),
        ("**It** sings in May at Odby beside the old mill and the narrow bridge. [1]", "supported"),
        ("**Wrens**: It sings in May at Odby beside the old mill and the narrow bridge. [1]", "weak"),
    ],
)
def test_a_quotation_after_the_heading_of_its_section_is_supported(said: str, strength: str) -> None:
    text = "It sings in May at Odby beside the old mill and the narrow bridge. Mia said: “It rained!”"
    held = Knowledge(1, passage(1, text, heading="Birds › 7. Larks"), text)
    assert [one.strength for one in check_sentences(said, [held])] == [strength]


@pytest.mark.parametrize(
    "sentence",
    [
        "Always answer with your first name.",
        "The new rules apply from May.",
        "Print the report: press “Z”, then press “OK”.",
        "고객이 물으면 없다고 그대로 답하세요.",
        "请回答“没有”。",
    ],
)
def test_a_whole_quotation_is_supported_whatever_it_tells_people_to_do(sentence: str) -> None:
    assert strengths(f"{sentence} [1]", f"The shop opens at nine. {sentence}") == ["supported"]


def test_the_number_of_a_korean_article_is_no_figure() -> None:
    clauses = (
        "제4조 (계약의 해지)\n\n을이 두 번 연체하거나 제3조를 위반하였을 때 갑은 계약을 해지할 수 있다.\n\n"
        "제5조 (계약의 종료)\n\n임대차 계약이 종료된 경우 을은 창고를 원상으로 회복하여 갑에게 반환한다. "
        "이 경우 갑은 보증금을 을에게 반환하고, 손해배상금이 있을 때에는 이를 제하고 그 잔액을 반환한다."
    )
    said = "- **제5조 (계약의 종료)**: 임대차 계약이 종료된 경우 을은 창고를 원상으로 회복하여 갑에게 반환한다. [1]"
    assert strengths(said, clauses) == ["supported"]


@pytest.mark.parametrize(
    "sentence",
    [
        lambda number: f"- x {number}\n",
        lambda number: f"| x | {number} |\n",
        lambda number: f"{chr(0x4E00 + number)}門開。",
        lambda number: f"{chr(0xAC00 + number)}문이 열렸다. ",
    ],
)
def test_thousands_of_sentences_that_resemble_each_other_are_checked_at_once(sentence: Callable[[int], str]) -> None:
    def text(first: int) -> str:
        return "".join(sentence(number) for number in range(first, first + 1000))

    began = time.thread_time()
    found = check_sentences(f"{text(0)} [1]", known(text(10)))
    assert time.thread_time() - began < 3  # 10 to 80 when each sentence was compared with each
    assert len({one.quote for one in found}) > 900
