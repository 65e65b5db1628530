"""Splitting of documents into chunks by token count, at boundaries that a reader would choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from crag.language import is_item, sentences
from crag.library.parse.document import Block, Document

CountTokens = Callable[[str], int]
HEADING_SEPARATOR = " › "

_NEW_SECTION_FROM = 0.4  # how full a chunk must be for a heading to begin the next one
_NEW_BLOCK_FROM = 0.6  # and for a paragraph's end to close it, though another sentence would fit
_CONTEXT_SIZES = 3
_LONGEST_PER_TOKEN = 16  # characters; a longer sentence is cut before it is counted
_NO_SPACE_AFTER = tuple("。！？…”』」")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A future passage. `page` is the page of its first word, `heading` the path of headings above it (`A › B`).

    Its wider context consists of the chunks with the ordinals `context_start` to `context_end`, both included.
    """

    text: str
    page: int | None
    heading: str
    ordinal: int
    context_start: int
    context_end: int


class _Piece(NamedTuple):
    """A unit that is never split further: a sentence, list item, row or heading.

    `separator` joins it to the piece before it.
    """

    text: str
    tokens: int
    joint: str
    block: Block
    heading: str
    begins: bool
    leads: bool


class _Span(NamedTuple):
    """The pieces `start` ≤ n < `end`, which form one chunk with this text."""

    start: int
    end: int
    text: str
    tokens: int


def split(document: Document, count_tokens: CountTokens, size: int = 250, overlap: int = 0) -> list[Chunk]:
    """Split a document into chunks of at most `size` tokens, at boundaries that a reader would choose.

    Every word is in exactly one chunk, except for `overlap` tokens that are in two. Each piece and each chunk is
    tokenized only once. Headings and lead-in sentences stay with what follows them.
    """
    pieces = list(_pieces(document, count_tokens, size))
    spans = list(_spans(pieces, count_tokens, size, overlap))
    headings = [_heading(pieces[span.start : span.end]) for span in spans]
    chunks = []
    for ordinal, span in enumerate(spans):
        start, end = _context(ordinal, spans, headings, _CONTEXT_SIZES * size)
        chunks.append(Chunk(span.text, pieces[span.start].block.page, headings[ordinal], ordinal, start, end))
    return chunks


def _pieces(document: Document, count_tokens: CountTokens, size: int) -> Iterator[_Piece]:
    """Yield the pieces of a document in order, each with its heading path and separator."""
    path: list[tuple[int, str]] = []
    before: Block | None = None
    for block, after in zip(document.blocks, [*document.blocks[1:], None], strict=True):
        if block.kind == "heading":
            path = [entry for entry in path if entry[0] < block.level] + [(block.level, block.text)]
        heading = HEADING_SEPARATOR.join(text for _, text in path)
        leads = block.kind == "heading" or _leads(block, after)
        parts = list(_parts(block, count_tokens, size))
        for n, (text, joint, tokens) in enumerate(parts):
            first, last = n == 0, n == len(parts) - 1
            joint = _gap(before, block) if first else joint
            yield _Piece(text, tokens + 1, joint, block, heading, first, last and leads)
        before = block


def _leads(block: Block, after: Block | None) -> bool:
    """Return whether a paragraph introduces a list, a table or code right after it."""
    return block.kind == "paragraph" and after is not None and after.kind in ("item", "row", "code")


def _gap(before: Block | None, block: Block) -> str:
    together = before is not None and before.kind == block.kind and block.kind in ("item", "row")
    return "\n" if together else "\n\n"


def _parts(block: Block, count_tokens: CountTokens, size: int) -> Iterator[tuple[str, str, int]]:
    """Yield (text, separator from the part before, tokens) for one block, each below `size` tokens."""
    whole = block.kind in ("heading", "item", "row") and "\n" not in block.text
    lines = block.kind == "code"
    texts = [block.text] if whole else block.text.splitlines() if lines else sentences(block.text)
    before = ""
    for text in texts:
        joint = "\n" if lines or is_item(text) else "" if before.endswith(_NO_SPACE_AFTER) else " "
        text = text.rstrip()
        if text and len(text) <= size * _LONGEST_PER_TOKEN and (tokens := count_tokens(text)) < size:
            yield text, joint, tokens
        else:
            yield from _slices(text, joint, count_tokens, size)
        before = text


