"""Hostile files: they stay within their limits, reach nothing outside, and disturb no other file."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable

import docx
import pptx
import pytest
from openpyxl import Workbook

from crag.cancellation import Cancellation
from crag.errors import SourceRefused
from crag.ingest.parse.child_process import parse_file
from crag.ingest.parse.document import ParseLimits
from crag.ingest.reader import GuardedReader
from tests.ingest.parse import hostile
from tests.ingest.parse.packages import epub, odt, page

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
HELLO = "Hello from the page"


def saved(document: object) -> bytes:
    out = io.BytesIO()
    document.save(out)  # type: ignore[attr-defined]
    return out.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.add_paragraph(HELLO)
    return saved(document)


def sheet() -> bytes:
    workbook = Workbook()
    workbook.active.append([HELLO])
    return saved(workbook)


def slides() -> bytes:
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[0]).shapes.title.text = HELLO
    return saved(presentation)


# Of each kind a file and the member that is read first.
PACKAGES = {
    "docx": (word, "word/document.xml"),
    "xlsx": (sheet, "xl/workbook.xml"),
    "pptx": (slides, "ppt/presentation.xml"),
    "odt": (lambda: odt(f"<text:p>{HELLO}</text:p>"), "content.xml"),
    "epub": (lambda: epub({"a.xhtml": page(f"<p>{HELLO}</p>")}), "OEBPS/book.opf"),
}


def changed(data: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """The zip file with one member changed, or added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        members = {member: old.read(member) for member in old.namelist()}
        for member, content in (members | {name: change(members.get(name, b""))}).items():
            new.writestr(member, content)
    return out.getvalue()


def text(name: str, data: bytes, **limits: float) -> str:
    document = parse_file(name, data, stop=Cancellation(), limits=ParseLimits(**limits))
    return " ".join(block.text for block in document.blocks)


def code(name: str, data: bytes, **limits: float) -> str:
    with pytest.raises(SourceRefused) as caught:
        text(name, data, **limits)
    return caught.value.code


@pytest.mark.parametrize(
    "ring", [hostile.page_tree_in_a_ring, hostile.outline_in_a_ring, hostile.xref_in_a_ring], ids=lambda f: f.__name__
)
def test_structures_that_lead_back_to_themselves_end(ring):
    assert HELLO in text("a.pdf", ring())


def test_recursive_drawings_end_at_the_deadline():
    assert code("a.pdf", hostile.drawings_in_a_ring(), seconds=1.5) == "too_slow"
    assert HELLO in text("b.pdf", hostile.says_length(b""))


@pytest.mark.parametrize("length", [b"2000000000", b"-5", b"1", b"4 0 R"])
def test_a_length_that_lies_is_not_believed(length):
    try:
        assert HELLO in text("a.pdf", hostile.says_length(length))
    except SourceRefused as refused:
        assert refused.code in ("no_text", "corrupt")  # noqa: PT017 — either outcome is right


@LINUX
def test_an_lzw_bomb_ends_at_the_memory_limit():
    bomb = hostile.lzw_bomb(300)
    assert len(bomb) < 300_000
    assert code("a.pdf", bomb, memory=300 << 20) == "too_large"


