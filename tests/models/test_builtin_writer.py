"""The built-in writer: extractive answers with citations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.graph.answer_support import check_sentences
from crag.graph.citations import cited_numbers, collect_citations, collect_quotations
from crag.models.builtin_writer import BuiltinWriter
from crag.models.embedders import open_embedder
from crag.models.quoted_answer import MAX_SENTENCES
from crag.protocols import Embedder, PromptFit, ReplyPiece
from crag.settings import Settings
from crag.text.citation_marks import strip_bold
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Knowledge, Passage, Turn
from tests.grading.passages import CHINESE, ENGLISH, KOREAN

LIST = """Sailors tie ropes every day. There are three kinds of knots:
- the bowline
- the reef knot
- the sheet bend

Knots hold."""
TABLE = """Knots differ. We show four kinds of knots here.

| Knot | Use |
|---|---|
| Bowline | rescue |
| Reef | sails |"""


@pytest.fixture(scope="session")
def embedder():
    return open_embedder("builtin", Settings())


def knowledge(texts: Sequence[str]) -> list[Knowledge]:
    return [
        Knowledge(n, Passage(n, f"s{n}", f"Document {n}", f"{n}.txt", text, text), text)
        for n, text in enumerate(texts, start=1)
    ]


def answer(embedder: Embedder, question: str, texts: Sequence[str], before: str = "") -> str:
    return strip_bold(write(embedder, question, texts, before))


def write(embedder: Embedder, question: str, texts: Sequence[str], before: str = "") -> str:
    writer = BuiltinWriter(embedder, CountedTermStatistics((*ENGLISH, *KOREAN, *CHINESE, *texts)))
    pieces = list(writer.write(question, knowledge(texts), (Turn("assistant", before),), Cancellation()))
    assert pieces[0] == PromptFit(tokens=0, window=0, left_out=0)
    return "".join(piece.text for piece in pieces if isinstance(piece, ReplyPiece))


@pytest.mark.parametrize(
    ("question", "texts", "held"),
    [
        ("Who built the Halden lighthouse?", ENGLISH[:3], "Clara Moor. [1]"),
        ("How many harbours does Halden have?", ENGLISH[:3], "four harbours. [2]"),
        ("한강 도서관을 설계한 건축가는 누구인가?", KOREAN, "이서준이 설계하였다. [1]"),
        ("青山圖書館由哪一位建築師設計？", CHINESE, "林文遠設計。 [1]"),
    ],
)
def test_the_answering_sentence_comes_first_with_its_source(embedder, question, texts, held):
    text = answer(embedder, question, texts)
    assert held in text
    assert text.split("[")[0] in held or held.split("[")[0] in text.split("]")[0]


def test_every_sentence_is_quoted_and_cited(embedder):
    text = answer(embedder, "Who built the Halden lighthouse?", ENGLISH)
    quotes = re.findall(r"(.+?) \[(\d)\]\s*", text)
    assert 1 <= len(quotes) <= MAX_SENTENCES
    assert all(quote in ENGLISH[int(number) - 1] for quote, number in quotes)


@pytest.mark.parametrize(
    ("source", "quoted"),
    [
        (
            "[3] The Halden lighthouse was built by Clara Moor [7, 8].",
            r"\[3] The Halden lighthouse was built by Clara Moor \[7, 8]. [1]",
        ),
        (
            "The Halden lighthouse was built by Clara Moor,[12] an engineer.",
            "The Halden lighthouse was built by Clara Moor, an engineer. [1]",
        ),
    ],
)
def test_numbers_in_brackets_of_a_document_are_not_citations(embedder, source, quoted):
    text = answer(embedder, "Who built the Halden lighthouse?", (source,))
    assert text == quoted
    assert cited_numbers(text) == [1]
    assert collect_quotations(text, knowledge((source,)))


def test_a_list_is_gathered_whole(embedder):
    text = answer(embedder, "What are the kinds of knots?", (ENGLISH[2], LIST))
    assert text.splitlines() == [
        "There are three kinds of knots: [2]",
        "",
        "- the bowline [2]",
        "- the reef knot [2]",
        "- the sheet bend [2]",
    ]


def test_the_rows_of_a_table_are_gathered_without_its_head(embedder):
    text = answer(embedder, "What are four kinds of knots?", (TABLE, ENGLISH[2]))
    assert text.splitlines()[2:] == ["- Knot: Bowline — Use: rescue [1]", "- Knot: Reef — Use: sails [1]"]


STEPS = """Ropes fray in the sun. To splice a rope, follow these steps:
1. Unlay the strands.
2. Tuck each strand under the next.
3. Trim the ends.

