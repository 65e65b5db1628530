import pytest

from crag.text.matches import MatchFinder
from crag.types import HEADING_SEPARATOR
from tests.doubles.engine import passage

SHEET = "Supplier | Price\nFinch Ltd | 40\nHeron Inc | 52\nFinch Ltd | 61"


def find(topic, *passages):
    finder = MatchFinder(topic)
    finder.read(passages)
    return [match.text for match in finder.matches()]


def test_the_items_of_the_section_of_that_name_are_listed():
    text = "Risks\n\n- The dam may break.\n- The mill may burn.\n\nStaff\n\n- Ada keeps the keys."
    assert find("risks", passage(1, text)) == ["The dam may break.", "The mill may burn."]


def test_a_section_without_a_list_is_given_by_its_sentences():
    held = passage(1, "The dam may break. The mill may burn.", heading=f"Report{HEADING_SEPARATOR}Main risks")
    assert find("risks", held) == ["The dam may break.", "The mill may burn."]


def test_the_values_of_a_column_of_that_name_are_listed_once():
    assert find("suppliers", passage(1, SHEET)) == ["Finch Ltd", "Heron Inc"]


def test_other_topics_are_listed_by_the_sentences_that_name_them():
    texts = ["The warranty lasts two years. Ducts are cleaned weekly.", "No warranty covers ducts."]
    held = [passage(at, text) for at, text in enumerate(texts, start=1)]
    assert find("warranty", *held) == ["The warranty lasts two years.", "No warranty covers ducts."]
    assert find("roofs", *held) == []


@pytest.mark.parametrize(
    ("topic", "text", "found"),
    [
        (
            "risks",
            "The risks are as follows. First, the dam may break. Second, risks of fire. Ada keeps the keys.",
            ["First, the dam may break.", "Second, risks of fire."],
        ),
        (
            "보안 위험",
            "보안의 위험은 다음과 같다. 첫째, 정보의 유출. 둘째, 도면의 도난.",
            ["첫째, 정보의 유출.", "둘째, 도면의 도난."],
        ),
        ("風險", "風險如下。第一，水壩潰堤。第二，磨坊失火。", ["第一，水壩潰堤。", "第二，磨坊失火。"]),
        ("risks", "The risks are as follows. Ada keeps the keys.", ["The risks are as follows."]),
    ],
)
def test_what_a_sentence_announces_is_listed_in_its_place(topic, text, found):
    assert find(topic, passage(1, text)) == found


def test_rows_are_matched_with_the_names_of_their_columns():
    assert find("price of Heron", passage(1, SHEET)) == ["Supplier: Heron Inc — Price: 52"]


@pytest.mark.parametrize(
    ("topic", "text", "found"),
    [
        ("e-mail addresses", "Write to ada@odby.example or call 555 0102.", ["ada@odby.example"]),
        ("phone numbers", "Write to ada@odby.example or call 555 0102.", ["555 0102"]),
        ("amounts", "It costs €40, not 52 USD, in 2024.", ["€40", "52 USD"]),
        ("dates", "It opened on 3 May 2014. It is red.", ["It opened on 3 May 2014."]),
        ("links", "See https://odby.example/a(b) now.", ["https://odby.example/a"]),
    ],
)
def test_values_are_recognized_by_their_form(topic, text, found):
    assert find(topic, passage(1, text)) == found


def test_a_section_ends_at_the_next_heading_and_shows_its_rows_with_their_columns():
    held = passage(1, f"Call before seven.\n\nExpenses\n\nClaims take 30 days.\n\n{SHEET}", heading="Book › Sick days")
    assert find("sick days", held) == ["Call before seven."]
    assert find("expenses", held) == [
        "Claims take 30 days.",
        "Supplier: Finch Ltd — Price: 40",
        "Supplier: Heron Inc — Price: 52",
        "Supplier: Finch Ltd — Price: 61",
    ]


def test_a_numbered_line_names_the_list_that_goes_on_in_the_next_passage():
    first = passage(1, "5. Budget\n\nIt is 480 euros.\n\n6. Action items\n\n- Ada buys ropes.", source_id="minutes")
    second = passage(2, "- Ben sells oars.\n- Cy rests.", source_id="minutes")
    other = passage(3, "- Nobody is named here.", source_id="letter")
    assert find("action items", first, second, other) == ["Ada buys ropes.", "Ben sells oars.", "Cy rests."]


def test_dates_and_times_are_no_phone_numbers():
    assert find("phone numbers", passage(1, "On 2024-05-12 from 10:00-11:20, call +44 20 7946 0123.")) == [
        "+44 20 7946 0123"
    ]


def test_sentences_outside_the_section_of_that_name_are_listed_too():
    first = passage(1, "Risks\n\nAda wrote this.\n\n- The dam may break.\n\nStaff\n\nAda rests.", source_id="a")
    second = passage(2, "One risk is fire. Ben rests.", source_id="b")
    assert find("risks", first, second) == ["The dam may break.", "One risk is fire."]


