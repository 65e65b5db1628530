"""Document reader: parse bytes in a guarded child process, then split the text into passages by token count."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol

from crag.cancellation import Cancellation
from crag.ingest.parse.document import Block, Document, ParseLimits
from crag.ingest.parse.formats import PLAIN_SUFFIXES
from crag.ingest.parse.table_rows import MAX_COLUMNS_LENGTH
from crag.text.language import (
    continues_sentence,
    detect_language,
    is_label_border,
    is_list_item,
    is_table_row,
    restricts_previous,
    split_sentences,
)
from crag.text.tables import find_column_names, table_cells, write_row
from crag.types import HEADING_SEPARATOR, WORKBOOK_KIND, Chunk, PageStarts, Progress, ProgressCallback, Vectors

CHUNK_TOKENS = 250
CHUNK_OVERLAP = 0

CountTokens = Callable[[str], int]

_NEW_SECTION_FILL = 0.4  # how full a chunk must be for a heading to begin the next one
_NEW_BLOCK_FILL = 0.6  # and for a paragraph's end to close it, though another sentence would fit
_CONTEXT_SIZES = 3
_MAX_CHARS_PER_TOKEN = 16  # characters; a longer sentence is cut before it is counted
_MAX_SENTENCES = 2_000_000  # each takes about 200 bytes until the text is split
_SENTENCE_MARKS = (". ", "! ", "? ", "\n", "。", "！", "？", "…")
_NO_SPACE_AFTER = tuple("。！？…”』」")


class _Piece(NamedTuple):
    """A unit that is never split further: a sentence, list item, row or heading.

    `separator` joins it to the piece before it.
    """

    text: str
    tokens: int
    separator: str
    block: Block
    heading: str
    columns: str
    starts_block: bool
    introduces_next: bool
    starts_sheet: bool


class _Span(NamedTuple):
    """The pieces `start` ≤ n < `end`, which form one chunk with this text."""

    start: int
    end: int
    text: str
    tokens: int


def split_document(
    document: Document, count_tokens: CountTokens, size: int, overlap: int = 0, context: int = 0
) -> list[Chunk]:
    """Split a document into chunks of at most `size` tokens, at boundaries that a reader would choose.

    Every word is in exactly one chunk, except for `overlap` tokens that are in two. Each piece and each chunk is
    tokenized only once. Headings and lead-in sentences stay with what follows them. `context` is the size of the wider
    context in tokens; 0 means three chunks.
    """
    pieces = list(_split_into_pieces(document, count_tokens, size))
    spans = list(_group_pieces(pieces, count_tokens, size, overlap))
    headings = [_span_heading(pieces[span.start : span.end]) for span in spans]
    columns = [_find_chunk_columns(pieces[span.start : span.end]) for span in spans]
    sections = list(zip(headings, columns, strict=True))
    chunks = []
    for ordinal, span in enumerate(spans):
        start, end = _context_range(ordinal, spans, sections, context or _CONTEXT_SIZES * size)
        inside = pieces[span.start : span.end]
        heading = HEADING_SEPARATOR.join(filter(None, (headings[ordinal], columns[ordinal])))
        place = (inside[0].block.page, heading, ordinal, start, end)
        chunks.append(Chunk(span.text, *place, _find_page_starts(inside)))
    return chunks


def _split_into_pieces(document: Document, count_tokens: CountTokens, size: int) -> Iterator[_Piece]:
    """Yield the pieces of a document in order, each with its heading path and separator."""
    path: list[tuple[int, str]] = []
    before: Block | None = None
    columns = ""
    for at, block in enumerate(document.blocks):
        after = document.blocks[at + 1] if at + 1 < len(document.blocks) else None
        if block.kind == "heading":
            path = [entry for entry in path if entry[0] < block.level] + [(block.level, block.text)]
        heading = HEADING_SEPARATOR.join(text for _, text in path)
        columns = _find_columns(document.blocks, at, columns)
        leads = block.kind == "heading" or _leads_to_next_block(block, after)
        parts = list(_split_block(block, count_tokens, size))
        for n, (text, joint, tokens) in enumerate(parts):
            first, last = n == 0, n == len(parts) - 1
            joint = _block_separator(before, block) if first else joint
            sheet = document.kind == WORKBOOK_KIND and block.kind == "heading" and block.level == 1
            yield _Piece(text, tokens + 1, joint, block, heading, columns, first, last and leads, sheet)
        before = block


def _find_columns(blocks: Sequence[Block], at: int, before: str) -> str:
    """Return the row that names the columns of the table that a block belongs to; empty if there is none."""
    block = blocks[at]
    if block.kind == "header":
        return write_row(table_cells(block.text))
    if block.kind != "row" or before:
        return before if block.kind == "row" else ""
    header = find_column_names([block.text for block in blocks[at : at + 3]])
    is_header = header[:1] == [block.text] and len(block.text) <= MAX_COLUMNS_LENGTH
    return write_row(table_cells(block.text)) if is_header else ""


def _find_chunk_columns(pieces: Sequence[_Piece]) -> str:
    """Return the names of the columns for a chunk of a single table; not if a row of its text is known to name them."""
    columns = {piece.columns for piece in pieces if piece.columns}
    is_row = pieces[0].block.kind == "row" and table_cells(pieces[0].text) != table_cells(pieces[0].columns)
    is_named = is_row or any(piece.block.kind == "header" for piece in pieces)
    return columns.pop() if is_named and len(columns) == 1 else ""


def _leads_to_next_block(block: Block, after: Block | None) -> bool:
    """Return whether a paragraph introduces a list, a table or code right after it, or goes on on the next page."""
    if block.kind != "paragraph" or after is None:
        return False
    return after.kind in ("item", "header", "row", "code") or _continues_over_page(block, after)


def _continues_over_page(before: Block, block: Block) -> bool:
    """Return whether the last sentence of a page ends on the next one."""
    kinds = (before.kind, block.kind)
    return before.page != block.page and kinds == ("paragraph",) * 2 and continues_sentence(before.text, block.text)


def _block_separator(before: Block | None, block: Block) -> str:
    if before and _continues_over_page(before, block):
        return "" if detect_language(before.text) == "zh" else " "
    kinds = (before.kind if before else "", block.kind)
    return "\n" if kinds in (("item", "item"), ("row", "row"), ("header", "row")) else "\n\n"


def _split_block(block: Block, count_tokens: CountTokens, size: int) -> Iterator[tuple[str, str, int]]:
    """Yield (text, separator from the part before, tokens) for one block, each below `size` tokens."""
    whole = block.kind in ("heading", "item", "header", "row") and "\n" not in block.text
    lines = block.kind == "code"
    texts = [block.text] if whole else block.text.splitlines() if lines else split_sentences(block.text)
    before = ""
    for text in texts:
        alone = lines or is_list_item(text) or is_label_border(before, text)
        joint = "\n" if alone else "" if before.endswith(_NO_SPACE_AFTER) else " "
        text = text.rstrip()
        if text and len(text) <= size * _MAX_CHARS_PER_TOKEN and (tokens := count_tokens(text)) < size:
            yield text, joint, tokens
        else:
            yield from _slice_long_text(text, joint, count_tokens, size)
        before = text


def _slice_long_text(text: str, joint: str, count_tokens: CountTokens, size: int) -> Iterator[tuple[str, str, int]]:
    """Split an overlong text at spaces if possible, else between characters."""
    start, step = 0, size * 4
    while start < len(text):
        piece = _take_slice(text, start, step)
        while len(piece) > 1 and count_tokens(piece) >= size:
            step = max(1, len(piece) * 3 // 4)
            piece = _take_slice(text, start, step)
        if inner := piece.strip():
            yield inner, joint, count_tokens(inner)
        start += len(piece)
        joint = " " if text[start : start + 1].isspace() else ""


def _take_slice(text: str, start: int, length: int) -> str:
    """Return at most `length` characters from `start`, up to the last space among them if the text continues."""
    piece = text[start : start + length]
    space = max(piece.rfind(" "), piece.rfind("\n")) if start + length < len(text) else 0
    return piece[:space] if space > 0 else piece


def _group_pieces(pieces: list[_Piece], count_tokens: CountTokens, size: int, overlap: int) -> Iterator[_Span]:
    """Group consecutive pieces into chunks of at most `size` tokens."""
    start = 0
    while start < len(pieces):
        end = _keep_lead_ins_together(pieces, start, _find_border(pieces, start, size))
        text = _join_pieces(pieces[start:end])
        while (
            tokens := count_tokens(text)
        ) > size and end - start > 1:  # token counts of the parts do not add up exactly
            end -= 1
            text = _join_pieces(pieces[start:end])
        yield _Span(start, end, text, tokens)
        start = end if end == len(pieces) else max(start + 1, _overlap_start(pieces, end, overlap))


def _find_border(pieces: list[_Piece], start: int, size: int) -> int:
    """Return where a chunk that begins at `start` should end: at a section, at a paragraph's end, else when full."""
    tokens = 0
    border = start
    for n in range(start, len(pieces)):
        piece = pieces[n]
        if piece.block.kind == "heading" and n > start and tokens >= _NEW_SECTION_FILL * size:
            return n
        if n > start and (piece.starts_sheet or _begins_other_table(pieces, start, n)):
            return n
        if piece.starts_block and tokens >= _NEW_BLOCK_FILL * size:
            border = n
        tokens += piece.tokens
        if tokens > size and n > start:
            return border if border > start else n
    return len(pieces)