def _slices(text: str, joint: str, count_tokens: CountTokens, size: int) -> Iterator[tuple[str, str, int]]:
    """Split an overlong text at spaces if possible, else between characters."""
    start, step = 0, size * 4
    while start < len(text):
        piece = _slice(text, start, step)
        while len(piece) > 1 and count_tokens(piece) >= size:
            step = max(1, len(piece) * 3 // 4)
            piece = _slice(text, start, step)
        if inner := piece.strip():
            yield inner, joint, count_tokens(inner)
        start += len(piece)
        joint = " " if text[start : start + 1].isspace() else ""


def _slice(text: str, start: int, length: int) -> str:
    """Return at most `length` characters from `start`, up to the last space among them if the text continues."""
    piece = text[start : start + length]
    space = max(piece.rfind(" "), piece.rfind("\n")) if start + length < len(text) else 0
    return piece[:space] if space > 0 else piece


def _spans(pieces: list[_Piece], count_tokens: CountTokens, size: int, overlap: int) -> Iterator[_Span]:
    """Group consecutive pieces into chunks of at most `size` tokens."""
    start = 0
    while start < len(pieces):
        end = _kept_together(pieces, start, _border(pieces, start, size))
        text = _joined(pieces[start:end])
        while (
            tokens := count_tokens(text)
        ) > size and end - start > 1:  # token counts of the parts do not add up exactly
            end -= 1
            text = _joined(pieces[start:end])
        yield _Span(start, end, text, tokens)
        start = end if end == len(pieces) else max(start + 1, _overlapping(pieces, end, overlap))


def _border(pieces: list[_Piece], start: int, size: int) -> int:
    """Return where a chunk that begins at `start` should end: at a section, at a paragraph's end, else when full."""
    tokens = 0
    border = start
    for n in range(start, len(pieces)):
        piece = pieces[n]
        if piece.block.kind == "heading" and n > start and tokens >= _NEW_SECTION_FROM * size:
            return n
        if piece.begins and tokens >= _NEW_BLOCK_FROM * size:
            border = n
        tokens += piece.tokens
        if tokens > size and n > start:
            return border if border > start else n
    return len(pieces)


def _kept_together(pieces: list[_Piece], start: int, end: int) -> int:
    """Move `end` in front of headings and lead-ins, which belong to what follows them."""
    moved = end
    while end < len(pieces) and moved - start > 1 and pieces[moved - 1].leads:
        moved -= 1
    return end if pieces[moved - 1].leads else moved


def _overlapping(pieces: list[_Piece], end: int, overlap: int) -> int:
    """Return where the next chunk begins, so that it repeats at most `overlap` tokens."""
    start, tokens = end, 0
    while start > 0 and tokens + pieces[start - 1].tokens <= overlap:
        start -= 1
        tokens += pieces[start].tokens
    return start


def _joined(pieces: list[_Piece]) -> str:
    return pieces[0].text + "".join([piece.joint + piece.text for piece in pieces[1:]])


def _heading(pieces: list[_Piece]) -> str:
    """Return the heading path of the first piece that is not a heading."""
    return next((piece.heading for piece in pieces if piece.block.kind != "heading"), pieces[0].heading)


def _context(n: int, spans: list[_Span], headings: list[str], size: int) -> tuple[int, int]:
    """Return the first and last chunk of the context of chunk `n`: neighbours in its section, up to `size` tokens.

    The context grows by turns before and after.
    """
    start, end, left = n, n, size - spans[n].tokens
    grown = True
    while grown:
        grown = False
        if start > 0 and headings[start - 1] == headings[n] and spans[start - 1].tokens <= left:
            start, grown = start - 1, True
            left -= spans[start].tokens
        if end + 1 < len(spans) and headings[end + 1] == headings[n] and spans[end + 1].tokens <= left:
            end, grown = end + 1, True
            left -= spans[end].tokens
    return start, end
