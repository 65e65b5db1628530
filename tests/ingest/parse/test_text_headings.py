"""Headings of plain text, read through the parser as files are."""

from __future__ import annotations

import pytest

from crag.cancellation import Cancellation
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Block
from crag.ingest.reader import CHUNK_TOKENS, split_document


def read(text: str) -> tuple[Block, ...]:
    return parse_file("a.txt", text.encode(), stop=Cancellation()).blocks


def headings(text: str) -> list[str]:
    return [block.text for block in read(text) if block.kind == "heading"]


LEASE = (
    "LEASE\n\n4. Rent\n4.1 The tenant pays monthly.\n\n5. Repairs\n5.1 The tenant paints.\n5.2 The landlord roofs.\n"
)


def test_a_numbered_heading_is_parted_from_the_line_below():
    assert [(block.kind, block.text) for block in read(LEASE)] == [
        ("heading", "LEASE"),
        ("heading", "4. Rent"),
        ("paragraph", "4.1 The tenant pays monthly."),
        ("heading", "5. Repairs"),
        ("paragraph", "5.1 The tenant paints.\n5.2 The landlord roofs."),
    ]


def test_passages_know_the_headings_above_them():
    document = parse_file("a.txt", LEASE.encode(), stop=Cancellation())
    chunks = split_document(document, lambda text: len(text) // 3 + 1, CHUNK_TOKENS)
    assert chunks[0].heading == "LEASE › 4. Rent"
    assert "5. Repairs\n\n5.1 The tenant" in chunks[0].text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1 Scope\n\nIt is wide.\n\n2 Terms\n\nThey are few.", ["1 Scope", "2 Terms"]),
        ("1. Scope\nIt is wide.\n2. Terms\nThey are few.", ["1. Scope", "2. Terms"]),
        ("3.1 Deposit\nIt is due.\n\n3.2 Return of it\nIt is fast.", ["3.1 Deposit", "3.2 Return of it"]),
        ("I. Origins\n\nIt began.\n\nII. Decline\n\nIt ended.", ["I. Origins", "II. Decline"]),
        ("CHAPTER 3\n\nThe boat sank.", ["CHAPTER 3"]),
        ("CHAPTER III\nThe Storm\n\nThe boat sank.", ["CHAPTER III The Storm"]),
        ("Chapter 3: The storm\nThe boat sank.", ["Chapter 3: The storm"]),
        ("It calmed down.\n\nAppendix B\n\nA map.", ["Appendix B"]),
        (
            "제1장 총칙\n\n제3조(보증금) 보증금은 오백만 원으로 한다.\n제4조 (기간)\n기간은 이 년이다.",
            ["제1장 총칙", "제3조(보증금)", "제4조 (기간)"],
        ),
        ("제3조\n보증금은 오백만 원이다.", ["제3조"]),
        ("第三章\n\n房租每月支付。", ["第三章"]),
        ("第三章 租金\n房租每月支付。\n第四條（押金）\n押金兩個月。", ["第三章 租金", "第四條（押金）"]),
        ("The old mill\n============\nIt turns.\n\nIts wheel\n---------\nIt is wet.", ["The old mill", "Its wheel"]),
        ("====\nMILL\n====\n\nIt turns.", ["MILL"]),
        ("GENERAL TERMS\n\nThey apply.\n\nLIABILITY\n\nThere is none.", ["GENERAL TERMS", "LIABILITY"]),
    ],
)  # fmt: skip
def test_headings_are_recognized(text, found):
    assert headings(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "Buy these:\n1. Milk\n2. Eggs\n3. Bread\n\nThen bake.",
        "1. Milk\n\n2. Eggs\n\n3. Bread",
        "1. Open the door of the boathouse with the\nlong key.\n2. Close it.",
        "1. Open the gate\n   Use the long key.\n2. Close the gate\n   Use the short one.",
        "1. The tenant pays.\n\nThis is monthly.\n\n2. The landlord paints.\n\nThis is yearly.",
        "The rent is\n3.5 Percent of the value\nof the house.",
        "It weighs\n\n2.5 kg in all\n\nand more.",
        "As laid down in\nSection 4 of the Act and\nelsewhere, it ends.",
        "We had read as far as\nChapter 3 when the light went out.",
        "제3조에 따라 보증금을 돌려준다.\n제3조 및 제4조의 규정은\n적용하지 않는다.",
        "依照第三章的规定，\n第三条所称房租按月支付。",
        "Name   Age\n----------\nAda    36",
        "Kind regards,\nAda\n\n-- \nBoats Ltd",
        "One paragraph ends here.\n-----------------------\nAnother begins.",
        "HE SAID NO.\n\nThen he left.",
        "ACME LTD\n12 Mill Lane\n\nDear Ada",
        "Venue: Hall 3\n\nTotal: 40",
        "1. Introduction ........ 3\n\nText here.\n\n2. Methods ........ 9\n\nMore.",
        "- ALL OF IT\n\n- NONE OF IT",
        "On 3 May it rained.\n\n3 May 2014 was dry.\n\n4 May 2014 was wet.",
        "12. Lily\n\nShe is alone in the file.",
    ],
)
def test_sentences_and_items_are_no_headings(text):
    assert headings(text) == []
    assert " ".join(block.text for block in read(text)).split() == text.split()


def test_levels_follow_the_numbers():
    text = "MANUAL\n\n1. Pump\n\n1.1 Seal\n\nIt is round.\n\n1.2 Wheel\n\nIt turns.\n\n2. Tank\n\nIt is full."
    document = parse_file("a.txt", text.encode(), stop=Cancellation())
    levels = {block.text: block.level for block in document.blocks if block.kind == "heading"}
    assert levels["MANUAL"] < levels["1. Pump"] == levels["2. Tank"] < levels["1.1 Seal"] == levels["1.2 Wheel"]


def test_a_short_line_above_prose_is_a_heading():
    prose = "Ibuprofen may be taken together with the tablets. Triptans may be taken for an attack."
    assert headings(f"Other medicines\n{prose}\n\nFood and drink\n{prose}") == ["Other medicines", "Food and drink"]
    assert headings(f"{prose}\nNot at the beginning\n{prose}") == []
    assert headings("Clara Moor\n12 Harbour Road\nOdby") == []
    assert headings(f"The tablets are taken with a glass\nof water: {prose}") == []