def _begins_other_table(pieces: Sequence[_Piece], start: int, at: int) -> bool:
    """Return whether a piece is a row under other columns than the row before it: one chunk names one table's."""
    if not _is_row(pieces[at]):
        return False
    before = next((pieces[n] for n in range(at - 1, start - 1, -1) if _is_row(pieces[n])), None)
    return before is not None and before.columns != pieces[at].columns


def _is_row(piece: _Piece) -> bool:
    return piece.block.kind in ("header", "row") and is_table_row(piece.text)


def _keep_lead_ins_together(pieces: list[_Piece], start: int, end: int) -> int:
    """Move `end` in front of headings and lead-ins, which belong to what follows them, and of rules with exceptions."""

    def is_bound(at: int) -> bool:
        return pieces[at - 1].introduces_next or restricts_previous(pieces[at].text)

    moved = end
    while end < len(pieces) and moved - start > 1 and is_bound(moved):
        moved -= 1
    return end if end == len(pieces) or is_bound(moved) else moved


def _overlap_start(pieces: list[_Piece], end: int, overlap: int) -> int:
    """Return where the next chunk begins, so that it repeats at most `overlap` tokens."""
    start, tokens = end, 0
    while start > 0 and tokens + pieces[start - 1].tokens <= overlap:
        start -= 1
        tokens += pieces[start].tokens
    return start


