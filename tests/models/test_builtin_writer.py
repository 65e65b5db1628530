"""The built-in writer and rewriter: extractive answers with citations, and follow-ups in context."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.models.builtin_writer import BuiltinRewriter, BuiltinWriter
from crag.models.embedders import open_embedder
from crag.models.quoted_answer import MAX_SENTENCES
from crag.options import RewriteStyle, RunOptions
from crag.protocols import MAX_QUERY_LENGTH, Embedder, PromptFit, ReplyPiece
from crag.settings import Settings
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

HISTORY = (
    Turn("user", "How does the ReAct agent use self-reflection?"),
    Turn("assistant", "It reflects on failures [1]."),
)


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return open_embedder("builtin", Settings())


def knowledge(texts: Sequence[str]) -> list[Knowledge]:
    return [
        Knowledge(n, Passage(n, f"s{n}", f"Document {n}", f"{n}.txt", text, text), text)
        for n, text in enumerate(texts, start=1)
    ]


def answer(embedder: Embedder, question: str, texts: Sequence[str]) -> str:
    writer = BuiltinWriter(embedder, CountedTermStatistics((*ENGLISH, *KOREAN, *CHINESE, *texts)))
    pieces = list(writer.write(question, knowledge(texts), (), Cancellation()))
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
def test_the_answering_sentence_comes_first_with_its_source(
    embedder: Embedder, question: str, texts: tuple[str, ...], held: str
) -> None:
    text = answer(embedder, question, texts)
    assert held in text
    assert text.split("[")[0] in held or held.split("[")[0] in text.split("]")[0]


def test_every_sentence_is_quoted_and_cited(embedder: Embedder) -> None:
    text = answer(embedder, "Who built the Halden lighthouse?", ENGLISH)
    quotes = re.findall(r"(.+?) \[(\d)\]\s*", text)
    assert 1 <= len(quotes) <= MAX_SENTENCES
    assert all(quote in ENGLISH[int(number) - 1] for quote, number in quotes)


def test_reference_numbers_of_a_document_are_not_citations(embedder: Embedder) -> None:
    source = "[3] The Halden lighthouse was built by Clara Moor [7, 8]."
    text = answer(embedder, "Who built the Halden lighthouse?", (source,))
    assert text == "The Halden lighthouse was built by Clara Moor. [1]"


def test_a_list_is_gathered_whole(embedder: Embedder) -> None:
    text = answer(embedder, "What are the kinds of knots?", (ENGLISH[2], LIST))
    assert text.splitlines() == [
        "There are three kinds of knots: [2]",
        "",
        "- the bowline [2]",
        "- the reef knot [2]",
        "- the sheet bend [2]",
    ]


def test_the_rows_of_a_table_are_gathered_without_its_head(embedder: Embedder) -> None:
    text = answer(embedder, "What are four kinds of knots?", (TABLE, ENGLISH[2]))
    assert text.splitlines()[2:] == ["- Bowline — rescue [1]", "- Reef — sails [1]"]


STEPS = """Ropes fray in the sun. To splice a rope, follow these steps:
1. Unlay the strands.
2. Tuck each strand under the next.
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
def test_what_a_sentence_announces_follows_it(embedder: Embedder, question: str, text: str, lines: list[str]) -> None:
    assert answer(embedder, question, (text,)).splitlines() == lines


def test_a_list_of_something_else_does_not_replace_the_answering_sentence(embedder: Embedder) -> None:
    text = answer(embedder, "What types of biases do gauges show in cold weather?", (KINDS_OF_BIAS, OTHER_LIST))
    assert text == f"{KINDS_OF_BIAS} [1]"


def test_the_answer_stops_where_support_drops(embedder: Embedder) -> None:
    told = "The Moorby company was founded in 1911. Its boats are painted blue. In 1950 it bought the pier of Odby."
    assert answer(embedder, "When was the Moorby company founded?", (told, ENGLISH[0])) == (
        "The Moorby company was founded in 1911. [1]"
    )


def test_a_figure_in_a_table_is_quoted_with_its_column(embedder: Embedder) -> None:
    table = "Staff of the ferries\n\nTown | Sailors | Of which cooks\nMoorby | 142 | 17\nOdby | 58 | 6"
    text = answer(embedder, "How many sailors work in Odby?", (table, ENGLISH[1]))
    assert text.startswith("Odby — Sailors: 58 — Of which cooks: 6 [1]")


def test_the_answer_comes_in_small_pieces_with_its_usage_last(embedder: Embedder) -> None:
    writer = BuiltinWriter(embedder, CountedTermStatistics(ENGLISH))
    _, *pieces = writer.write("Who built the Halden lighthouse?", knowledge(ENGLISH), (), Cancellation())
    assert len(pieces) > 8
    assert isinstance(pieces[-1], ReplyPiece)
    assert pieces[-1].usage is not None


