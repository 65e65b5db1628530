"""PowerPoint, Excel, OpenDocument files and e-books: their text, and which are refused."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

import pytest
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Block, Document, ParseLimits
from tests.ingest.parse.packages import epub, odt, page, zipped


def read(name: str, data: bytes, **limits: int) -> Document:
    return parse_file(name, data, stop=Cancellation(), limits=ParseLimits(**limits))


def refusal(name: str, data: bytes, **limits: int) -> SourceRefused:
    with pytest.raises(SourceRefused) as caught:
        read(name, data, **limits)
    return caught.value


def slides(count: int = 1) -> bytes:
    presentation = Presentation()
    for number in range(1, count + 1):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"Foxes {number}"
        slide.placeholders[1].text = "They are quick\nThey are brown"
    box = slide.shapes.add_group_shape().shapes.add_textbox(0, 0, Inches(2), Inches(1))
    box.text_frame.text = "Seen in a group"
    table = slide.shapes.add_table(2, 3, 0, 0, Inches(4), Inches(1)).table
    for cell, text in zip(table.iter_cells(), ("kind", "price", "", "fox", "1", "2"), strict=True):
        cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    slide.notes_slide.notes_text_frame.text = "Speak slowly."
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def sheets() -> bytes:
    workbook = Workbook()
    workbook.active.title = "Sales"
    workbook.create_sheet("Empty")
    for row in (
        ["month", "fox", "share"],
        [dt.datetime(2024, 5, 1), 0.1 + 0.2, 0.255],  # noqa: DTZ001 — cells know no zones
        [],
        [dt.datetime(2024, 5, 2, 14, 30), None, True],  # noqa: DTZ001
    ):
        workbook.active.append(row)
    workbook.active["C2"].number_format = "0.0%"
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def changed(data: bytes, **members: bytes) -> bytes:
    """A zip file with some members replaced or added; `__` in a name stands for `/`, `_dot_` for `.`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        old = {name: archive.read(name) for name in archive.namelist()}
    return zipped(old | {name.replace("__", "/").replace("_dot_", "."): content for name, content in members.items()})


def test_slides_are_pages_with_titles_lists_tables_and_notes():
    document = read("a.pptx", slides(2))
    assert (document.title, document.kind, document.pages) == ("Foxes 1", "pptx", 2)
    assert document.blocks == (
        Block("Foxes 1", "heading", 1, 1),
        Block("- They are quick", "item", 1),
        Block("- They are brown", "item", 1),
        Block("Foxes 2", "heading", 2, 1),
        Block("- They are quick", "item", 2),
        Block("- They are brown", "item", 2),
        Block("Seen in a group", page=2),
        Block("kind | price", "row", 2),
        Block("fox | 1 | 2", "row", 2),
        Block("Notes: Speak slowly.", page=2),
    )


@pytest.mark.parametrize("title", ["PowerPoint Presentation", "Slide 1", "슬라이드 1", ""])
def test_a_title_that_programs_give_to_every_presentation_is_none(title):
    presentation = Presentation(io.BytesIO(slides(1)))
    presentation.core_properties.title = title
    out = io.BytesIO()
    presentation.save(out)
    assert read("a.pptx", out.getvalue()).title == "Foxes 1"


def test_a_title_box_that_holds_the_text_of_the_slide_is_no_title():
    presentation = Presentation(io.BytesIO(slides(2)))
    divisions = [f"Division {number}: Foxes of the {number}th kind" for number in range(9)]
    presentation.slides[0].shapes.title.text = "\n".join(divisions)
    out = io.BytesIO()
    presentation.save(out)
    document = read("a.pptx", out.getvalue())
    assert document.title == "Foxes 2"
    assert Block("- Division 1: Foxes of the 1th kind", "item", 1) in document.blocks


def test_sheets_give_their_names_and_rows_as_a_reader_sees_them():
    document = read("a.xlsx", sheets())
    assert (document.kind, document.pages) == ("xlsx", None)
    assert document.blocks == (
        Block("Sales", "heading", level=1),
        Block("month | fox | share", "header"),
        Block("2024-05-01 | 0.3 | 25.5%", "row"),
        Block("2024-05-02 14:30 |  | True", "row"),
    )


def test_a_formula_gives_the_value_that_was_kept_with_it():
    with zipfile.ZipFile(io.BytesIO(sheets())) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    formula = sheet.replace(b"</sheetData>", b'<row r="9"><c r="A9"><f>6*7</f><v>42</v></c></row></sheetData>')
    assert read("a.xlsx", changed(sheets(), xl__worksheets__sheet1_dot_xml=formula)).blocks[-1].text == "42"