Wash ropes in spring."""
STEPS_WITH_REMARK = """# Splicing a rope

1. Unlay the strands.
2. Tuck each strand. The first one is the hardest.
3. Trim the ends.

Wash ropes in spring."""
LIMITS = "The winch of the ferry has several known limits. It lifts 900 kilograms. It stops in frost."
KINDS_OF_BIAS = (
    "Gauges of the old type show three biases in cold weather: (1) drift of the needle, (2) sticking of the pin and "
    "(3) fog on the glass."
)
OTHER_LIST = """Gauges are checked in two types of tests:
- Cold test: the gauge lies in ice for one hour.
- Weather test: the gauge hangs outside in the rain."""


@pytest.mark.parametrize(
    ("question", "text", "lines"),
    [
        (
            "How do I splice a rope?",
            STEPS,
            [
                "To splice a rope, follow these steps: [1]",
                "",
                "- Unlay the strands. [1]",
                "- Tuck each strand under the next. [1]",
                "- Trim the ends. [1]",
            ],
        ),
        (
            "What are the limits of the winch of the ferry?",
            LIMITS,
            ["The winch of the ferry has several known limits. [1] It lifts 900 kilograms. [1] It stops in frost. [1]"],
        ),
        (
            "복리후생에는 무엇이 있나요?",
            "회사는 다음의 복리후생을 제공한다.\n\n- 건강검진\n- 사내 어린이집",
            ["회사는 다음의 복리후생을 제공한다. [1]", "", "- 건강검진 [1]", "- 사내 어린이집 [1]"],
        ),
    ],
)
def test_what_a_sentence_announces_follows_it(embedder, question, text, lines):
    assert answer(embedder, question, (text,)).splitlines() == lines


def test_a_list_of_something_else_does_not_replace_the_answering_sentence(embedder):
    text = answer(embedder, "What types of biases do gauges show in cold weather?", (KINDS_OF_BIAS, OTHER_LIST))
    assert text == f"{KINDS_OF_BIAS} [1]"


def test_the_answer_stops_where_support_drops(embedder):
    told = "The Moorby company was founded in 1911. Its boats are painted blue. In 1950 it bought the pier of Odby."
    assert answer(embedder, "When was the Moorby company founded?", (told, ENGLISH[0])) == (
        "The Moorby company was founded in 1911. [1]"
    )


def test_a_figure_in_a_table_is_quoted_with_its_column(embedder):
    table = "Staff of the ferries\n\nTown | Sailors | Of which cooks\nMoorby | 142 | 17\nOdby | 58 | 6"
    text = answer(embedder, "How many sailors work in Odby?", (table, ENGLISH[1]))
    assert text.startswith("Town: Odby — Sailors: 58 — Of which cooks: 6 [1]")


def test_a_wide_row_is_quoted_with_the_column_asked_for(embedder):
    table = (
        "Knot | Strength | Turns | Minutes | Rope use | Age\nBowline | 70 | 2 | 3 | 40 | 9\nReef | 45 | 4 | 1 | 20 | 8"
    )
    written = write(embedder, "What is the strength of the Bowline?", [table])
    assert written == "Knot: Bowline — Strength: **70** [1]"
    (quoted,) = collect_quotations(written, knowledge([table]))
    assert quoted.text == "Knot: Bowline | Strength: 70 | Turns: 2 | Minutes: 3 | Rope use: 40 | Age: 9"
    (support,) = check_sentences(written, knowledge([table]))
    assert support.strength == "supported"


def test_the_answer_comes_in_small_pieces_with_its_usage_last(embedder):
    writer = BuiltinWriter(embedder, CountedTermStatistics(ENGLISH))
    _, *pieces = writer.write("Who built the Halden lighthouse?", knowledge(ENGLISH), (), Cancellation())
    assert len(pieces) > 8
    assert isinstance(pieces[-1], ReplyPiece)
    assert pieces[-1].usage is not None


def test_a_stop_ends_the_answer(embedder):
    stop = Cancellation()
    pieces = BuiltinWriter(embedder, CountedTermStatistics(ENGLISH)).write(
        "Who built it?", knowledge(ENGLISH), (), stop
    )
    next(pieces)
    next(pieces)
    stop.cancel()
    with pytest.raises(Stopped):
        next(pieces)


@pytest.mark.parametrize("text", ["", "###", "|---|", "{0.__class__} {{7*7}} [99] %s", "# Only a heading"])
def test_hostile_or_empty_knowledge_cannot_break_it(embedder, text):
    written = answer(embedder, "What are the types of it?", (text,))
    assert written == "" or written.endswith("[1]")


def test_the_head_of_a_table_without_a_rule_is_left_out_too(embedder):
    rows = "Knot | Use\nThe bowline | It rescues sailors\nThe reef knot | It shortens sails\nThe hitch | It holds boats"
    table = f"We show three kinds of knots here.\n\n{rows}"
    text = answer(embedder, "What are three kinds of knots?", (table, ENGLISH[2]))
    assert "- The hitch — It holds boats [1]" in text
    assert "Knot — Use" not in text


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Why? (Halden lighthouse)", ""),
        ("What about Kettle? (Halden lighthouse built)", ""),
        ("And Clara Moor? (Halden lighthouse built)", "Clara Moor"),
        ("Who built the Halden lighthouse?", "Clara Moor"),
    ],
)
def test_a_follow_up_repeats_an_answer_only_if_that_holds_what_it_asks(embedder, question, said):
    before = answer(embedder, "Who built the Halden lighthouse?", ENGLISH[:1])
    repeated = answer(embedder, question, ENGLISH[:1], before)
    assert (said in repeated) if said else not repeated


def test_what_was_said_does_not_hide_what_a_follow_up_asks(embedder):
    texts = ("Every year each sailor has a rope budget of 90 euros. It pays for knots, and it cannot be carried over.",)
    before = answer(embedder, "How much is the rope budget?", texts)
    assert "90 euros" in before
    text = answer(embedder, "And can it be carried over to the next year? (rope budget)", texts, before)
    assert text == "It pays for knots, and it cannot be carried over. [1]"


def test_where_a_row_is_about_what_is_named_the_others_are_not(embedder):
    sheets = ("Boat | Sales\nTern | 40\nGull | 52", "Boat | Price\nTern | 900\nHeron | 700")
    assert answer(embedder, "How many sales had the Heron?", sheets) == "Boat: Heron — Price: 700 [2]"
    assert "Tern" in answer(embedder, "What are the sales of every boat?", sheets)


def test_more_is_told_without_what_was_said(embedder):
    texts = ["Knots hold ropes. Knots are tied by sailors every day."]
    assert answer(embedder, "Tell me more. (knots)", texts, "Knots hold ropes. [1]") == (
        "Knots are tied by sailors every day. [1]"
    )


def test_a_second_sentence_of_a_step_does_not_end_the_list(embedder):
    text = answer(embedder, "What are the steps for splicing a rope?", (STEPS_WITH_REMARK, ENGLISH[2]))
    assert text.splitlines() == [
        "- Unlay the strands. [1]",
        "- Tuck each strand. [1] The first one is the hardest. [1]",
        "- Trim the ends. [1]",
    ]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How do I reset my password?", "pdf encryption test password: asdfzxcv"),
        ("price of each product?", "At the public offering in 1986, the opening share price was $21."),
        ("How much is the PH-80?", "PH-40 | Price: 645"),
        ("How much does the Orbel 20 cost?", "Leave 15 cm free on both sides and 30 cm above the oven."),
        ("How do I reset the passphrase of a library card?", "If you forget the passphrase, the uploads are lost."),
    ],
)
def test_one_shared_word_is_no_answer(embedder, question, text):
    assert answer(embedder, question, (text,)) == ""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was Varnholt founded?", "Varnholt builds boats in two sheds."),
        ("How much did Moorby pay for the ferry?", "Moorby bought the ferry for 900 pounds."),
    ],
)
def test_what_names_the_subject_is_part_of_an_answer(embedder, question, text):
    assert answer(embedder, question, (text,)) == f"{text} [1]"


def test_a_source_that_the_user_chose_is_quoted_whatever_it_shares(embedder):
    (held,) = knowledge(("pdf encryption test password: asdfzxcv",))
    writer = BuiltinWriter(embedder, CountedTermStatistics((held.text,)))
    pieces = writer.write("How do I reset my password?", [replace(held, is_trusted=True)], (), Cancellation())
    assert "asdfzxcv [1]" in "".join(piece.text for piece in pieces if isinstance(piece, ReplyPiece))


@pytest.mark.parametrize(
    ("question", "text", "answered"),
    [
        (
            "May I use the company card at weekends?",
            "The company card may not be used at weekends. However, business trips are exempt. Parking is free.",
            "The company card may not be used at weekends. [1] However, business trips are exempt. [1]",
        ),
        (
            "법인카드를 주말에 사용할 수 있나요?",
            "주말에는 법인카드를 사용할 수 없다. 다만, 출장 중인 경우에는 예외로 한다. 정산은 재무팀에서 한다.",
            "주말에는 법인카드를 사용할 수 없다. [1] 다만, 출장 중인 경우에는 예외로 한다. [1]",
        ),
        (
            "When is the coffee shop open?",
            "The coffee shop is open from 8:00 to 16:00 on weekdays. It is closed on Sundays. It seats forty.",
            "The coffee shop is open from 8:00 to 16:00 on weekdays. [1] It is closed on Sundays. [1]",
        ),
        (
            "도서관은 언제 여나요?",
            "도서관은 오전 9시부터 오후 6시까지 연다. 월요일은 휴무다. 좌석은 마흔 개다.",
            "도서관은 오전 9시부터 오후 6시까지 연다. [1] 월요일은 휴무다. [1]",
        ),
        (
            "週末可以使用公司信用卡嗎？",
            "週末不得使用公司信用卡。但出差期間不在此限。停車場免費開放。",
            "週末不得使用公司信用卡。 [1] 但出差期間不在此限。 [1]",
        ),
        (
            "Is fuel paid for private cars?",
            "1. Fuel for private cars is not paid.\n   Except with three passengers or more.\n2. Seats are limited.",
            "1. Fuel for private cars is not paid. [1] Except with three passengers or more. [1]",
        ),
        (
            "Did the Duke pay for the bridge?",
            "Many say that the Duke paid for the bridge. He did not: the town paid. The bridge is of stone.",
            "Many say that the Duke paid for the bridge. [1] He did not: the town paid. [1]",
        ),
        (
            "공작이 다리 값을 냈나요?",
            "흔히 공작이 다리 값을 냈다고 한다. 이는 사실이 아니다. 돌로 지었다.",
            "흔히 공작이 다리 값을 냈다고 한다. [1] 이는 사실이 아니다. [1]",
        ),
        (
            "公爵有沒有出錢建橋？",
            "人們常說公爵出錢建橋。其實是鎮上出的錢。橋是石造的。",
            "人們常說公爵出錢建橋。 [1] 其實是鎮上出的錢。 [1]",
        ),
    ],
)
def test_an_exception_is_quoted_with_its_rule(embedder, question, text, answered):
    assert answered.removeprefix("1. ") in answer(embedder, question, (text,)).replace("\n\n", " ")


@pytest.mark.parametrize(
    ("question", "text", "answered"),
    [
        (
            "When and where is the workshop?",
            "# Workshop\n\nAll staff attend the workshop.\n\n1. Date: 16 October\n2. Venue: Grand Hall",
            "- Date: 16 October [1]\n- Venue: Grand Hall [1]",
        ),
        (
            "워크숍은 언제 어디서 해요?",
            "# 워크숍\n\n워크숍에 오세요.\n\n1. 일시: 10월 16일 09:00\n2. 장소: 용평 그랜드홀",
            "- 일시: 10월 16일 09:00 [1]\n- 장소: 용평 그랜드홀 [1]",
        ),
        (
            "研討會在哪裡？",
            "# 研討會通知\n\n請踴躍參加研討會。\n\n1. 時間：10月16日\n2. 地點：青山會館\n3. 費用：免費",
            "地點：青山會館 [1]",
        ),
    ],
)
def test_labelled_lines_answer(embedder, question, text, answered):
    assert answer(embedder, question, (text,)) == answered


PARTY = ("The summer party takes place on 12 June 2026. Each guest of the summer party brings a chair.",)
NOTICE = ("이월한 연차는 3월 31일까지 사용하여야 한다. 연차를 신청하려는 직원은 팀장의 승인을 받는다.",)


@pytest.mark.parametrize(
    ("texts", "question", "said"),
    [
        (PARTY, "When is it? (summer party)", "The summer party takes place on 12 June 2026. [1]"),
        (NOTICE, "그건 언제까지예요? (이월 연차)", "이월한 연차는 3월 31일까지 사용하여야 한다. [1]"),
    ],
)
def test_a_follow_up_repeats_an_answer_that_states_the_value_asked_for(embedder, texts, question, said):
    assert answer(embedder, question, texts, said) == said


@pytest.mark.parametrize("question", ["When is the shop open?", "when are you open", "What are the opening hours?"])
def test_opening_hours_are_not_mixed_with_the_date_of_the_opening(embedder, question):
    hours = "The shop is open from 7:30 to 18:00 on weekdays."
    texts = (f"{hours} It smells of tea.", "The shop was opened in June 2014. Do not open the boiler.")
    assert answer(embedder, question, texts) == f"{hours} [1]"


@pytest.mark.parametrize(
    ("question", "text", "written"),
    [
        ("Who built the pier?", "The pier was built by Clara Moor.", "The pier was built by **Clara Moor**. [1]"),
        ("When was the pier built?", "The pier was built on 4 May 1911.", "The pier was built on **4 May 1911**. [1]"),
        ("How much is the fee?", "The fee is £1,200 for 40 boats.", "The fee is **£1,200** for 40 boats. [1]"),
        ("How much is the fee?", "The fee is £1,200.", "The fee is **£1,200**. [1]"),
        ("How many boats sank in 1911?", "In 1911 twelve boats sank.", "In 1911 **twelve** boats sank. [1]"),
        ("How long is the trial?", "The trial lasts three months.", "The trial lasts **three months**. [1]"),
        ("When was it built?", "It was built in 1874 or in 1911.", "It was built in 1874 or in 1911. [1]"),
        ("Who built the pier?", "The pier was built by Moor.", "The pier was built by Moor. [1]"),
        ("Where was Clara Moor born?", "Clara Moor was born in Odby.", "Clara Moor was born in Odby. [1]"),
        ("When and where is the fair?", "The fair is on 4 May in Odby.", "The fair is on 4 May in Odby. [1]"),
        ("부두는 언제 지었나요?", "부두는 1874년에 지었다.", "부두는 **1874년**에 지었다. [1]"),
        ("碼頭何時建成？", "碼頭於1874年建成。", "碼頭於**1874年**建成。 [1]"),
    ],
)
def test_the_only_value_of_the_kind_asked_for_is_bold(embedder, question, text, written):
    assert write(embedder, question, (text,)) == written


def test_a_value_is_not_bold_if_another_sentence_states_a_different_one(embedder):
    texts = ("The pier was built by Clara Moor.", "The pier was built by Fiona Marsh.")
    assert "**" not in write(embedder, "Who built the pier?", texts)


def test_an_answer_with_bold_text_quotes_the_same_sentences(embedder):
    text = "碼頭於1874年建成。"
    written = write(embedder, "碼頭何時建成？", (text,))
    assert [quoted.text for quoted in collect_quotations(written, knowledge([text]))] == [text]
    assert [(one.strength, one.quote) for one in check_sentences(written, knowledge([text]))] == [("supported", text)]
    assert [cited.quote for cited in collect_citations(written, knowledge([text]))] == [text]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What is the rent?", "3. Rent\nThe rent is 900 euros.\n\n4. Pets\nNo dogs.", "The rent is 900 euros. [1]"),
        (
            "What are the steps?",
            "These are the steps:\n1. Open the lid\n2. Wait",
            "These are the steps: [1]\n\n- Open the lid [1]\n- Wait [1]",
        ),
    ],
)
def test_a_numbered_heading_is_not_quoted_as_a_sentence(embedder, question, text, expected):
    assert answer(embedder, question, [text]) == expected


def test_a_value_beside_the_words_of_the_question_is_quoted_without_those_beside_their_forms(
    embedder,
):
    texts = [
        "Orbel is a founding member of the Harbour Forum started on 23 March 2011.",
        "Orbel was founded by Ada Finch and Tom Reed on 4 April 1975 to build and sell small looms for weavers.",
    ]
    assert answer(embedder, "When was Orbel founded?", texts) == f"{texts[1]} [2]"


def test_the_reason_in_the_next_sentence_is_quoted_instead_of_what_repeats_the_question(embedder):
    text = (
        "Why the ferry was sold is a question that many ask. The ferry carries 40 cars.\n\n"
        "The ferry was sold in 2011. It had become too small for the crowds of summer."
    )
    written = answer(embedder, "Why was the ferry sold?", [text])
    assert written == "The ferry was sold in 2011. [1] It had become too small for the crowds of summer. [1]"


@pytest.mark.parametrize(
    ("question", "text", "quoted"),
    [
        (
            "What is remote work?",
            "Remote work was introduced after talks about remote work. Remote work means work away from the office.",
            "Remote work means work away from the office.",
        ),
        (
            "What is a data breach?",
            "A data breach must be reported at once. Report it.\n\n# Data breach\n\nAny loss of personal data counts.",
            "Any loss of personal data counts.",
        ),
    ],
)
def test_a_definition_is_quoted_instead_of_what_else_is_said(embedder, question, text, quoted):
    assert answer(embedder, question, [text]) == f"{quoted} [1]"


LEAFLET = """감기약 한솔정

