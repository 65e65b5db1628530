"""The text of files of every format, through the real child process."""

from __future__ import annotations

import io
from pathlib import Path

import docx
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

from crag.cancellation import Cancellation
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Block, Document
from crag.ingest.parse.formats import FORMATS
from crag.text.sanitization import clean_display_name, clean_text
from crag.types import Progress

KOREAN = "국회 폭력방지법은 국회에서 폭력을 막기 위한 법이다. 이 법은 여러 번 논의되었다."
TAIWANESE = "維基大典是一部用文言文寫成的百科全書，任何人都可以編輯其中的文章。"
CHINESE = "中国制造的领军者在全球市场上取得了很大的成功，这是一个重要的消息。"
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
GERMAN = "Die schöne Frau hat größere Äpfel gegessen, während es über München dämmerte."


def read(name: str, data: bytes | Path, **options: object) -> Document:
    return parse_file(name, data, stop=Cancellation(), **options)


def texts(document: Document, kind: str) -> list[str]:
    return [block.text for block in document.blocks if block.kind == kind]


def pdf(*parts: Paragraph | PageBreak, **metadata: str) -> bytes:
    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=A4, **metadata).build(list(parts))
    return out.getvalue()


STYLES = getSampleStyleSheet()
PROSE = "The quick brown fox jumps over the lazy dog while the grader reads every passage twice. " * 6


def test_a_pdf_keeps_its_pages_headings_and_paragraphs():
    data = pdf(
        Paragraph("The Beginning", STYLES["Title"]),
        Paragraph(PROSE, STYLES["BodyText"]),
        Paragraph("Second thoughts. " + PROSE, STYLES["BodyText"]),
        PageBreak(),
        Paragraph("The end is near.", STYLES["BodyText"]),
        title="A Report",
    )
    document = read("report.pdf", data)
    assert (document.title, document.kind, document.pages) == ("A Report", "pdf", 2)
    assert [block.page for block in document.blocks] == [1, 1, 1, 2]
    assert document.blocks[0] == Block("The Beginning", "heading", 1, 1)
    assert document.blocks[1].text == PROSE.strip()
    assert document.blocks[2].text.startswith("Second thoughts. The quick")


@pytest.mark.parametrize("title", ["", "(anonymous)", "untitled", "Microsoft Word - lease.docx", "(unspecified)"])
def test_a_title_that_a_program_made_up_is_no_title(title):
    data = pdf(Paragraph(PROSE, STYLES["BodyText"]), title=title)
    assert read("a.pdf", data).title == "a.pdf"


@pytest.mark.parametrize(("name", "title"), [("Presentation1.pdf", "House rules"), ("rules.pdf", "rules.pdf")])
def test_a_heading_is_the_title_where_the_name_of_the_file_says_nothing_either(name, title):
    data = pdf(Paragraph("House rules", STYLES["Title"]), Paragraph(PROSE, STYLES["BodyText"]), title="Presentation1")
    assert read(name, data).title == title


def test_words_broken_at_line_ends_are_mended_and_compounds_kept():
    out = io.BytesIO()
    canvas = Canvas(out)
    lines = ["It is about auto-", "matic well-", "known things, and", "well-known they are."]
    for n, line in enumerate(lines):
        canvas.drawString(72, 700 - 14 * n, line)
    canvas.save()
    assert read("a.pdf", out.getvalue()).blocks[0].text == (
        "It is about automatic well-known things, and well-known they are."
    )


def test_a_heading_of_two_lines_is_one():
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4)
    canvas.setFont("Helvetica", 20)
    canvas.drawString(72, 760, "Trace-based Compilation for Dynamic")
    canvas.drawString(72, 736, "Languages")
    canvas.setFont("Helvetica", 10)
    for number in range(8):
        canvas.drawString(72, 690 - 12 * number, f"Line {number} of the text says something that goes on in the next")
    canvas.save()
    headings = [block.text for block in read("paper.pdf", data.getvalue()).blocks if block.kind == "heading"]
    assert headings == ["Trace-based Compilation for Dynamic Languages"]


