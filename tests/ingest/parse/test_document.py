"""Author and date, where the file states them."""

from __future__ import annotations

import io

import docx
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


def test_the_author_of_a_pdf() -> None:
    data = io.BytesIO()
    canvas = Canvas(data)
    canvas.setAuthor("Ada Lovelace\x07")
    canvas.drawString(72, 720, "A kettle boils water.")
    canvas.save()
    assert read("a.pdf", data.getvalue()).author == "Ada Lovelace"


def test_the_author_of_a_word_file() -> None:
    data = io.BytesIO()
    document = docx.Document()
    document.core_properties.author = " Ada  Lovelace"
    document.add_paragraph("A kettle boils water.")
    document.save(data)
    assert read("a.docx", data.getvalue()).author == "Ada Lovelace"


def test_authors_and_day_of_an_e_book() -> None:
    chapter = {"a.xhtml": page("<p>A fox sleeps.</p>")}
    dated = read("a.epub", epub(chapter, {"OEBPS/book.opf": PACKAGE.format("2010-03-04T00:00:00Z")}))
    assert (dated.author, dated.published) == ("Ada Lovelace; Charles Babbage", "2010-03-04")
    assert read("a.epub", epub(chapter, {"OEBPS/book.opf": PACKAGE.format("last spring")})).published == ""