def _join_pieces(pieces: list[_Piece]) -> str:
    return pieces[0].text + "".join([piece.separator + piece.text for piece in pieces[1:]])


def _find_page_starts(pieces: list[_Piece]) -> PageStarts:
    """Return where pages begin within the joined pieces, except the first page."""
    starts: list[tuple[int, int]] = []
    end = len(pieces[0].text)
    for before, piece in pairwise(pieces):
        start = end + len(piece.separator)
        if piece.block.page is not None and piece.block.page != before.block.page:
            starts.append((start, piece.block.page))
        end = start + len(piece.text)
    return tuple(starts)


def _span_heading(pieces: list[_Piece]) -> str:
    """Return the heading path of the first piece that is not a heading."""
    return next((piece.heading for piece in pieces if piece.block.kind != "heading"), pieces[0].heading)


def _context_range(n: int, spans: list[_Span], sections: list[tuple[str, str]], size: int) -> tuple[int, int]:
    """Return the first and last chunk of the context of chunk `n`: neighbours in its section, up to `size` tokens.

    `sections` are heading and columns of each chunk; those of two tables do not mix. The context grows by turns before
    and after.
    """
    heading, columns = sections[n]

    def belongs(at: int) -> bool:
        other = sections[at]
        return other[0] == heading and (not columns or not other[1] or other[1] == columns)

    start, end, left = n, n, size - spans[n].tokens
    grown = True
    while grown:
        grown = False
        if start > 0 and belongs(start - 1) and spans[start - 1].tokens <= left:
            start, grown = start - 1, True
            left -= spans[start].tokens
        if end + 1 < len(spans) and belongs(end + 1) and spans[end + 1].tokens <= left:
            end, grown = end + 1, True
            left -= spans[end].tokens
    return start, end