def test_chinese_that_is_written_with_spaces_is_closed_up():
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=A4)
    canvas.setFont("STSong-Light", 12)
    canvas.drawString(72, 760, "全 世 界 无 产 者 ， 联 合 起 来")
    canvas.save()
    assert read("wide.pdf", data.getvalue()).blocks[0].text == "全世界无产者，联合起来"


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("Repairs are ordered.<super>12</super> Owners pay.", "Repairs are ordered. Owners pay."),
        ("Owners pay their share<super>3</super> within 30 days.", "Owners pay their share within 30 days."),
        ("They pay within 30 days<super>7</super>", "They pay within 30 days"),
        ("The area is 25 m<super>2</super> in all.", "The area is 25 m2 in all."),
        ("The load is 10<super>3</super> kg in all.", "The load is 103 kg in all."),
        ("The formula is water<sub>2</sub> here.", "The formula is water2 here."),
        ("This is Version2 of it. See rule.12 there.", "This is Version2 of it. See rule.12 there."),
    ],
)
def test_a_pdf_loses_raised_note_numbers_alone(written, read_as):
    (block,) = read("rules.pdf", pdf(Paragraph(written, STYLES["BodyText"]))).blocks
    assert block.text == read_as


@pytest.mark.parametrize("title", ["Microsoft Word - draft.doc", "about:blank"])
def test_a_pdf_without_a_useful_title_is_called_by_its_file(tmp_path, title):
    path = tmp_path / "stored-by-hash"
    path.write_bytes(pdf(Paragraph(PROSE, STYLES["BodyText"]), title=title))
    assert read("../My report.pdf", path).title == "My report.pdf"


def test_progress_names_the_pages():
    steps: list[Progress] = []
    data = pdf(*[part for n in range(3) for part in (Paragraph(f"page {n}", STYLES["BodyText"]), PageBreak())])
    read("a.pdf", data, progress=steps.append)
    assert steps == [Progress("Reading page", n, 3) for n in (1, 2, 3)]


def test_a_word_file_keeps_headings_lists_and_tables_in_order():
    document = docx.Document()
    document.core_properties.title = "Minutes"
    document.add_heading("Fruit", 1)
    document.add_paragraph("We talked about fruit.")
    document.add_paragraph("apples", style="List Bullet")
    table = document.add_table(2, 3)
    for cell, text in zip(table.rows[0].cells, ("kind", "price", "price"), strict=True):
        cell.text = text
    table.rows[0].cells[1].merge(table.rows[0].cells[2]).text = "price"
    for cell, text in zip(table.rows[1].cells, ("apple", "1", "2"), strict=True):
        cell.text = text
    document.add_paragraph("That is all.")
    out = io.BytesIO()
    document.save(out)
    parsed = read("minutes.docx", out.getvalue())
    assert (parsed.title, parsed.kind, parsed.pages) == ("Minutes", "docx", None)
    assert parsed.blocks == (
        Block("Fruit", "heading", level=1),
        Block("We talked about fruit."),
        Block("- apples", "item"),
        Block("kind | price | price", "header"),
        Block("apple | 1 | 2", "row"),
        Block("That is all."),
    )


PAGE = f"""<!doctype html><html><head><title>On Foxes</title></head><body>
<nav><a href="/">Home</a> <a href="/shop">Buy our shoes</a></nav>
<article><h1>On Foxes</h1><p>{PROSE}</p><h2>What they eat</h2><p>Foxes eat many things:</p>
<ul><li>mice and voles</li><li>berries</li></ul>
<table><tr><th>kind</th><th>weight</th></tr><tr><td>red fox</td><td>9 kg</td></tr></table><p>{PROSE}</p></article>
<footer>All rights reserved by the shoe shop</footer><script>var tracker = 1;</script></body></html>"""


def test_a_web_page_yields_its_main_text_and_structure():
    document = read("page", PAGE.encode(), content_type="text/html")
    assert (document.title, document.kind) == ("On Foxes", "html")
    assert "What they eat" in texts(document, "heading")
    assert texts(document, "item") == ["- mice and voles", "- berries"]
    assert texts(document, "header") + texts(document, "row") == ["kind | weight", "red fox | 9 kg"]
    everything = " ".join(block.text for block in document.blocks)
    assert "shoe" not in everything
    assert "tracker" not in everything


def test_a_page_with_hardly_any_text_gives_all_of_it():
    assert "Closed today" in read("a.html", b"<html><body><div>Closed today</div></body></html>").blocks[0].text


def test_markdown_loses_its_marks_and_keeps_its_structure():
    source = (
        "---\ndraft: yes\n---\n# Foxes\n\nThey are *quick* and [brown](http://x.test), `really`\nso.\n\n"
        "- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1\n\ny = 2\n```\n"
    )
    document = read("notes.md", source.encode())
    assert (document.title, document.kind) == ("Foxes", "markdown")
    assert document.blocks == (
        Block("Foxes", "heading", level=1),
        Block("They are quick and brown, really so."),
        Block("- one", "item"),
        Block("- two", "item"),
        Block("a | b", "row"),
        Block("1 | 2", "row"),
        Block("x = 1\n\ny = 2", "code"),
    )


