"""Unreadable files: refused in words, within limits of time and memory, without after-effects."""

from __future__ import annotations

import io
import os
import sys
import zipfile
import zlib
from functools import cache

import docx
import pytest
from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from crag.cancellation import Cancellation
from crag.errors import SourceRefused, Stopped
from crag.ingest.parse.child_process import parse_file, parse_texts
from crag.ingest.parse.document import ParseLimits
from crag.types import Progress


def refusal(name: str, data: bytes, **limits: float) -> SourceRefused:
    with pytest.raises(SourceRefused) as caught:
        parse_file(name, data, stop=Cancellation(), limits=ParseLimits(**limits))
    return caught.value


@cache
def drawn(pages: int = 1, encrypt: StandardEncryption | None = None, lines: int = 20) -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out, encrypt=encrypt)
    for page in range(pages):
        for line in range(lines):
            canvas.drawString(72, 750 - 14 * line, f"Page {page}, line {line}: the fox reads on and on.")
        canvas.showPage()
    canvas.save()
    return out.getvalue()


TEXTS = [("a.txt", b"Cats purr."), ("b.md", b"# Dogs\n\nThey bark."), ("c.txt", b"%PDF-1.7"), ("d.txt", b"")]


def test_short_texts_are_read_in_one_process_except_what_needs_its_own():
    found = parse_texts([*TEXTS, ("e.txt", b"Cows moo.")], Cancellation(), ParseLimits())
    assert [one and [block.text for block in one.blocks] for one in found] == [
        ["Cats purr."],
        ["Dogs", "They bark."],
        None,
        None,
        ["Cows moo."],
    ]


def test_texts_whose_process_ends_are_left_for_processes_of_their_own():
    assert parse_texts(TEXTS, Cancellation(), ParseLimits(seconds=0)) == [None] * 4


def scan() -> bytes:
    out = io.BytesIO()
    canvas = Canvas(out)
    canvas.drawImage(ImageReader(Image.new("RGB", (60, 60), "navy")), 72, 600)
    canvas.save()
    return out.getvalue()


