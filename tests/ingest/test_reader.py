"""Reading files through the confined child, and splitting them into chunks."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from crag.cancellation import Cancellation
from crag.errors import SourceRefused, Stopped
from crag.ingest.parse.document import Block, BlockKind, Document
from crag.ingest.reader import GuardedReader, RawDocument, split_document
from crag.types import Chunk


def count_words(text):
    return len(text.split())


def read(data, stop=None, count=count_words, limit=1_000_000, **hints):
    seen = []
    reading = GuardedReader(count, limit)(RawDocument("notes.md", data, **hints), seen.append, stop or Cancellation())
    return reading, [progress.stage for progress in seen]


def test_a_file_comes_back_in_chunks_with_its_headings():
    reading, stages = read(b"# Kettles\n\nA kettle boils water.\n\n# Cats\n\n" + b"A cat sleeps all day. " * 60)
    assert (reading.kind, reading.pages) == ("markdown", None)
    assert reading.chunks[0].heading == "Kettles"
    assert reading.chunks[-1].heading == "Cats"
    assert all(count_words(chunk.text) <= 250 for chunk in reading.chunks)
    assert stages[-1] == "Splitting"


def test_hints_reach_the_parser():
    reading, _ = read("<p>안녕하세요, 고양이입니다.</p>".encode("euc-kr"), content_type="text/html", charset="euc-kr")
    assert reading.kind == "html"
    assert "고양이입니다" in reading.chunks[0].text


def test_the_limit_reaches_the_parser():
    with pytest.raises(SourceRefused) as caught:
        read(b"x " * 100, limit=10)
    assert caught.value.code == "too_large"


def test_a_text_of_nothing_but_the_ends_of_sentences_is_refused_before_it_takes_memory(monkeypatch):
    monkeypatch.setattr("crag.ingest.reader._MAX_SENTENCES", 100)
    assert read(b"A. " * 90)
    for many in (b"A. " * 200, "好。".encode() * 200, b"A\n\n" * 200 + b"A? " * 200):
        with pytest.raises(SourceRefused, match="more than 100 sentences"):
            read(many)


def test_splitting_can_be_stopped():
    stop = Cancellation()

    def count(text):
        stop.cancel()
        return count_words(text)

    with pytest.raises(Stopped):
        read(b"One. Two. Three.\n\nFour. Five.", stop, count)


def words(text: str) -> int:
    """A tokenizer that counts words, and every ten characters of a long one."""
    return sum(1 + len(word) // 10 for word in text.split())


def document(*blocks: Block) -> Document:
    return Document("A Title", None, blocks)


def prose(sentences: int, seed: int = 1) -> str:
    source = random.Random(seed)
    return " ".join("Sentence " + " ".join(["fox"] * source.randint(4, 20)) + f" {n}." for n in range(sentences))


def squeezed(text: str) -> str:
    return "".join(text.split())


def everything(chunks: list[Chunk]) -> str:
    return squeezed("".join(chunk.text for chunk in chunks))


def mixed(seed: int) -> Document:
    source = random.Random(seed)
    kinds: list[BlockKind] = ["heading", "paragraph", "paragraph", "item", "row", "code"]
    blocks = []
    for n in range(60):
        kind = source.choice(kinds)
        text = f"Heading number {n}" if kind == "heading" else prose(source.randint(1, 12), n)
        page, level = 1 + n // 10, source.randint(1, 3) if kind == "heading" else 0
        blocks.append(Block(f"- {text}" if kind == "item" else text, kind, page, level))
    return document(*blocks)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("size", [20, 100, 250])
def test_every_word_occurs_once_in_order_and_chunks_fit(seed, size):
    whole = mixed(seed)
    chunks = split_document(whole, words, size)
    assert everything(chunks) == squeezed("".join(block.text for block in whole.blocks))
    assert all(0 < words(chunk.text) <= size for chunk in chunks)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


@pytest.mark.parametrize("seed", range(4))
def test_the_page_is_that_of_the_first_word(seed):
    whole = mixed(seed)
    for chunk in split_document(whole, words, 100):
        beginning = chunk.text.partition("\n")[0][:40]
        assert chunk.page in {block.page for block in whole.blocks if beginning in block.text}


def test_a_chunk_knows_where_each_page_begins():
    whole = document(Block("Cats sleep.", page=1), Block("Dogs bark. Cows low.", page=2), Block("Owls fly.", page=4))
    (chunk,) = split_document(whole, words, 100)
    assert chunk.page == 1
    assert [(chunk.text[start:][:4], page) for start, page in chunk.page_starts] == [("Dogs", 2), ("Owls", 4)]


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("The boat is lowered for", "tests by the crew.", "The boat is lowered for tests by the crew."),
        (f"{'救生艇' * 9}下放到", "水里进行测试。", f"{'救生艇' * 9}下放到水里进行测试。"),
        ("The boat is lowered.", "tests by the crew.", "The boat is lowered.\n\ntests by the crew."),
        ("The boat is lowered for", "Tests by the crew.", "The boat is lowered for\n\nTests by the crew."),
    ],
)
def test_a_sentence_goes_on_over_the_end_of_a_page(before, after, joined):
    whole = document(Block("Cats sleep.", page=1), Block(before, page=1), Block(after, page=2))
    (chunk,) = split_document(whole, words, 100)
    assert chunk.text == f"Cats sleep.\n\n{joined}"
    assert [(chunk.text[start:], page) for start, page in chunk.page_starts] == [(after, 2)]


def test_a_sentence_over_the_end_of_a_page_is_kept_whole():
    whole = document(Block("Cats sleep all day. They are lowered for", page=1), Block("tests by the crew.", page=2))
    assert [chunk.text for chunk in split_document(whole, words, 12)] == [
        "Cats sleep all day.",
        "They are lowered for tests by the crew.",
    ]


@pytest.mark.parametrize("overlap", [0, 30])
def test_pages_begin_where_their_blocks_do(overlap):
    whole = mixed(7)
    for chunk in split_document(whole, words, 100, overlap):
        for start, page in chunk.page_starts:
            word = squeezed(chunk.text[start:].partition("\n")[0])[:20]
            assert page in {block.page for block in whole.blocks if word in squeezed(block.text)}


def test_prose_fills_its_chunks():
    whole = document(*[Block(prose(5, n)) for n in range(100)])
    sizes = [words(chunk.text) for chunk in split_document(whole, words, 250)]
    assert sum(sizes) / len(sizes) >= 150


def test_paragraphs_are_kept_whole_where_they_fit():
    paragraphs = [" ".join([f"word{n}"] * 60) + "." for n in range(6)]
    chunks = split_document(document(*map(Block, paragraphs)), words, 160)
    assert [chunk.text for chunk in chunks] == ["\n\n".join(paragraphs[n : n + 2]) for n in (0, 2, 4)]


def test_headings_begin_chunks_and_make_the_path():
    chunks = split_document(
        document(
            Block("Animals", "heading", level=1),
            Block("Foxes", "heading", level=2),
            Block("fox " * 60),
            Block("Dogs", "heading", level=2),
            Block("dog " * 60),
            Block("Plants", "heading", level=1),
            Block("oak " * 60),
        ),
        words,
        100,
    )
    assert [chunk.heading for chunk in chunks] == ["Animals › Foxes", "Animals › Dogs", "Plants"]
    assert [chunk.text.split()[0] for chunk in chunks] == ["Animals", "Dogs", "Plants"]


@pytest.mark.parametrize(
    ("header", "heading"),
    [
        ("Site | 2024 | 2025", "Staff › Site | 2024 | 2025"),
        ("| 구역 | 손님 |", "Staff › 구역 | 손님"),
        ("Odby | 3 | 4", "Staff"),
    ],
)
def test_a_chunk_within_a_table_has_the_names_of_the_columns_in_its_heading(header, heading):
    bar = "| " * header.startswith("|")
    row = " | ".join(["Moor", *["4"] * (len(header.strip("| ").split("|")) - 1)])
    rows = [Block(f"{bar}{row}{bar[::-1]}", "row") for _ in range(40)]
    whole = document(Block("Staff", "heading", level=1), Block(header, "row"), *rows, Block("Prose."))
    chunks = split_document(whole, words, 100)
    assert {chunk.heading for chunk in chunks[1:]} == {heading}
    assert chunks[0].heading == "Staff"


def test_a_chunk_names_the_columns_of_one_table():
    tables = [[Block(f"{year} · Site | Staff", "header"), Block("Moor | 4", "row")] for year in (2023, 2022)]
    chunks = split_document(document(Block("Staff", "heading", level=1), *tables[0], *tables[1]), words, 100)
    assert [chunk.heading for chunk in chunks] == ["Staff › 2023 · Site | Staff", "Staff › 2022 · Site | Staff"]
    assert [(chunk.context_start, chunk.context_end) for chunk in chunks] == [(0, 0), (1, 1)]


def test_each_sheet_of_a_workbook_begins_a_chunk():
    blocks = (
        Block("Q1", "heading", level=1),
        Block("a | 1", "row"),
        Block("Q2", "heading", level=1),
        Block("b | 2", "row"),
    )
    chunks = split_document(replace(document(*blocks), kind="xlsx"), words, 100)
    assert [(chunk.heading, chunk.text) for chunk in chunks] == [("Q1", "Q1\n\na | 1"), ("Q2", "Q2\n\nb | 2")]


def test_a_small_section_stays_in_the_chunk_before():
    chunks = split_document(
        document(Block("One", "heading", level=1), Block("a b c"), Block("Two", "heading", level=1), Block("d e f")),
        words,
        100,
    )
    assert [chunk.text for chunk in chunks] == ["One\n\na b c\n\nTwo\n\nd e f"]


def test_headings_and_lead_ins_go_with_what_follows():
    chunks = split_document(
        document(
            Block("fox " * 30),
            Block("More", "heading", level=2),
            Block("There are two:"),
            Block("- " + "one " * 40, "item"),
            Block("- " + "two " * 40, "item"),
        ),
        words,
        70,
    )
    assert chunks[0].text.split()[-1] == "fox"
    assert chunks[1].text.startswith("More\n\nThere are two:\n\n- one")


def test_overlap_repeats_whole_sentences_up_to_the_limit():
    whole = document(Block(prose(40)))
    chunks = split_document(whole, words, 100, overlap=30)
    for before, after in pairwise(chunks):
        repeated = after.text.partition(".")[0]
        assert repeated in before.text
    assert all(words(chunk.text) <= 100 for chunk in chunks)


def test_context_is_the_section_around_up_to_three_sizes():
    blocks = [Block("First", "heading", level=1), *[Block(prose(3, n)) for n in range(40)]]
    blocks += [Block("Second", "heading", level=1), *[Block(prose(3, n)) for n in range(40)]]
    chunks = split_document(document(*blocks), words, 100)
    for chunk in chunks:
        around = chunks[chunk.context_start : chunk.context_end + 1]
        assert chunk in around
        assert {neighbour.heading for neighbour in around} == {chunk.heading}
        assert sum(words(neighbour.text) for neighbour in around) <= 300
    assert any(chunk.context_end - chunk.context_start >= 2 for chunk in chunks)


def test_long_sentences_are_cut_at_spaces_long_words_anywhere():
    chunks = split_document(document(Block("fox " * 500), Block("x" * 5000)), words, 50)
    assert all(words(chunk.text) <= 50 for chunk in chunks)
    assert everything(chunks) == "fox" * 500 + "x" * 5000
    assert all(set(chunk.text.split()) <= {"fox"} for chunk in chunks if "x" * 4 not in chunk.text)


@pytest.mark.parametrize("text", ["x" * 5_000_000, "😀" * 1_000_000, "a" + "\u0301\u0302" * 50_000, "word " * 500_000])
def test_monstrous_lines_are_bounded(text):
    chunks = split_document(document(Block(text)), words, 250)
    assert everything(chunks) == squeezed(text)


def test_pieces_are_counted_about_once():
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return words(text)

    whole = document(*[Block(prose(5, n)) for n in range(200)])
    split_document(whole, count, 250)
    assert counted < 6 * sum(len(block.text) for block in whole.blocks)


def test_chinese_sentences_are_joined_without_spaces():
    text = "第一句話很短。第二句話也很短。"
    assert split_document(document(Block(text)), len, 250)[0].text == text


def test_an_exception_stays_in_the_chunk_of_its_rule():
    texts = ("Seats are free.", "Fuel is not paid.", "However, three may share a car.")
    chunks = split_document(document(*map(Block, texts)), words, 12)
    assert [chunk.text for chunk in chunks] == [
        "Seats are free.",
        "Fuel is not paid.\n\nHowever, three may share a car.",
    ]


@pytest.mark.parametrize("name", ["notice.txt", "notice.md"])
def test_lines_with_labels_stay_lines(name):
    notice = (
        "일시: 2026년 4월 17일(금) 10:00 ~ 18일(토) 15:00\n"
        "장소: 가평 푸른숲 연수원\n"
        "담당자: 경영지원팀 김민수 (내선 1234)\n"
        "참가 신청은 4월 3일까지 받습니다."
    )
    reader = GuardedReader(lambda text: len(text) // 4, 1_000_000)
    read = reader(RawDocument(name, notice.encode()), lambda _: None, Cancellation())
    assert [chunk.text for chunk in read.chunks] == [notice]