def _check_sentences(document: Document) -> None:
    """Refuse what falls into so many sentences that splitting would exhaust memory. Raises `SourceRefused`."""
    from crag.ingest.parse.document import too_large_refusal

    if sum(block.text.count(mark) for block in document.blocks for mark in _SENTENCE_MARKS) > _MAX_SENTENCES:
        raise too_large_refusal(f"The file has more than {_MAX_SENTENCES:,} sentences.")


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A raw document. `content_type` is empty and `charset` None if the source did not state them.

    `parsed` is its content if it was parsed already.
    """

    name: str
    data: bytes
    content_type: str = ""
    charset: str | None = None
    parsed: Document | None = None


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A parsed document in chunks. `pages` is None for formats without pages.

    `author` and `published` (YYYY-MM-DD) are empty if unknown. `note` tells the user what could not be read. Passages
    that were split elsewhere name their `chunker` and may include the vectors of the space with the id `space`.
    """

    title: str
    kind: str
    pages: int | None
    chunks: Sequence[Chunk]
    author: str = ""
    published: str = ""
    chunker: str = ""
    space: str = ""
    vectors: Vectors | None = None
    note: str = ""


_SHORT_TEXT_BYTES = 65_536


def is_short_text(name: str, size: int) -> bool:
    """Return whether a file of this name and size in bytes is to be read together with others."""
    return PurePosixPath(name).suffix.lower() in PLAIN_SUFFIXES and size <= _SHORT_TEXT_BYTES


def parse_short_texts(documents: Sequence[RawDocument], stop: Cancellation) -> list[RawDocument]:
    """Parse short texts of one sender in one process, because starting one takes longer than reading a text.

    A document that cannot be read there stays as it is; its own process reports why. Raises `Stopped`.
    """
    from crag.ingest.parse.child_process import parse_texts

    if len(documents) == 1 or not any(one.data for one in documents):
        return list(documents)
    texts = parse_texts([(one.name, one.data) for one in documents], stop, ParseLimits())
    return [replace(one, parsed=text) for one, text in zip(documents, texts, strict=True)]


class DocumentReader(Protocol):
    """Reads one document."""

    def __call__(self, document: RawDocument, report: ProgressCallback, stop: Cancellation) -> ReadDocument:
        """Return the document in chunks. Raises `SourceRefused`, `Stopped`."""
        ...


class GuardedReader:
    """Parses in a child process that can be killed, then splits into passages; see `split_document`."""

    def __init__(
        self,
        count_tokens: CountTokens,
        limit_bytes: int,
        size: int = CHUNK_TOKENS,
        context: int = 0,
    ) -> None:
        self._count_tokens = count_tokens
        self._limit_bytes = limit_bytes
        self._sizes = size, CHUNK_OVERLAP, context

    def __call__(self, document: RawDocument, report: ProgressCallback, stop: Cancellation) -> ReadDocument:
        """See `DocumentReader`."""
        from crag.ingest.parse.child_process import parse_file

        parsed = document.parsed or parse_file(
            document.name,
            document.data,
            content_type=document.content_type,
            charset=document.charset,
            stop=stop,
            limits=ParseLimits(size=self._limit_bytes),
            progress=report,
        )
        _check_sentences(parsed)
        report(Progress("Splitting"))

        def count_tokens(text: str) -> int:
            stop.check()  # called throughout splitting, so a cancellation takes effect here
            return self._count_tokens(text)

        chunks = split_document(parsed, count_tokens, *self._sizes)
        facts = (parsed.title, parsed.kind, parsed.pages, chunks, parsed.author, parsed.published)
        return ReadDocument(*facts, note=parsed.note)