def word(**members: bytes) -> bytes:
    """A Word file with some members replaced or added; `__` in a name stands for `/`, `_dot_` for `.`."""
    whole = io.BytesIO()
    document = docx.Document()
    document.add_paragraph("Hello from Word.")
    document.save(whole)
    replaced = {name.replace("__", "/").replace("_dot_", "."): data for name, data in members.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in replaced:
                new.writestr(name, old.read(name))
        for name, data in replaced.items():
            new.writestr(name, data)
    return out.getvalue()


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as new:
        for name, data in members.items():
            new.writestr(name.replace("__", "/").replace("_dot_", "."), data)
    return out.getvalue()


def hand_made_pdf(*objects: bytes) -> bytes:
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (n, content) for n, content in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF"


def bomb(megabytes: int) -> bytes:
    """A PDF of a few kilobytes whose page inflates, twice, to `megabytes` of drawing commands."""
    text = b"BT /F 1 Tf (aaaaaaaaaaaaaaaa) Tj ET\n"
    stream = zlib.compress(zlib.compress(text * ((megabytes << 20) // len(text)), 9), 9)
    return hand_made_pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R>>",
        b"<</Filter[/FlateDecode/FlateDecode]/Length %d>>stream\n%s\nendstream" % (len(stream), stream),
    )


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000)


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.txt", b"", "empty"),
        ("a.pdf", b"", "empty"),
        ("a.txt", b" \n\t\n ", "no_text"),
        ("a.html", b"<html><body><img src=x></body></html>", "no_text"),
        ("a.pdf", b"\x89PNG\r\n\x1a\n" + os.urandom(500), "corrupt"),
        ("a.pdf", b"GIF89a" + os.urandom(500), "unsupported"),
        ("a.pdf", b"MZ\x90\0\x03\0\0\0" + bytes(500), "unsupported"),
        ("a.txt", bytes(range(256)) * 8, "unsupported"),
        ("a.rtf", b"{\\rtf1 hello}", "unsupported"),
        ("a.zip", archive(readme_dot_txt=b"hello"), "unsupported"),
        ("a.pptx", archive(ppt__presentation_dot_xml=b"<x/>"), "unsupported"),
        ("a.xlsx", archive(xl__workbook_dot_xml=b"<x/>"), "unsupported"),
        ("a.doc", OLE, "unsupported"),
        *[
            (f"a.{kind}", OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted")
            for kind in ("docx", "pptx", "xlsx")
        ],
        ("a.pdf", drawn(encrypt=StandardEncryption("user", "owner")), "encrypted"),
        ("a.pdf", scan(), "no_text"),
        ("a.pdf", b"%PDF-1.4\nnothing else", "corrupt"),
        ("a.docx", word()[:-200], "corrupt"),
        ("a.docx", word(word__document_dot_xml=b"<w:document"), "corrupt"),
    ],
    ids=lambda value: value if isinstance(value, str) else "bytes",
)
def test_what_cannot_be_read_is_refused_by_its_code(name, data, code):
    refused = refusal(name, data)
    assert refused.code == code
    assert "/" not in refused.message.replace("(.doc, .xls, .ppt)", "")


def test_a_password_for_changing_only_does_not_keep_readers_out():
    document = parse_file("a.pdf", drawn(encrypt=StandardEncryption("", "owner", canCopy=0)), stop=Cancellation())
    assert "the fox reads on" in document.blocks[0].text


def test_a_truncated_pdf_gives_part_of_its_text_or_is_refused():
    whole = drawn(pages=5)
    for share in (0.1, 0.5, 0.9, 0.99):
        try:
            document = parse_file("a.pdf", whole[: int(len(whole) * share)], stop=Cancellation())
        except SourceRefused as refused:
            assert refused.code in ("corrupt", "no_text")  # noqa: PT017 — either outcome is right
        else:
            assert "Page" in document.blocks[0].text


def test_an_external_entity_reaches_no_file(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("do not read me")
    page = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY s SYSTEM "{secret.as_uri()}">]><html><p>Hello &s;</p></html>'
    document = parse_file("a.html", page.encode(), stop=Cancellation())
    assert "do not read" not in " ".join(block.text for block in document.blocks)


@pytest.mark.parametrize("tag", [b"<div>", b"<div><b><ul><li>", b"<table><tr><td>"])
def test_html_without_end_tags_is_bounded(tag):
    try:
        parse_file(
            "a.html",
            b"<html><body>" + tag * 50_000 + b"words at the bottom",
            stop=Cancellation(),
            limits=ParseLimits(seconds=20),
        )
    except SourceRefused as refused:
        assert refused.code in ("no_text", "corrupt", "too_large", "too_slow")  # noqa: PT017 — any outcome is right


def test_one_byte_over_the_limit_is_refused_before_it_is_read():
    assert parse_file("a.txt", b"x" * 1000, stop=Cancellation(), limits=ParseLimits(size=1000)).blocks
    refused = refusal("a.txt", b"x" * (3 << 20), size=2 << 20)
    assert (refused.code, "limit of 2 MB" in refused.message) == ("too_large", True)
    assert refusal("a.txt", b"x" * 1001, size=1000).code == "too_large"


def test_pages_and_text_are_limited():
    refused = refusal("a.pdf", drawn(pages=3), pages=2)
    assert (refused.code, "limit of 2" in refused.message) == ("too_large", True)
    assert refusal("a.pdf", drawn(pages=3), characters=500).code == "too_large"
    assert refusal("a.txt", b"word " * 1000, characters=500).code == "too_large"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
def test_a_pdf_bomb_ends_at_the_memory_limit():
    packed = bomb(60)
    assert len(packed) < 100_000
    assert refusal("a.pdf", packed, memory=400 << 20).code == "too_large"


def test_reading_ends_at_the_deadline():
    assert refusal("a.pdf", drawn(pages=400, lines=50), seconds=0.3).code == "too_slow"


def test_stop_kills_the_child_at_once():
    stop = Cancellation()
    steps: list[Progress] = []

    def stop_at_the_first_page(step: Progress) -> None:
        steps.append(step)
        stop.cancel()

    with pytest.raises(Stopped):
        parse_file("a.pdf", drawn(pages=400, lines=50), stop=stop, progress=stop_at_the_first_page)
    assert len(steps) < 400


def test_a_callback_that_fails_leaves_no_child_behind():
    def fail(_: object) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        parse_file("a.pdf", drawn(pages=400), stop=Cancellation(), progress=fail)


def test_one_line_on_each_page_is_text_and_no_running_header():
    document = parse_file("slides.pdf", drawn(pages=6, lines=1), stop=Cancellation())
    assert [(block.page, block.text[:6]) for block in document.blocks] == [(n + 1, f"Page {n}") for n in range(6)]


def test_a_long_document_is_read_whole_and_can_be_stopped():
    long = drawn(pages=700, lines=14)
    told: list[Progress] = []
    document = parse_file("long.pdf", long, stop=Cancellation(), progress=told.append)
    assert document.pages == 700
    assert [block.page for block in document.blocks if "Page 699, line 9" in block.text] == [700]
    assert (told[-1].done, told[-1].total) == (700, 700)
    stop = Cancellation()

    def stop_in_the_middle(progress: Progress) -> None:
        if progress.done > 200:
            stop.cancel()

    with pytest.raises(Stopped):
        parse_file("long.pdf", long, stop=stop, progress=stop_in_the_middle)
