"""Parsers for plain text, Markdown, JSON and CSV, with encoding detection."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from crag.errors import SourceRefused
from crag.ingest.parse.document import Block, BlockKind, Document, ParseRequest
from crag.ingest.parse.formats import check_suffix, unsupported_refusal
from crag.ingest.parse.table_rows import table_blocks
from crag.ingest.parse.text_headings import split_at_headings
from crag.text.language import is_label_border
from crag.text.tables import write_row

if TYPE_CHECKING:
    from markdown_it.token import Token


_FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)
_SOFT_BREAK = "\v"
_PAGE_FOOT = re.compile(
    r"^[ \t]*(?:page (\d{1,4})(?: (?:of|/) \d{1,4})?|(\d{1,4}) ?(?:of|/) ?\d{1,4}|-+ ?(\d{1,4}) ?-+"
    r"|第 ?(\d{1,4}) ?[页頁]|(\d{1,4}) ?(?:쪽|페이지))[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_MIN_PAGES = 3
_SENTENCE_BEFORE_PAGE = re.compile(r"(?<=[.!?:。！？])\f")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def request_text(request: ParseRequest, *, html: bool = False) -> str:
    """Decode the requested file. Raises `SourceRefused` (`unsupported`, `no_text`)."""
    try:
        text = decode_text(request.data, request.charset, html)
    except SourceRefused:
        check_suffix(request.name)
        raise
    if not text.strip():
        raise SourceRefused("no_text", "The file is blank.")
    return text


def read_plain_text(request: ParseRequest) -> Document:
    """Parse plain text. Raises `SourceRefused`."""
    return Document("", None, split_at_headings(_remove_running_lines(request_text(request))))


def _remove_running_lines(text: str) -> str:
    """Remove the headers and feet of pages, if form feeds or lines such as "Page 3 of 5" tell the pages apart."""
    from crag.ingest.parse.page_layout import TextLine, remove_running_headers

    pages = [page.splitlines() for page in _split_pages(text)]
    lines = [
        [TextLine(line.strip(), 0.0, -float(at), 1.0, 0.0) for at, line in enumerate(page) if line.strip()]
        for page in pages
    ]
    kept = [{-line.bottom for line in page} for page in remove_running_headers(lines)]
    if not any(kept) or [len(page) for page in lines] == [len(page) for page in kept]:
        return text
    bare = [
        "\n".join(line for at, line in enumerate(page) if at in left or not line.strip()).strip("\n")
        for page, left in zip(pages, kept, strict=True)
    ]
    return _SENTENCE_BEFORE_PAGE.sub("\n\n", "\f".join(bare)).replace("\f", "\n")


def _split_pages(text: str) -> list[str]:
    """Return the pages of a text; the whole text if nothing separates pages."""
    if "\f" in text:
        return text.split("\f")
    feet = list(_PAGE_FOOT.finditer(text))
    numbers = [int(next(filter(None, foot.groups()))) for foot in feet]
    if len(feet) < _MIN_PAGES or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return [text]
    ends = [foot.end() for foot in feet]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)])]


def text_blocks(text: str) -> tuple[Block, ...]:
    """Return the paragraphs of plain text, which blank lines separate."""
    parts = _BLANK_LINE.split(text.replace("\r\n", "\n").replace("\r", "\n"))
    return tuple(Block(part) for part in parts)


def read_markdown(request: ParseRequest) -> Document:
    """Parse CommonMark with tables into headings, list items, rows, code and paragraphs, without markup.

    The title is the first heading. Raises `SourceRefused`.
    """
    from markdown_it import MarkdownIt

    source = _FRONT_MATTER.sub("", request_text(request).replace("\r\n", "\n").lstrip("\ufeff"))
    blocks = _markdown_blocks(MarkdownIt("commonmark").enable("table").parse(source))
    title = next((block.text for block in blocks if block.kind == "heading"), "")
    return Document(title, None, tuple(blocks))


def _markdown_blocks(tokens: list[Token]) -> list[Block]:
    blocks: list[Block] = []
    cells: list[str] = []
    inside: list[str] = []
    for token in tokens:
        if token.nesting == 1:
            inside.append(token.tag)
        elif token.nesting == -1:
            inside.pop()
            if token.type == "tr_close":
                blocks.append(Block(write_row(cells), "row"))
                cells = []
        elif token.type == "inline" and inside[-1] in ("td", "th"):
            cells.append(_inline_text(token))
        elif token.type == "inline":
            blocks.append(_markdown_block(_inline_text(token), inside))
        elif token.type in ("fence", "code_block"):
            blocks.append(Block(token.content, "code"))
    return blocks


def _markdown_block(text: str, inside: list[str]) -> Block:
    if inside[-1] in ("h1", "h2", "h3", "h4", "h5", "h6"):
        return Block(text, "heading", level=int(inside[-1][1]))
    kind: BlockKind = "item" if "li" in inside else "paragraph"
    return Block(f"- {text}" if kind == "item" else text, kind)


def _inline_text(token: Token) -> str:
    """Return the visible text of an inline token, without markup, link addresses or raw HTML.

    Lines become one, except those with a label, such as "Venue: Hall 3".
    """
    breaks = {"softbreak": _SOFT_BREAK, "hardbreak": "\n", "html_inline": ""}
    lines = "".join(breaks.get(child.type, child.content) for child in token.children or []).split(_SOFT_BREAK)
    joints = ("\n" if is_label_border(before, line) else " " for before, line in pairwise(lines))
    return lines[0] + "".join(joint + line for joint, line in zip(joints, lines[1:], strict=True))


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Pages that declare the key are really in the wider encoding (WHATWG Encoding, section 4.2).
_WIDER_ENCODINGS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "iso8859-9": "cp1254",
}
_DECLARED_CHARSET = re.compile(
    rb"""<(?:meta[^>]*?charset|\?xml[^>]*?encoding)\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE
)
_CANDIDATE_ENCODINGS = [
    "cp949",
    "gb18030",
    "big5hkscs",
    "cp932",
    "euc_jp",
    "cp1252",
    "cp1250",
    "cp1251",
    "koi8_r",
    "cp1253",
]
_CANDIDATE_ENCODINGS += ["cp1254", "cp1255", "cp1256", "iso8859_15"]
_KOREAN_JAMO = re.compile("[\u3131-\u318e]")  # jamo; Korean uses syllables, so many jamo mean EUC-JP kana
_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SAMPLE_BYTES = 65_536