def test_plain_text_is_parted_by_blank_lines():
    document = read("notes.txt", b"one\r\nline\r\n\r\n \r\ntwo\n")
    assert (document.title, document.kind) == ("notes.txt", "text")
    assert document.blocks == (Block("one\nline"), Block("two"))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *[(GERMAN, name) for name in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252")],
        *[(KOREAN, name) for name in ("utf-8", "euc-kr", "cp949", "iso2022_kr", "utf-16")],
        *[(JAPANESE, name) for name in ("shift-jis", "euc-jp", "iso2022_jp", "utf-8")],
        *[(CHINESE, name) for name in ("gb18030", "gb2312")],
        (TAIWANESE, "big5"),
    ],
    ids=lambda value: value[:10],
)
def test_text_is_read_in_the_encoding_it_was_written_in(text, encoding):
    assert read("a.txt", text.encode(encoding)).blocks[0].text == text


@pytest.mark.parametrize(
    ("text", "encoding", "declared"),
    [
        (KOREAN, "cp949", "euc-kr"),
        (CHINESE, "gb18030", "gb2312"),
        (TAIWANESE, "big5", "big5"),
        (JAPANESE, "cp932", "Shift_JIS"),
        (GERMAN, "cp1252", "iso-8859-1"),
    ],
    ids=lambda value: value[:10],
)
def test_a_declared_charset_is_honoured(text, encoding, declared):
    page = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={declared}"></head><p>{text}</p>'
    assert text in read("a.html", page.encode(encoding)).blocks[0].text
    assert text in read("a", text.encode(encoding), content_type="text/plain", charset=declared).blocks[0].text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(KOREAN, "cp949"), (CHINESE, "gb18030"), (TAIWANESE, "big5"), (JAPANESE, "cp932"), (GERMAN, "cp1252")],
    ids=lambda value: value[:10],
)
def test_a_page_without_a_charset_is_decoded_correctly(text, encoding):
    assert text in read("a.html", f"<html><body><p>{text}</p></body></html>".encode(encoding)).blocks[0].text


def test_a_wrongly_declared_charset_is_not_believed():
    assert read("a.txt", KOREAN.encode(), charset="ascii").blocks[0].text == KOREAN
    assert read("a.txt", KOREAN.encode("cp949"), charset="utf-8").blocks[0].text == KOREAN
    assert read("a.txt", KOREAN.encode(), charset="no-such-charset").blocks[0].text == KOREAN


def test_content_decides_what_a_file_is_not_its_name():
    data = pdf(Paragraph("Hello there", STYLES["BodyText"]))
    assert read("page.html", data, content_type="text/html").kind == "pdf"
    assert read("page.txt", PAGE.encode()).kind == "html"


def test_text_from_outside_is_cleaned():
    assert clean_text("a\0b\ud800\ufffe\x1b[31mc\r\nd\U000e0041e\u0301") == "ab[31mc\nd\u00e9"
    assert read("a.txt", "a\x0bb \ufdd0c".encode()).blocks[0].text == "ab c"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../app.py", "app.py"),
        ("C:\\x\\y.pdf", "y.pdf"),
        ("a\0.pdf", "a.pdf"),
        ("gnp\u202efdp.exe", "gnpfdp.exe"),
        ("<img src=x onerror=1>.pdf", "<img src=x onerror=1>.pdf"),
        ("x" * 4096, "x" * 200),
        ("\n/", "untitled"),
    ],
)
def test_a_name_is_only_text_to_show(name, shown):
    assert clean_display_name(name) == shown


def test_a_document_survives_the_way_through_json():
    document = Document("t", 2, (Block("a", "heading", 1, 2), Block("b", page=2)))
    assert Document.from_json(document.as_json()) == document


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.kind)
def test_each_format_has_a_parser_and_is_named_in_the_readme(known):
    assert callable(known.load_reader())
    readme = (Path(__file__).parents[3] / "README.md").read_text("utf-8").lower()
    assert known.label.lower() in readme or known.family.lower() in readme


def test_kinds_and_suffixes_of_formats_are_distinct():
    suffixes = [suffix for known in FORMATS for suffix in known.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert len({known.kind for known in FORMATS}) == len(FORMATS)
