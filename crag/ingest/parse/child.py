"""Child process that parses one untrusted file, or some short texts of one sender."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from crag.errors import SourceRefused
from crag.ingest.parse.confinement import SendReply, run_confined
from crag.ingest.parse.document import (
    Block,
    Document,
    ParseLimits,
    ParseRequest,
    choose_title,
    is_generic_title,
    password_refusal,
    too_much_text_refusal,
)
from crag.ingest.parse.formats import FORMATS, PLAIN_TEXT, FileSample, Format, hangul_refusal, unsupported_refusal
from crag.ingest.parse.zip_container import open_package, unsupported_zip_refusal
from crag.text.sanitization import clean_display_name, clean_text

_SAMPLE_BYTES = 4096
UNSUPPORTED_SIGNATURES = {
    b"GIF8": "This is an image.",
    b"BM": "This is an image.",
    b"RIFF": "This is a picture, sound or video.",
    b"MZ": "This is a program.",
    b"\x7fELF": "This is a program.",
    b"\xcf\xfa\xed\xfe": "This is a program.",
    b"\x1f\x8b": "This is a compressed file.",
    b"7z\xbc\xaf": "This is an archive.",
    b"Rar!": "This is an archive.",
    b"BZh": "This is a compressed file.",
    b"\xfd7zXZ": "This is a compressed file.",
    b"ID3": "This is a sound file.",
    b"OggS": "This is a sound file.",
    b"\x1aE\xdf\xa3": "This is a video.",
    b"SQLite format 3": "This is a database.",
    b"{\\rtf": "This is a rich text file (.rtf).",
}

_HANGUL_SIGNATURE = b"HWP Document File"  # at the start of HWP 3, in the stream FileHeader of HWP 5


def detect_format(request: ParseRequest) -> Format:
    """Return the format of the requested file.

    Raises `SourceRefused` (`unsupported`, `encrypted`), and for a zip file also `corrupt` and `too_large`.
    """
    sample = FileSample(request.data[:_SAMPLE_BYTES])
    if (found := _detect(sample)) is not None:
        return found
    if request.data.startswith(b"PK\x03\x04"):
        package = open_package(request)
        if (found := _detect(FileSample(sample.start, package))) is None:
            raise unsupported_zip_refusal(package)
        return found
    _refuse_unsupported(request.name, request.data)
    return next((known for known in FORMATS if known.is_declared(request.name, request.content_type)), PLAIN_TEXT)


def _detect(sample: FileSample) -> Format | None:
    return next((known for known in FORMATS if known.detect is not None and known.detect(sample)), None)


def _refuse_unsupported(name: str, data: bytes) -> None:
    """Raise `SourceRefused` for a binary file that is known but not supported."""
    if data.startswith(_HANGUL_SIGNATURE) or name.lower().endswith((".hwp", ".hwpx")):
        raise hangul_refusal()
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise _ole_refusal(data)
    for magic, what in UNSUPPORTED_SIGNATURES.items():
        if data.startswith(magic) and not (len(magic) < 3 and _looks_like_text(data)):
            raise unsupported_refusal(what)


def _looks_like_text(data: bytes) -> bool:
    return not any(byte < 9 for byte in data[:512])


def _ole_refusal(data: bytes) -> SourceRefused:
    """Build the refusal of an OLE2 container ([MS-CFB]).

    These are password-protected Office files, Office files from before 2007, Hangul documents and Outlook messages.
    """
    if "EncryptedPackage".encode("utf-16-le") in data:
        return password_refusal()
    if _HANGUL_SIGNATURE in data:
        return hangul_refusal()
    if "__substg1.0_".encode("utf-16-le") in data:
        return unsupported_refusal("Outlook messages (.msg) are not supported.", "Save it as .eml and add that.")
    return unsupported_refusal(
        "Office files from before 2007 (.doc, .xls, .ppt) are not supported.",
        "Open it, save it in the new format (.docx, .xlsx, .pptx) and add that.",
    )


_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def main() -> None:
    """Parse what was requested and send the replies."""
    run_confined(_answer_request)


def _answer_request(values: dict[str, Any], limits: ParseLimits, answer: SendReply) -> None:
    if "texts" in values:
        documents = (_read_text(name, sys.stdin.buffer.read(size), limits) for name, size in values["texts"])
        answer({"texts": [document and document.as_json() for document in documents]})
    else:
        _parse_file(values, limits, answer)


def _parse_file(values: dict[str, Any], limits: ParseLimits, answer: SendReply) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        answer({"progress": [stage, done, total]})

    def begin_ocr(pages: int) -> float:
        answer({"ocr": pages})
        return limits.seconds_with_ocr(pages)

    data = sys.stdin.buffer.read()
    request = ParseRequest(data=data, limits=limits, progress=progress, begin_ocr=begin_ocr, **values)
    answer({"document": _finish_document(_parse(request), request).as_json()})


def _read_text(name: str, data: bytes, limits: ParseLimits) -> Document | None:
    """Parse a file that needs no library outside Python; return None for any other file, or one with a fault."""
    request = ParseRequest(name, "", None, data, limits, lambda *_: None, "", "", limits.seconds_with_ocr)
    try:
        return _finish_document(_parse(request), request) if detect_format(request).is_plain else None
    except Exception:  # noqa: BLE001 — whatever it is, the file gets a process of its own, which reports it
        return None


def _parse(request: ParseRequest) -> Document:
    """Parse the requested file; its text is not yet cleaned.

    Raises `SourceRefused`, `MemoryError`, and whatever a library raises for a damaged file. Such an exception ends the
    process, which the parent reports as a damaged file.
    """
    found = detect_format(request)
    document = found.load_reader()(request)
    return replace(document, kind=document.kind or found.kind)


def _finish_document(document: Document, request: ParseRequest) -> Document:
    """Clean the text, drop empty blocks, check the size limit and set a title. Raises `SourceRefused`."""
    blocks = tuple(block for block in map(_clean_block, document.blocks) if block.text)
    if not blocks:
        raise SourceRefused("no_text", "The file contains no text.")
    if sum(len(block.text) for block in blocks) > request.limits.characters:
        raise too_much_text_refusal(request.limits)
    title = "" if is_generic_title(document.title) else _single_line(document.title)
    name = clean_display_name(request.name)
    if not title and is_generic_title(PurePath(name).stem):
        title = _single_line(choose_title("", blocks))
    published = document.published if _ISO_DATE.fullmatch(document.published) else ""
    return replace(
        document, title=title or name, author=_single_line(document.author), published=published, blocks=blocks
    )


def _single_line(text: str) -> str:
    return " ".join(clean_text(text).split())[:200]


def _clean_block(block: Block) -> Block:
    text = clean_text(block.text)
    return replace(block, text=text.strip("\n") if block.kind == "code" else text.strip())


if __name__ == "__main__":
    main()