def decode_text(data: bytes, charset: str | None, html: bool) -> str:
    """Decode `data` to text. Raises `SourceRefused` (`unsupported`) when no encoding yields text."""
    text = _decode_by_byte_order_mark(data) or _decode_by_name(data, charset)
    if text is None and html and (declared := _DECLARED_CHARSET.search(data[:4096])):
        text = _decode_by_name(data, declared[1].decode("ascii"))
    if text is None:
        text = _decode_by_pattern(data)
    if text is None:
        text = _decode_by_guess(data)
    if text is None or len(_CONTROL_CHARACTERS.findall(text[:_SAMPLE_BYTES])) > 0.01 * len(text[:_SAMPLE_BYTES]):
        raise unsupported_refusal("This file holds neither text nor a known format.")
    return text


def _decode_by_byte_order_mark(data: bytes) -> str | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return None


def _decode_by_name(data: bytes, name: str | None) -> str | None:
    """Decode with the named encoding, or return None.

    None means that the name is unknown or does not fit the bytes: servers and pages often declare the wrong encoding.
    """
    if not name:
        return None
    try:
        encoding = codecs.lookup(name).name
        text = data.decode(_WIDER_ENCODINGS.get(encoding, encoding))
    except (LookupError, ValueError):
        return None
    return None if "\0" in text else text


