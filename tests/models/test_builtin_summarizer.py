"""Summaries without a language model: a sentence for each section, with its source."""

from dataclasses import replace
from io import BytesIO

import pytest
from reportlab.pdfgen.canvas import Canvas

from crag.cancellation import Cancellation
from crag.graph.answer_support import check_sentences
from crag.graph.citations import cited_numbers
from crag.models.builtin_summarizer import BuiltinSummarizer
from crag.models.embedders import open_embedder
from crag.options import RunOptions
from crag.protocols import ReadingProgress, ReplyPiece, SummarySources
from crag.settings import Settings
from crag.types import Knowledge
from tests.applications import opened_with
from tests.doubles.engine import passage

REPORT = """Ropes

Ropes are checked every Monday by the boatswain. They hang in the dry shed. A rope that is frayed is cut up for mats.

Sails

Sails are washed in May and dried in the long loft. The washing takes two days.
Torn sails are mended in the long loft after each race.

References

Archived from the original on a day in August 2017."""

MASTS = "Masts\n\nMasts are oiled by hand each autumn by two sailors."


def summarize(question, *passages):
    summarizer = BuiltinSummarizer(open_embedder("builtin", Settings()))
    found = list(summarizer.summarize(question, passages, Cancellation()))
    (sources,) = (one.passages for one in found if isinstance(one, SummarySources))
    read = [one.read for one in found if isinstance(one, ReadingProgress)]
    return "".join(one.text for one in found if isinstance(one, ReplyPiece)), sources, read


def test_each_section_is_quoted_under_its_heading():
    text, sources, read = summarize("Summarize the report", passage(1, REPORT), passage(2, MASTS, source_id="s1"))
    assert [line.partition(":")[0] for line in text.splitlines()] == ["- **Ropes**", "- **Sails**", "- **Masts**"]
    assert [cited_numbers(line) for line in text.splitlines()] == [[1], [1], [2]]
    assert [one.id for one in sources] == [1, 2]
    assert read == [1, 1, 2, 2]


def test_a_section_that_begins_within_a_passage_has_its_own_heading():
    held = [
        passage(
            number,
            f"{number}. Rule {number}\n\nThe rope of mast {number} is checked every day of week {number}.\n\n"
            f"{number + 20}. Fees to pay\n\nThe fee for mast {number} is paid to clerk {number} at the gate.",
            heading=f"Rules › {number}. Rule {number}",
            source_id="s1",
        )
        for number in range(1, 8)
    ]
    text, _, _ = summarize("Summarize the document", *held)
    lines = text.splitlines()
    assert len(lines) == 14
    assert all(("Fee" in line.partition(":")[0]) == ("paid" in line) for line in lines)


@pytest.mark.parametrize(("asked", "lines"), [("in one sentence", 1), ("in three sentences", 3)])
def test_the_summary_is_as_long_as_asked_for(asked, lines):
    text, _, _ = summarize(f"Summarize the report {asked}", passage(1, REPORT))
    assert len(text.splitlines()) == lines


def test_only_the_chapter_that_was_asked_for_is_quoted():
    text, _, _ = summarize("Summarize the chapter on sails", passage(1, REPORT))
    assert text.startswith("**Sails**\n\n- Sails are ")
    assert "Ropes" not in text


def test_only_the_conclusions_that_were_asked_for_are_quoted():
    report = f"{REPORT}\n\n9. Conclusion\n\nA dry shed is the best place for ropes and sails alike."
    text, _, _ = summarize("What are the conclusions of the report?", passage(1, report))
    assert text == "- **9. Conclusion**: A dry shed is the best place for ropes and sails alike. [1]"


def test_a_sentence_that_leans_on_another_does_not_stand_for_a_section():
    text, _, _ = summarize(
        "Summarize it in one sentence",
        passage(1, "It was shut. The old mill was shut in the spring of 1950 by its owner."),
    )
    assert text == "- The old mill was shut in the spring of 1950 by its owner. [1]"


def test_several_documents_are_named():
    other = passage(2, "The loft is heated with wood from the forest behind it.", title="Loft")
    text, sources, _ = summarize("Summarize everything", passage(1, REPORT, title="Ropes and sails"), other)
    assert "**Ropes and sails**" in text
    assert "**Loft**\n\n- The loft is heated with wood from the forest behind it." in text
    assert [one.id for one in sources] == [1, 2]