@pytest.mark.parametrize(
    ("rows", "blocks"),
    [
        ([["Fair"], ["Area", "Head", "Phone"], ["Stage", "Moor"]], ["Fair", "# Area | Head | Phone", "Stage | Moor |"]),
        ([["Area", "2024", "2025"], ["Stage", 4, None]], ["# Area | 2024 | 2025", "Stage | 4 |"]),
        ([["Contact", "Moor"], ["Town", "Odby"]], ["Contact | Moor", "Town | Odby"]),
        ([["a", "b", "c"]], ["a | b | c"]),
    ],
)  # fmt: skip
def test_the_first_wide_row_of_a_sheet_may_name_its_columns(rows, blocks):
    workbook = Workbook()
    for row in rows:
        workbook.active.append(row)
    out = io.BytesIO()
    workbook.save(out)
    _, *found = read("a.xlsx", out.getvalue()).blocks
    assert [f"{'# ' * (block.kind == 'header')}{block.text}" for block in found] == blocks


def test_merged_cells_say_the_same_in_each_row_and_column_but_count_once():
    workbook = Workbook()
    for row in (
        ["Figures of the fair"],
        [],
        ["Area", "2023", None, "2022"],
        [None, "Plan", "Spent", "Plan", "Spent"],
        ["Stage", 4, None, 3, 2],
        [None, 7, 8, 6, 5],
    ):
        workbook.active.append(row)
    for area in ("A1:E1", "A3:A4", "B3:C3", "D3:E3", "A5:A6", "B5:C5"):
        workbook.active.merge_cells(area)
    out = io.BytesIO()
    workbook.save(out)
    assert [block.text for block in read("a.xlsx", out.getvalue()).blocks[1:]] == [
        "Figures of the fair",
        "Area | 2023 · Plan | 2023 · Spent | 2022 · Plan | 2022 · Spent",
        "Stage | 4 |  | 3 | 2",
        "Stage | 7 | 8 | 6 | 5",
    ]


@pytest.mark.parametrize(
    ("names", "titles"),
    [(("Odby", "Moor"), ["Odby · Month", "Moor · Month"]), (("Plan", "FY2023"), ["Plan · Month", "FY2023 · Month"])],
)
def test_sheets_that_are_alike_are_told_apart_by_their_names(names, titles):
    workbook = Workbook()
    for name in names:
        for row in (["Month", "Visitors", "Staff"], ["May", 120, 4]):
            sheet = workbook[name] if name in workbook.sheetnames else workbook.create_sheet(name)
            sheet.append(row)
    out = io.BytesIO()
    workbook.save(out)
    headers = [block.text for block in read("a.xlsx", out.getvalue()).blocks if block.kind == "header"]
    assert headers == [f"{title} | Visitors | Staff" for title in titles]


def test_a_percentage_is_one_be_it_whole_or_not():
    workbook = Workbook()
    workbook.active.append(["share", 1, 0.5, -0.25])
    for cell in workbook.active[1][1:]:
        cell.number_format = "0%"
    out = io.BytesIO()
    workbook.save(out)
    assert read("a.xlsx", out.getvalue()).blocks[-1].text == "share | 100% | 50% | -25%"


def test_a_sheet_that_claims_to_be_huge_is_read_by_what_it_holds():
    with zipfile.ZipFile(io.BytesIO(sheets())) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    lying = sheet.replace(b'<dimension ref="A1:C4"', b'<dimension ref="A1:XFD1048576"')
    assert lying != sheet
    assert len(read("a.xlsx", changed(sheets(), xl__worksheets__sheet1_dot_xml=lying)).blocks) == 4


def test_an_e_book_gives_its_chapters_in_the_order_of_the_spine():
    chapters = {
        "text/z%20first.xhtml": page("<h1>Begin</h1><p>Sat<b>ur</b>day&nbsp;it<br/>rained.<script>x</script></p>"),
        "a.xhtml": page("<ul><li>one<ul><li><p>two</p></li></ul></li></ul><pre>x  = 1</pre>loose", "A Title"),
        "missing.xhtml": page("<table><tr><th>kind</th><td>fox</td></tr></table>"),
    }
    data = epub(chapters)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name.replace("%20", " "): archive.read(name) for name in archive.namelist()}
    document = read("a.epub", zipped(members))
    assert (document.title, document.kind, document.pages) == ("On Foxes", "epub", None)
    assert document.blocks == (
        Block("Begin", "heading", level=1),
        Block("Saturday it rained."),
        Block("A Title", "heading", level=1),
        Block("- one", "item"),
        Block("- two", "item"),
        Block("x  = 1", "code"),
        Block("loose"),
        Block("kind | fox", "row"),
    )


def test_an_e_book_is_read_in_the_encoding_it_names():
    latin = page("<p>Die schöne Frau</p>").replace("utf-8", "iso-8859-1").encode("latin-1")
    data = epub({"a.xhtml": ""}, {"OEBPS/a.xhtml": latin})
    assert read("a.epub", data).blocks == (Block("Die schöne Frau"),)


def test_open_document_text_keeps_its_structure_and_notes():
    body = (
        '<text:p text:style-name="P1">Minutes</text:p><text:h text:outline-level="2">Fruit</text:h>'
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        "<text:p>We<text:s/>talked<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p> (at length)</text:p></text:note-body></text:note>.<office:annotation><text:p>no</text:p>"
        "</office:annotation></text:p><text:list><text:list-item><text:p>apples</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell>"
        "<table:table-cell><text:p>1</text:p></table:table-cell></table:table-row></table:table>"
    )
    document = read("a.odt", odt(body))
    assert (document.title, document.kind) == ("Minutes", "odt")
    assert document.blocks == (
        Block("Minutes", "heading", level=1),
        Block("Fruit", "heading", level=2),
        Block("We talked (at length) ."),
        Block("- apples", "item"),
        Block("a b | 1", "row"),
    )