def _decode_by_pattern(data: bytes) -> str | None:
    """Decode encodings with a recognizable byte pattern: escape sequences, alternating zero bytes, valid UTF-8."""
    if b"\x1b$)C" in data[:_SAMPLE_BYTES]:
        return data.decode("iso2022_kr", "replace")
    if b"\x1b$" in data[:_SAMPLE_BYTES]:
        return data.decode("iso2022_jp_2", "replace")
    sample = data[:_SAMPLE_BYTES]
    if sample[1::2].count(0) > 0.3 * len(sample) / 2 and sample[::2].count(0) == 0:
        return data.decode("utf-16-le", "replace")
    if sample[::2].count(0) > 0.3 * len(sample) / 2 and sample[1::2].count(0) == 0:
        return data.decode("utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A single damaged byte late in a long text must not discard UTF-8 for the whole text.
        return (
            data.decode("utf-8", "replace") if error.start > _SAMPLE_BYTES and error.start > 0.9 * len(data) else None
        )


def _decode_by_guess(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    if b"\0" in data[:_SAMPLE_BYTES]:
        return None
    best = from_bytes(data[: 4 * _SAMPLE_BYTES], cp_isolation=_CANDIDATE_ENCODINGS).best()
    if best is None:
        return None
    text = data.decode(best.encoding, "replace")
    if best.encoding == "cp949" and len(_KOREAN_JAMO.findall(text)) > 0.05 * len(text):
        return data.decode("euc_jp", "replace")
    return text


def read_json(request: ParseRequest) -> Document:
    """Parse the elements of the outermost list, or the lines, as records; fall back to plain text if not JSON.

    Raises `SourceRefused`.
    """
    text = request_text(request)
    try:
        records = list(_parse_records(text.removeprefix("\ufeff")))
        blocks = [Block("\n".join(_field_lines(record, "")), "code") for record in records]
    except (ValueError, RecursionError):
        return Document("", None, text_blocks(text), kind="text")
    return Document("", None, tuple(blocks))


def _parse_records(text: str) -> Iterator[Any]:
    try:
        value = json.loads(text)
    except ValueError:
        yield from (json.loads(line) for line in text.splitlines() if line.strip())
        return
    yield from value if isinstance(value, list) else [value]


def _field_lines(value: Any, path: str) -> Iterator[str]:
    """Yield lines such as `author.name: Ann`, and `tags: a, b` for lists of scalars; skip null and empty values."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _field_lines(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for inner in value:
            yield from _field_lines(inner, path)
    elif shown := ", ".join(map(_format_value, value)) if isinstance(value, list) else _format_value(value):
        yield f"{path}: {shown}" if path else shown


def _format_value(value: Any) -> str:
    return "" if value is None else value.strip() if isinstance(value, str) else json.dumps(value)


_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE_CHARACTERS = 65_536


def read_csv(request: ParseRequest) -> Document:
    """Parse rows; every passage of the table carries the names of its columns.

    Raises `SourceRefused`.
    """
    text = request_text(request)
    csv.field_size_limit(request.limits.characters)
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    rows = [[" ".join(cell.split()) for cell in row] for row in csv.reader(lines, delimiter=_detect_delimiter(text))]
    return Document("", None, tuple(table_blocks(rows, least_names=2)))


def _detect_delimiter(text: str) -> str:
    """Return the delimiter that splits the first rows most evenly, preferring more columns."""

    def evenness(delimiter: str) -> tuple[float, int]:
        rows = csv.reader(io.StringIO(text[:_SAMPLE_CHARACTERS], newline=""), delimiter=delimiter)
        widths = Counter(len(row) for row in islice(rows, _SAMPLE_ROWS) if row)
        width, count = widths.most_common(1)[0] if widths else (1, 0)
        return (count / widths.total(), width) if width > 1 else (0.0, 0)

    return max(_DELIMITERS, key=evenness)