@LINUX
def test_what_reads_foreign_files_can_write_none(tmp_path):
    program = (
        "import sys; from crag.ingest.parse.confinement import limit_resources; "
        "from crag.ingest.parse.document import ParseLimits; "
        "limit_resources(ParseLimits()); open(sys.argv[1], 'wb', 0).write(b'x')"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a")], capture_output=True, check=False)
    assert done.returncode != 0
    assert (tmp_path / "a").stat().st_size == 0


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_bomb_in_any_kind_of_package_ends_while_it_is_inflated(kind):
    bomb = changed(PACKAGES[kind][0](), "media/a.bin", lambda _: bytes(12 << 20))
    assert len(bomb) < 100_000
    assert ParseLimits().inflated <= 300 << 20
    assert code(f"a.{kind}", bomb, inflated=10 << 20) == "too_large"
    lying = bomb.replace((12 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != bomb
    assert code(f"a.{kind}", lying, inflated=10 << 20) in ("too_large", "corrupt")


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_bomb_within_a_package_is_not_unpacked_twice(kind):
    inner = changed(word(), "inner.bin", lambda _: bytes(20 << 20))
    nested = changed(PACKAGES[kind][0](), "embeddings/inner.docx", lambda _: inner)
    assert HELLO in text(f"a.{kind}", nested, inflated=10 << 20)


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_package_with_a_password_says_so(kind):
    data = bytearray(PACKAGES[kind][0]())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # APPNOTE.TXT 6.3.10, sections 4.3.7 and 4.3.12
        data[data.rindex(mark) + flags] |= 1
    assert code(f"a.{kind}", bytes(data)) == "encrypted"


@pytest.mark.parametrize("kind", PACKAGES)
@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x [<!ENTITY a "ha ha ha ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>',
        '<!DOCTYPE x [<!ENTITY c SYSTEM "{address}/entity">]>',
        '<!DOCTYPE x SYSTEM "{address}/declarations.dtd">',
    ],
    ids=["laughs", "entity", "declarations"],
)
def test_xml_declarations_do_nothing_and_fetch_nothing(kind, declaration):
    make, member = PACKAGES[kind]
    with hostile.canary() as (address, listening):
        declared = declaration.format(address=address).encode()
        data = changed(make(), member, lambda xml: declared + xml[xml.index(b"<", xml.find(b"?>") + 1) :])
        if kind == "epub":  # where old books declare what they are, which is left unread
            assert "ha ha" not in text("a.epub", data)
        else:
            assert code(f"a.{kind}", data) == "corrupt"
        assert not hostile.was_asked(listening)


@pytest.mark.parametrize("name", ["a.html", "a.eml"])
def test_pages_fetch_nothing(name):
    with hostile.canary() as (address, listening):
        source = (
            f'<!DOCTYPE html SYSTEM "{address}/a.dtd" [<!ENTITY e SYSTEM "{address}/e">]><html><head>'
            f'<link rel="stylesheet" href="{address}/a.css"></head><body><p>{HELLO} &e;</p><img src="{address}/i.png">'
            f'<iframe src="{address}/f"></iframe></body></html>'
        )
        head = "Subject: Hello\nContent-Type: text/html\n\n" if name == "a.eml" else ""
        assert HELLO in text(name, (head + source).encode())
        assert not hostile.was_asked(listening)


@pytest.mark.parametrize("kind", ["odt", "epub"])
def test_fifty_thousand_nested_elements_in_a_package_are_bounded(kind):
    nested = "<text:section>" * 50_000 + f"<text:p>{HELLO}</text:p>" + "</text:section>" * 50_000
    chapter = page("<div>" * 50_000 + HELLO)
    data = odt(nested) if kind == "odt" else epub({"a.xhtml": chapter})
    try:
        assert HELLO in text(f"a.{kind}", data, seconds=20)
    except SourceRefused as refused:
        assert refused.code in ("corrupt", "too_large", "too_slow", "no_text")  # noqa: PT017 — any outcome is right


@LINUX
def test_a_process_that_computes_for_too_long_is_ended_by_the_system():
    script = (
        "from crag.ingest.parse.confinement import limit_resources\n"
        "from crag.ingest.parse.document import ParseLimits\n"
        "limit_resources(ParseLimits(seconds=1))\n"
        "while True: pass\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False, timeout=100)
    assert ended.returncode == -signal.SIGXCPU


def test_invalid_characters_are_cleaned_and_the_rest_is_found(
    reopen,
):
    library = reopen(read=GuardedReader(lambda words: len(words.split()), 1 << 20))
    record = b'{"title": "lamps \\ud800 of \\ufffe brass", "note": "a\\u0000b \\udfff\\uffff"}'
    assert library.pipeline.add_bytes("a.json", record).status == "added"
    [hit] = library.search("brass lamps", 1)
    assert "lamps  of  brass" in hit.text
    assert not any(sign in hit.text for sign in "\0\ud800\udfff\ufffe\uffff")