def test_what_it_holds_decides_what_a_package_is_not_its_name():
    assert read("a.docx", slides()).kind == "pptx"
    assert read("a.zip", sheets()).kind == "xlsx"
    assert read("a.txt", odt("<text:p>x</text:p>")).kind == "odt"


ENCRYPTION = (
    '<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/{}"/></CipherData></EncryptedData></encryption>'
)
MANIFEST = '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:encryption-data/></m:manifest>'
CHAPTER = {"a.xhtml": page("<p>Hello.</p>")}
SHEET = "application/vnd.oasis.opendocument.spreadsheet"


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("cut.pptx", slides()[:-300], "corrupt"),
        ("cut.xlsx", sheets()[:-300], "corrupt"),
        ("cut.epub", epub(CHAPTER)[:-100], "corrupt"),
        ("cut.odt", odt("<text:p>x</text:p>")[:-50], "corrupt"),
        ("broken.pptx", changed(slides(), ppt__slides__slide1_dot_xml=b"<p:sld"), "corrupt"),
        ("broken.xlsx", changed(sheets(), xl__workbook_dot_xml=b"<workbook"), "corrupt"),
        ("broken.odt", odt("<text:p>"), "corrupt"),
        ("no-package.epub", zipped({"mimetype": "application/epub+zip"}), "corrupt"),
        ("drm.epub", epub(CHAPTER, {"META-INF/encryption.xml": ENCRYPTION.format("a.xhtml")}), "encrypted"),
        ("locked.odt", odt("", {"META-INF/manifest.xml": MANIFEST}), "encrypted"),
        ("empty.odt", odt("<text:p/>"), "no_text"),
        ("empty.epub", epub({"a.xhtml": page("", "A Title")}), "no_text"),
        ("a.ods", zipped({"mimetype": SHEET, "content.xml": "<x/>"}), "unsupported"),
        ("a.vsdx", zipped({"[Content_Types].xml": "<Types/>"}), "unsupported"),
        ("a.zip", zipped({"a.odt": odt("<text:p>inside</text:p>")}), "unsupported"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_packages_that_cannot_be_read_are_refused_by_their_code(name, data, code):
    assert refusal(name, data).code == code


def test_fonts_that_are_encrypted_keep_no_reader_out():
    data = epub(CHAPTER, {"META-INF/encryption.xml": ENCRYPTION.format("font.otf")})
    assert read("a.epub", data).blocks == (Block("Hello."),)


def test_slides_and_the_text_of_sheets_are_limited():
    assert refusal("a.pptx", slides(3), pages=2).code == "too_large"
    assert refusal("a.xlsx", sheets(), characters=20).code == "too_large"


def test_old_office_files_and_messages_are_told_how_to_be_saved():
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    assert ".pptx" in refusal("a.ppt", ole).remedy
    assert ".eml" in refusal("a.msg", ole + "__substg1.0_".encode("utf-16-le")).remedy


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.hwp", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + b"HWP Document File" + bytes(15)),
        ("a.hwp", b"HWP Document File V3.00 \x1a\1\2\3\4\5" + bytes(500)),
        ("a.hwpx", zipped({"mimetype": "application/hwp+zip", "Contents/section0.xml": "<x/>"})),
        ("a.HWP", bytes(range(256))),
    ],
    ids=["HWP 5", "HWP 3", "OWPML", "damaged"],
)
def test_hangul_documents_are_told_how_to_be_saved(name, data):
    assert refusal(name, data).message == "Hangul documents (.hwp, .hwpx) are not supported."
    assert refusal(name, data).remedy == "Save it as a PDF or Word file (.docx) first, then add that."


def test_external_entities_reach_no_file(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("do not read me")
    declared = f'<!DOCTYPE x [<!ENTITY s SYSTEM "{secret.as_uri()}">]>'
    chapter = page("<p>Hello &s;</p>").replace("<html", declared + "<html", 1)
    assert refusal("a.odt", odt("<text:p>Hello &s;</text:p>", beginning=declared)).code == "corrupt"
    for data in (
        odt("<text:p>Hello &s;</text:p>", beginning=f"<!--{'x' * 5000}-->{declared}"),  # beyond the first look
        epub({"a.xhtml": chapter}),
        epub(CHAPTER, beginning=declared),
    ):
        assert "do not read" not in str(read("a", data).as_json())


def test_members_with_outside_paths_are_ignored(tmp_path, monkeypatch):
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    (tmp_path / "x.xhtml").write_text(page("<p>on disk</p>"))
    monkeypatch.chdir(inside)
    data = epub(CHAPTER | {"../../../x.xhtml": page("<p>in a chapter</p>")}, {"../../escaped.txt": "x"})
    assert "on disk" not in str(read("a.epub", data).as_json())
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "x.xhtml"]
