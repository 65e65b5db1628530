"""Author and date, where the file states them."""

from __future__ import annotations

import io

import docx
import pytest
from reportlab.pdfgen.canvas import Canvas

from crag.cancellation import Cancellation
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Document
from tests.ingest.parse.packages import epub, page

PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>On Foxes</dc:title><dc:creator>Ada Lovelace</dc:creator><dc:creator>Charles Babbage</dc:creator>
<dc:date>{}</dc:date></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/></spine></package>"""


def read(name: str, data: bytes) -> Document:
    return parse_file(name, data, stop=Cancellation())


@pytest.mark.parametrize(
    "title",
    [
        *(
            "Presentation1",
            "Document1",
            "Untitled",
            "untitled document",
            "Untitled-3",
            "(anonymous)",
            "Title",
            "Slide 1",
        ),
        *(
            "Microsoft Word - lease.doc",
            "PowerPoint Presentation",
            "New Microsoft Word Document",
            "Book1",
            "lease.docx",
            "lease.html",
        ),
        *(
            "프레젠테이션1",
            "제목 없음",
            "제목 없는 문서",
            "새 문서",
            "슬라이드 1",
            "文档1",
            "无标题",
            "新建 Microsoft Word 文档",
        ),
        *("簡報1", "投影片 1", "未命名", "Présentation PowerPoint", "about:blank"),
    ],
)
def test_a_title_of_an_authoring_tool_gives_way_to_the_first_heading(title):
    data = io.BytesIO()
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Sheet 1", 1)
    document.add_heading("House rules", 1)
    document.save(data)
    assert read("rules.docx", data.getvalue()).title == "House rules"


@pytest.mark.parametrize(
    "title",
    [
        "Microsoft 365 guide",
        "Documentation",
        "Presentation skills",
        "문서 관리 규정",
        "Book of kettles",
        "文件管理辦法",
        "Page 3 of life",
    ],
)
def test_a_title_that_says_something_is_kept(title):
    data = io.BytesIO()
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("House rules", 1)
    document.save(data)
    assert read("rules.docx", data.getvalue()).title == title


def test_the_author_of_a_pdf():
    data = io.BytesIO()
    canvas = Canvas(data)
    canvas.setAuthor("Ada Lovelace\x07")
    canvas.drawString(72, 720, "A kettle boils water.")
    canvas.save()
    assert read("a.pdf", data.getvalue()).author == "Ada Lovelace"


def test_the_author_of_a_word_file():
    data = io.BytesIO()
    document = docx.Document()
    document.core_properties.author = " Ada  Lovelace"
    document.add_paragraph("A kettle boils water.")
    document.save(data)
    assert read("a.docx", data.getvalue()).author == "Ada Lovelace"


def test_authors_and_day_of_an_e_book():
    chapter = {"a.xhtml": page("<p>A fox sleeps.</p>")}
    dated = read("a.epub", epub(chapter, {"OEBPS/book.opf": PACKAGE.format("2010-03-04T00:00:00Z")}))
    assert (dated.author, dated.published) == ("Ada Lovelace; Charles Babbage", "2010-03-04")
    assert read("a.epub", epub(chapter, {"OEBPS/book.opf": PACKAGE.format("last spring")})).published == ""