def test_a_stop_ends_the_answer(embedder: Embedder) -> None:
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
def test_hostile_or_empty_knowledge_cannot_break_it(embedder: Embedder, text: str) -> None:
    written = answer(embedder, "What are the types of it?", (text,))
    assert written == "" or written.endswith("[1]")


def test_the_head_of_a_table_without_a_rule_is_left_out_too(embedder: Embedder) -> None:
    rows = "Knot | Use\nThe bowline | It rescues sailors\nThe reef knot | It shortens sails\nThe hitch | It holds boats"
    table = f"We show three kinds of knots here.\n\n{rows}"
    text = answer(embedder, "What are three kinds of knots?", (table, ENGLISH[2]))
    assert "- The hitch — It holds boats [1]" in text
    assert "Knot — Use" not in text


def condense(question: str, history: tuple[Turn, ...] = HISTORY) -> str:
    return BuiltinRewriter().condense(question, history, Cancellation())


def rewrite(question: str, style: RewriteStyle) -> str:
    return BuiltinRewriter().rewrite(question, RunOptions(rewrite=style), Cancellation())


@pytest.mark.parametrize(
    "question", ["Why?", "When was it published?", "And its tools?", "What about memory?", "그것은 언제?"]
)
def test_a_follow_up_borrows_key_words_of_the_last_question(question: str) -> None:
    condensed = condense(question)
    assert condensed.startswith(question)
    assert "ReAct" in condensed
    assert "failures" not in condensed


@pytest.mark.parametrize(
    "question",
    [
        "Who built the Halden lighthouse?",
        "What is TraceMonkey?",
        "what is a mutex?",
        "Who was Lincoln?",
        "What does CRAG mean?",
        "What is blacklisting and how long does it take?",
        "When did Lincoln die, and where was he buried?",
        "블랙리스트란 무엇인가?",
    ],
)
def test_a_question_that_names_its_topic_stays_as_it_is(question: str) -> None:
    assert condense(question) == question


def test_nothing_is_borrowed_where_nothing_was_asked() -> None:
    assert condense("Why?", ()) == "Why?"


@pytest.mark.parametrize(
    "question",
    [
        "What is the cost?",
        "What is different?",
        "What is included?",
        "Who is eligible?",
        "And what is it?",
        "What are the causes and how are they treated?",
    ],
)
def test_one_key_word_that_names_no_topic_borrows_the_topic(question: str) -> None:
    assert "ReAct" in condense(question)


def test_a_follow_up_borrows_from_the_topic_before_it_and_not_from_an_older_one_or_from_small_talk() -> None:
    before = (*HISTORY, Turn("user", "What is TraceMonkey?"), Turn("assistant", "A compiler."), Turn("user", "Thanks!"))
    assert condense("Who wrote it?", before) == "Who wrote it? (TraceMonkey)"


def test_a_chain_of_follow_ups_keeps_its_subject() -> None:
    assert "ReAct" in condense("And then?", (*HISTORY, Turn("user", "Why?"), Turn("assistant", "Because.")))


def test_the_language_is_kept() -> None:
    condensed = condense("왜?", (Turn("user", "한강 도서관은 누가 설계했나?"),))
    assert condensed.startswith("왜?")
    assert "도서관" in condensed


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Can you please tell me who won the 2024 NBA finals?", "who won the 2024 NBA finals?"),
        ("Who won the 2024 NBA finals?", "Who won the 2024 NBA finals?"),
        ("请问谁设计了青山图书馆？", "谁设计了青山图书馆？"),
        ("please", "please"),
    ],
)
def test_the_question_style_drops_the_filler(question: str, query: str) -> None:
    assert rewrite(question, "question") == query


def test_the_keyword_style_keeps_three_and_names_whole() -> None:
    assert (
        rewrite("Who did the Chicago Bears draft first in the 2024 NFL draft?", "keywords") == "Chicago Bears 2024 NFL"
    )
    assert rewrite("Who won the 2024 NBA finals?", "keywords") == "2024 NBA finals"


def test_no_rewriting_means_the_same_words() -> None:
    assert rewrite("please tell me, why?", "none") == "please tell me, why?"


@pytest.mark.parametrize("style", ["none", "question", "keywords"])
@pytest.mark.parametrize("question", ["word " * 500, "字" * 2_000, "A" * 5_000, "?" * 500, "{0.__class__} $x"])
def test_no_query_is_longer_than_the_web_takes(question: str, style: RewriteStyle) -> None:
    assert 0 < len(rewrite(question, style)) <= MAX_QUERY_LENGTH
    assert condense("Why? " + question).startswith("Why? " + question)