def test_a_clause_is_found_by_its_number():
    text, _, _ = summarize(
        "Summarize clause 5 of the lease",
        passage(
            1,
            "4.1 The tenant waters the garden every evening.\n\n5.1 The landlord paints the door each spring.",
        ),
    )
    assert text == "- 5.1 The landlord paints the door each spring. [1]"


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("Summarize the report as a table", "| Section | Main sentence |"),
        ("이 보고서를 표로 요약해 줘", "| 항목 | 핵심 문장 |"),
        ("用表格总结这份报告", "| 章节 | 核心句 |"),
    ],
)
def test_a_table_has_column_names_in_the_language_of_the_question(question, columns):
    text, _, _ = summarize(question, passage(1, REPORT))
    assert text.splitlines()[:2] == [columns, "|---|---|"]


def test_quotations_under_their_headings_are_supported():
    held = passage(1, "Harbour Dues\n\nBoats from Odby pay forty crowns when they moor there overnight.", title="Rules")
    for question in ("Summarize the rules", "Summarize the rules as a table"):
        text, sources, _ = summarize(question, held, passage(2, MASTS, source_id="s1", title="Rules"))
        knowledge = tuple(Knowledge(n, one, one.text) for n, one in enumerate(sources, start=1))
        assert [one.strength for one in check_sentences(text, knowledge)] == ["supported", "supported"]


FORESTS = """Forests and Banks

Forests with many kinds of trees were long thought to be the more stable ones. Pests are eaten by birds there. Few
trees die. Winds do no harm. Fires stop at brooks. Moss holds the rain back. Variety strengthened self-

3 For example, Voute (1946) and Elton (1958) held that pests rarely spread in mixed forests, as did others who
wrote of them.

0 0.1 0.2 0.3 0.4 0.5 0 10 20 30 40 50 Size of the forest in hectares Number of kinds of trees

Figure 2: The stability of forests by the number of kinds of trees"""
BANKS = """regulation, and so the whole became more robust against shocks of many kinds.

Banks with many kinds of business were thought to be the more stable ones as well. Concerns about the

References"""
ENTRY = "Voute, A. D. (1946), ‘Regulation of the density of insects in forests’, Archives of Zoology, Vol. 7: 435-470."


def test_asides_and_broken_lines_of_pages_are_neither_headings_nor_quoted():
    pages = [passage(n, text, source_id="s1") for n, text in enumerate((FORESTS, BANKS), start=1)]
    text, _, _ = summarize("Summarize the document", *pages, passage(3, ENTRY, source_id="s1", page=None))
    assert text == (
        "- Forests with many kinds of trees were long thought to be the more stable ones. [1]\n"
        "- Banks with many kinds of business were thought to be the more stable ones as well. [2]"
    )


def test_a_page_without_heading_continues_the_section_before():
    first = "Ropes\n\nRopes are checked every Monday by the boatswain on duty.\n\nReferences"
    pages = [passage(n, text, source_id="s1") for n, text in ((1, first), (2, "Archived on a day in August of 2017."))]
    text, _, _ = summarize("Summarize the document", *pages)
    assert text == "- Ropes are checked every Monday by the boatswain on duty. [1]"


def test_a_note_between_the_pages_of_a_pdf_is_not_quoted(tmp_path):
    file = BytesIO()
    sheet = Canvas(file)
    for y, size, line in (
        (700, 12, "Mixed forests were long thought to be more stable than others."),
        (686, 12, "Enemies of any insect live there. Variety strengthened the"),
        (60, 8, "3 For example, Voute and Elton held so of pests in mixed forests."),
    ):
        sheet.setFont("Helvetica", size)
        sheet.drawString(60, y, line)
    sheet.showPage()
    sheet.drawString(60, 700, "forces of order. This was held to be true until the early 1970s by all.")
    sheet.save()
    with opened_with(tmp_path, {"forests.pdf": file.getvalue()}) as application:
        pages = list(application.library.retriever.read_all(RunOptions()))
    text, _, _ = summarize("Summarize the document", *pages)
    assert "Mixed forests were long thought to be more stable than others. [1]" in text
    assert "**" not in text
    assert "Voute" not in text


def test_numbered_clauses_of_pages_are_no_notes():
    clauses = "1 The tenant pays the rent on the first of each month.\n\n2 The landlord paints all doors in the spring."
    text, _, _ = summarize("Summarize the document", passage(1, clauses))
    assert len(text.splitlines()) == 2


def test_a_book_of_many_chapters_is_quoted_chapter_by_chapter():
    chapters = [passage(n, MASTS, source_id="s1", heading=f"{n}. Chapter") for n in range(1, 31)]
    book = [replace(one, text=f"Sailors of watch {one.id} oil the masts by hand each autumn.") for one in chapters]
    text, _, _ = summarize("Summarize the book", *book)
    assert [line.partition(":")[0] for line in text.splitlines()] == [f"- **{n}. Chapter**" for n in range(1, 31)]