def test_a_numbered_heading_inside_a_passage_begins_a_section():
    text = "Ada rests.\n\n2. Risks\n\nThe dam may break.\n\n2.1 Fire\n\nThe mill may burn.\n\n3. Staff\n\nBen rests."
    assert find("risks", passage(1, text)) == ["The dam may break.", "The mill may burn."]


def test_a_heading_right_below_another_one_begins_a_part_of_its_section():
    text = "Risks\n\nIn summer\n\n- The mill may burn.\n\nStaff\n\n- Ben rests."
    assert find("risks", passage(1, text)) == ["The mill may burn."]


def test_the_verb_of_a_noun_states_it_but_not_as_an_adjective():
    text = "The board decided to sell. It has a decided charm. Decision 4 stands."
    assert find("decisions", passage(1, text)) == ["The board decided to sell.", "Decision 4 stands."]


def test_a_person_is_found_by_surname_once_the_full_name_occurs():
    text = "Ada Holm built it. Ms Holm left. Ben Holm stayed. A. Holm wrote. Holm Street is long. Then Holm died."
    assert find("Ada Holm", passage(1, text)) == [
        "Ada Holm built it.",
        "Ms Holm left.",
        "A. Holm wrote.",
        "Then Holm died.",
    ]
    assert find("Eve Holm", passage(1, text)) == []


@pytest.mark.parametrize(
    ("topic", "text", "found"),
    [
        ("phone numbers", "Call (061) 761627 or +49 163 2936012.", ["(061) 761627", "+49 163 2936012"]),
        ("phone numbers", "Pay to DE89 3704 0044 0532 0130 00.", []),
        ("amounts", "It costs 65.5 million euros or $3 billion.", ["65.5 million euros", "$3 billion"]),
    ],
)
def test_long_numbers_are_told_apart(topic, text, found):
    assert find(topic, passage(1, text)) == found


@pytest.mark.parametrize(
    ("topic", "text", "found"),
    [
        ("V8", "V8 is quick. It beats the v8. Let V be 8. V80 and MV8 are others. Ask for V8.1.", 2),
        ("GPT-4", "GPT-4 wrote it. GPT 4 read it. GPT-4.5 and GPT-40 are others. GPT has 4 parts.", 2),
        ("10kg parcels", "Parcels of 10 kg. Parcels of 10kg. The 10 parcels weigh a kg.", 2),
        ("V8", "V8은 빠르다. V는 8이다.", 1),
        ("제7조", "제7조는 유효하다. 제 7 조를 보라. 제3조는 7일이다.", 2),
        ("第7条", "第7条有效。第3条规定7天。", 1),
    ],
)
def test_a_code_occurs_as_one_word(topic, text, found):
    assert len(find(topic, passage(1, text))) == found


def test_a_code_names_a_section_as_one_word():
    assert find("V8", passage(1, "Case V, part 8\n\nIt is red.\n\nThe V8\n\nIt is blue.")) == ["It is blue."]


@pytest.mark.parametrize(
    ("topic", "text", "found"),
    [
        (
            "backward filters",
            "Backward filters run.\n\nWe now apply two backward filters:\n\n• Stores. None is read.\n• Code.\n\nOk.",
            ["Backward filters run.", "We now apply two backward filters:\nStores. None is read.\nCode."],
        ),
        (
            "tests of ropes",
            "The yard has two tests of ropes:\n\nA rope is pulled. It holds.\n\nA rope is soaked.\n\nBen rests.",
            ["The yard has two tests of ropes:\nA rope is pulled. It holds.\nA rope is soaked."],
        ),
        ("ropes", "Ada says this of ropes:\n\nThey rot.\n\nBen rests.", ["Ada says this of ropes:\nThey rot."]),
        ("ropes", "Ropes are sold here:\n\nStaff\n\nBen rests.", ["Ropes are sold here:"]),
        (
            "밧줄",
            "밧줄을 시험하는 방법은 두 가지가 있다:\n\n밧줄을 당긴다.\n\n밧줄을 적신다.\n\n벤은 쉰다.",
            ["밧줄을 시험하는 방법은 두 가지가 있다:\n밧줄을 당긴다.\n밧줄을 적신다."],
        ),
        (
            "绳索",
            "我们对绳索做两种测试：\n\n拉紧它。\n\n浸湿它。\n\n本在休息。",
            ["我们对绳索做两种测试：\n拉紧它。\n浸湿它。"],
        ),
    ],
)
def test_a_sentence_and_the_list_that_it_announces_are_one_place(topic, text, found):
    assert find(topic, passage(1, text)) == found


def test_a_label_that_names_the_topic_leaves_its_items_to_stand_alone():
    text = "Ada wrote this.\n\nMain risks:\n\n- The dam may break.\n- The mill may burn."
    assert find("risks", passage(1, text)) == ["The dam may break.", "The mill may burn."]
