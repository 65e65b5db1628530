"""The text of tables, JSON and e-mails."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import Block, Document


def read(name: str, data: bytes, **options: str) -> Document:
    return parse_file(name, data, stop=Cancellation(), **options)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_a_table_is_read_whatever_parts_its_cells(delimiter, encoding):
    rows = [["Name", "Straße"], ["Zoë Müller", '"Große Allee 1,\r\nHof; hinten"'], ["", ""], ["Jörg", "Äußere Höfe 2"]]
    text = "\r\n".join(delimiter.join(row) for row in rows)
    document = read("a.csv", text.encode(encoding))
    assert (document.title, document.kind) == ("a.csv", "csv")
    assert document.blocks == (
        Block("Name | Straße", "header"),
        Block("Zoë Müller | Große Allee 1, Hof; hinten", "row"),
        Block("Jörg | Äußere Höfe 2", "row"),
    )


def test_a_file_of_unknown_kind_is_refused_alone_as_in_an_archive():
    with pytest.raises(SourceRefused) as refused:
        read("random.bin", bytes(range(256)) * 9)
    assert (refused.value.message, refused.value.remedy) == (
        "This kind of file is not supported.",
        "Save it as a PDF and add that.",
    )


@pytest.mark.parametrize("page", ["7.5 " * 50_000, "First line\n" + "7.5 " * 50_000])
def test_a_long_line_of_numbers_is_read(page):
    document = read("log.txt", f"{page}\f{page}".encode())
    assert sum(block.text.count("7.5") for block in document.blocks) == 100_000


@pytest.mark.parametrize("text", ["1,2\n3,4\n", "a,a\n1,2\n", "title,\na,b\n", "a,b\n", "word\nother\n"])
def test_a_first_row_that_names_no_columns_is_a_row(text):
    assert {block.kind for block in read("a.csv", text.encode()).blocks} == {"row"}


def test_rows_are_as_wide_as_the_names_of_columns_unless_these_are_too_many_to_be_repeated():
    assert [block.text for block in read("a.csv", b"a,b,c\n1,2\n").blocks] == ["a | b | c", "1 | 2 |"]
    names = ",".join(f"name{number}" for number in range(2_000))
    table = read("a.csv", f"{names}\n".encode() + b"1,2\n" * 6_000)
    assert {block.text for block in table.blocks[1:]} == {"1 | 2"}


def test_a_table_may_be_told_by_its_content_type():
    assert read("export", b"a,b\n1,2\n", content_type="text/csv").kind == "csv"


def test_json_yields_a_line_per_value_with_its_path():
    data = '[{"name": "Zoë", "tags": ["a", 1], "at": {"city": "Köln", "zip": null}}, {"notes": [{"text": "x\\ny"}]}]'
    document = read("a.json", data.encode())
    assert document.kind == "json"
    assert document.blocks == (
        Block("name: Zoë\ntags: a, 1\nat.city: Köln", "code"),
        Block("notes.text: x\ny", "code"),
    )


def test_json_lines_are_records():
    document = read("a.jsonl", b'{"q": "why", "ok": true}\n\n{"q": "how"}\n')
    assert document.blocks == (Block("q: why\nok: true", "code"), Block("q: how", "code"))


@pytest.mark.parametrize("text", ['{"a": 1', "[" * 100_000, '// a remark\n{"a": 1}'])
def test_what_only_looks_like_json_is_read_as_text(text):
    assert read("a.json", text.encode()).kind == "text"


def mail(body: str, charset: str = "utf-8", subtype: str = "plain") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = "Über Füchse"
    message["From"] = "Zoë <zoe@example.org>"
    message["To"] = "ann@example.org"
    message["Date"] = "Fri, 01 Mar 2024 10:00:00 +0000"
    message.set_content(body, charset=charset, subtype=subtype)
    return message


HEAD = (
    Block("Über Füchse", "heading", level=1),
    Block("From: Zoë <zoe@example.org>", "row"),
    Block("To: ann@example.org", "row"),
    Block("Date: Fri, 01 Mar 2024 10:00:00 +0000", "row"),
)


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "windows-1252"])
def test_an_e_mail_yields_headers_text_and_attachment_names(charset):
    message = mail("Füchse sind schön.\n\nSie sind schnell.", charset)
    message.add_alternative("<p>not this</p>", subtype="html")
    message.add_attachment(b"secret inside", maintype="application", subtype="pdf", filename="Zähne.pdf")
    document = read("a.eml", message.as_bytes())
    assert (document.title, document.kind) == ("Über Füchse", "eml")
    assert document.blocks == (
        *HEAD,
        Block("Füchse sind schön."),
        Block("Sie sind schnell."),
        Block("Attachments: Zähne.pdf"),
    )


def test_an_e_mail_without_plain_text_gives_the_text_of_its_page():
    page = "<html><head><style>p {}</style></head><body><p>Foxes are quick.</p><script>track()</script></body></html>"
    document = read("a", mail(page, subtype="html").as_bytes(), content_type="message/rfc822")
    assert document.blocks == (*HEAD, Block("Foxes are quick."))


def test_an_e_mail_in_a_charset_that_nobody_knows_is_still_read():
    data = mail("Foxes are quick.").as_bytes().replace(b'charset="utf-8"', b'charset="x-none"')
    assert Block("Foxes are quick.") in read("a.eml", data).blocks


def test_a_malformed_header_costs_no_more_than_itself():
    data = b'Subject: Foxes\nTo: "\nDate: never\n\nThey are quick.'
    assert read("a.eml", data).blocks == (
        Block("Foxes", "heading", level=1),
        Block("Date: never", "row"),
        Block("They are quick."),
    )


def test_a_file_that_is_no_e_mail_is_refused():
    with pytest.raises(SourceRefused) as caught:
        read("a.eml", b"\nhello")
    assert caught.value.code == "corrupt"


def write_pages(end: str, count: int = 4) -> str:
    """Return pages with two lines above and one below the text of each."""
    return "".join(
        f"Harbour board\nSpring meeting\n\nItem {n * 37} costs {n * 91} pounds and will\nbe paid.\n\ncontinued\n"
        + end.format(n=n, count=count)
        for n in range(1, count + 1)
    )


@pytest.mark.parametrize(
    "end", ["\f", "Page {n} of {count}\n", "- {n} -\n", "{n} / {count}\n", "第{n}页\n", "{n} 쪽\n", "PAGE {n}\n\f"]
)
def test_headers_and_feet_of_pages_are_no_text(end):
    blocks = read("a.txt", write_pages(end).encode()).blocks
    texts = [block.text for block in blocks if block.text.strip()]
    assert texts == [f"Item {n * 37} costs {n * 91} pounds and will\nbe paid." for n in range(1, 5)]


@pytest.mark.parametrize("text", [write_pages("Page {n} of 2\n", 2), write_pages("Page 7\n"), write_pages("\n")])
def test_lines_that_do_not_belong_to_pages_are_kept(text):
    assert "".join(block.text for block in read("a.txt", text.encode()).blocks).count("Harbour board") >= 2
