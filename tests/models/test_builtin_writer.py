from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from crag.cancellation import Cancellation
from crag.errors import Stopped
from crag.models.builtin_writer import MAX_SENTENCES, BuiltinWriter
from crag.models.embedders import open_embedder
from crag.protocols import Embedder, PromptFit, ReplyPiece
from crag.settings import Settings
from crag.text.relevance_scores import CountedTermStatistics
from crag.types import Knowledge, Passage
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


def test_reference_numbers_of_a_document_are_not_citations_of_the_answer(embedder: Embedder) -> None:
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
    stop.request()
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