1. 다음과 같은 사람은 이 약을 복용하지 말 것
1) 이 약에 과민증이 있는 사람
2) 녹내장 환자
2. 다음과 같은 사람은 복용 전에 의사와 상의할 것
1) 수유부
2) 고령자
3. 이상반응
졸음, 갈증, 드물게 두드러기가 나타날 수 있다.

성인은 1회 2정을 복용하고, 하루 6정을 넘기지 않는다. 이 약을 복용하면 졸릴 수 있다."""
OUTING = """가을 소풍 안내

선생님과 함께 가을 소풍을 가니 준비물을 챙겨 보내 주세요.

1. 장소: 한빛 수목원
2. 준비물: 도시락, 물통, 돗자리
3. 복장: 체육복"""


@pytest.mark.parametrize(
    ("question", "text", "quoted"),
    [
        (
            "복용하면 안 되는 사람은 누구인가요?",
            LEAFLET,
            "- 다음과 같은 사람은 이 약을 복용하지 말 것 [1]\n- 이 약에 과민증이 있는 사람 [1]\n- 녹내장 환자 [1]",
        ),
        ("녹내장 환자도 복용 가능한가요?", LEAFLET, "다음과 같은 사람은 이 약을 복용하지 말 것 [1] 녹내장 환자 [1]"),
        ("이상반응이 뭐예요?", LEAFLET, "졸음, 갈증, 드물게 두드러기가 나타날 수 있다. [1]"),
        ("부작용이 뭐예요?", LEAFLET, "졸음, 갈증, 드물게 두드러기가 나타날 수 있다. [1]"),
        ("하루 몇 정까지 복용 가능한가요?", LEAFLET, "성인은 1회 2정을 복용하고, 하루 6정을 넘기지 않는다. [1]"),
        ("소풍 준비물 알려줘", OUTING, "준비물: 도시락, 물통, 돗자리 [1]"),
        ("복장이 뭐예요?", OUTING, "복장: 체육복 [1]"),
        (
            "가입비랑 회비 얼마예요?",
            "가입비는 2만 원이다. 회비는 매달 1만 원이다. 회비는 총무에게 낸다.",
            "가입비는 2만 원이다. [1]\n\n회비는 매달 1만 원이다. [1]",
        ),
        ("참가비랑 간식비 얼마예요?", "간식비는 하루 3천 원이다.", "간식비는 하루 3천 원이다. [1]"),
        ("차임은 얼마예요?", "차임은 5%를 넘겨 올릴 수 없다. 차임은 70만 원이다.", "차임은 70만 원이다. [1]"),
    ],
)
def test_a_korean_answer_is_the_very_thing_asked_for(embedder, question, text, quoted):
    assert answer(embedder, question, [text]) == quoted


def test_a_list_is_quoted_whole_if_its_heading_names_what_is_asked(embedder):
    text = "## In the box\n- Halden 40 lamp\n- charger\n- two cables\n\n## Charging\nCharge the lamp for four hours."
    assert answer(embedder, "What is in the box?", [text]) == "- Halden 40 lamp [1]\n- charger [1]\n- two cables [1]"


def test_no_value_is_in_bold_where_a_sentence_states_two(embedder):
    text = "After the first six months the tenants may end the tenancy by giving one month's notice."
    assert "**" not in write(embedder, "How much notice do the tenants have to give?", [text])


LEASE = (
    "The rent is £1,150 per month. The rent may be raised once a year by no more than £50. If the rent is late, a fee"
    " of £20 is charged. The tenancy begins on 1 March 2025 and is for twelve months. During the last six weeks of the"
    " tenancy, viewings are allowed."
)


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("How much is the rent?", "The rent is £1,150 per month."),
        ("What is the rent?", "The rent is £1,150 per month."),
        ("When does the tenancy start?", "The tenancy begins on 1 March 2025 and is for twelve months."),
    ],
)
def test_a_sentence_that_states_the_value_of_what_is_asked_about_is_quoted_alone(embedder, question, quoted) -> None:
    assert answer(embedder, question, [LEASE]) == f"{quoted} [1]"


def test_a_sentence_that_a_better_one_makes_needless_is_left_out(embedder: Embedder) -> None:
    texts = ["The probation period is six months for all staff.", "During probation, notice is one week."]
    assert answer(embedder, "What is the notice period during probation?", texts)[:37] == texts[1]


def test_neither_the_title_nor_the_names_of_columns_are_quoted(embedder: Embedder) -> None:
    text = "Document 1\n\n| | V40 | V60 |\n|---|---|---|\n| Noise | 72 dB | 69 dB |\n| Weight | 2.4 kg | 2.9 kg |"
    written = answer(embedder, "How loud is the V60 of Document 1?", [text])
    assert "Noise" in written
    assert "Document 1" not in written
    assert "V40 — V60" not in written


def test_a_sentence_that_refers_to_the_one_before_is_quoted_with_it(embedder: Embedder) -> None:
    text = "A standard drink contains about 14 grams of alcohol. This corresponds to a 350 ml glass of beer."
    written = answer(embedder, "How many grams of alcohol are in one beer?", [text])
    assert written.startswith("A standard drink contains about 14 grams of alcohol. [1] This corresponds")


HIRE = (
    "Item | Tern 3 | Tern 5\nDeposit for damage | €400 | €650\nCleaning | €40 | €55\n\nThe deposit for damage is taken"
    " by card and paid back within a week."
)
LAMPS = "Light | Cause | Remedy\nF2 | Paper jam | Open the flap\nF3 | No toner | Change the drum"
BOATS = "The ferry has 13 cabins.\n\nThe crew of 12 cleans cabins daily. Cabins cost 40 euros.\n\nPier 9 has no cabins."
AGENDA = "The crew asked for a pier in May.\n\n5. Next meeting\nThursday 4 June, 19:00, in the boathouse."


@pytest.mark.parametrize(
    ("question", "texts", "quoted"),
    [
        (
            "What is the deposit for damage of the Tern 5?",
            [HIRE],
            "Item: Deposit for damage — Tern 3: €400 — Tern 5: €650 [1]",
        ),
        (
            "What does F3 mean?",
            ["Printer manual, edition 3, for the home and the office", LAMPS],
            "Light: F3 — Cause: No toner — Remedy: Change the drum [2]",
        ),
        ("How many cabins does the ferry have?", [BOATS], "The ferry has 13 cabins. [1]"),
        ("When is the next meeting?", [AGENDA], "Thursday 4 June, 19:00, in the boathouse. [1]"),
    ],
)
def test_what_states_the_very_thing_is_quoted_alone(embedder, question, texts, quoted) -> None:
    assert answer(embedder, question, texts) == quoted


def test_the_file_name_says_what_a_passage_is_about(embedder: Embedder) -> None:
    rows = "Drug | Dose | How often\nOrbelin | 20 mg | twice a day\nMoorvan | 5 mg | every second day"
    passage = Passage(1, "s", "Discharge letter", "pepper-letter-2024.docx", rows, rows, heading="Drugs at home")
    writer = BuiltinWriter(embedder, CountedTermStatistics((*ENGLISH, rows)))
    pieces = writer.write("How often does Pepper get orbelin?", [Knowledge(1, passage, rows)], (), Cancellation())
    assert "twice a day" in "".join(piece.text for piece in pieces if isinstance(piece, ReplyPiece))


EGGS = "Recipe | Serves | Eggs\nLentil soup | 4 | no\nPlum cake | 10 | yes\nSoda bread | 8 | no"
LOCK = "To switch on the child lock, hold Start for 5 seconds. To switch it off, hold Start and Option together."
HOURS = "Reception is open Monday to Friday from 8:00 to 18:30.\n\nOn Wednesdays reception closes at 13:00."


@pytest.mark.parametrize(
    ("question", "text", "quoted", "not_quoted"),
    [
        ("Which recipe contains eggs?", EGGS, "Plum cake", "soup"),
        ("Which recipes contain no eggs?", EGGS, "soup", "Plum cake"),
        ("How do I switch off the child lock?", LOCK, "To switch it off", "?"),
        ("How do I switch on the child lock?", LOCK, "To switch on the child lock", "it off"),
        ("What time does reception close on Wednesday?", HOURS, "13:00", "18:30"),
        ("What time does reception close on Tuesday?", HOURS, "18:30", "13:00"),
    ],
)
def test_what_says_the_opposite_or_is_general_gives_way(embedder, question, text, quoted, not_quoted) -> None:
    written = answer(embedder, question, [text])
    assert quoted in written
    assert not_quoted not in written
