"""Untrusted text, escaped for Streamlit's Markdown.

Escaping with backslashes is not enough: addresses become links, `:name:` an emoji and `->` an arrow even when escaped.
Such sequences are broken with a word joiner (U+2060), which has no width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from crag.inspection.run_labels import STRENGTH_BADGES
from crag.text.citation_marks import strip_bold
from crag.text.formatting import format_location, format_place
from crag.text.language import is_table_row
from crag.text.sanitization import SUPPORT_MARKS, WORD_JOINER, mark_unsupported_sentences, neutralize_markdown
from crag.text.sanitization import strip_invisible as visible
from crag.text.table_headers import find_header
from crag.text.tables import table_cells
from crag.translation import _
from crag.types import Citation, Passage, Support

_LABEL_LENGTH = 300
_TOOLTIP_LENGTH = 150
_TEXT_BEFORE_CITATION, _COMPARED_LETTERS = 200, 40  # characters

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&^=\"'])")
_ACTIVE_SEQUENCE = re.compile(
    r"(?P<colon>:)(?=[^\s\d])|(?P<at>@)|(?P<www>(?i:www))(?=\\*\.)|(?P<arrow>[-<>=~+])(?=[-<>=~+])|(?P<dots>\.)(?=\.)"
)
_HIGHLIGHT = ":yellow-background[{}]"
_LETTER = re.compile(r"\w")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]+`)", re.DOTALL)
_CITATION = re.compile(r"(?<!\\)\[(\d{1,3})\]")
_CITATION_MARK = re.compile(r"\s*(?<!\\)\[\d{1,3}\]")
_LIST_MARKER = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_FORMULA_OR_STRIKE = re.compile(r"\$|(?<!\\)~")  # 09:00~14:00 is a range; an answer strikes nothing out
_DIRECTIVE = re.compile(rf"(\\*):(?={WORD_JOINER})")


@lru_cache(4096)
def escape_line(text: str, length: int = _LABEL_LENGTH) -> str:
    """Escape one line of untrusted text for a label, caption, title, badge or toast; cut at `length` characters."""
    line = " ".join(visible(text[: 4 * length]).split())
    if len(line) > length:
        line = f"{line[: length - 1].rstrip()}…"
    return _escape(line)


def escape_title(title: str) -> str:
    """Escape the title of a document for a dialog, which shows two lines of it and the rest on request."""
    return escape_line(title, 300) or _("Untitled")


def escape_paragraphs(text: str) -> str:
    """Escape untrusted text of several lines, such as a question, keeping its line breaks."""
    lines = visible(text).strip().split("\n")
    return "  \n".join(_escape(line.strip()) for line in lines)


def escape_passage(text: str, marked: str = "", style: str = "{}", columns: str = "") -> str:
    """Escape a passage line by line, rows as a table, with the text `marked` highlighted.

    `style` is put around each line and cell without highlighting, since a directive ends with its paragraph. `columns`
    is the row of column names of a table that begins in an earlier passage.
    """
    text, marked = visible(text).strip(), visible(marked).strip()
    quoted = re.search(r"\s+".join(map(re.escape, marked.split())), text) if marked else None
    lines, offset = [], 0
    for line in text.split("\n"):
        cut = [min(max(0, at - offset), len(line)) for at in (quoted.span() if quoted else (0, 0))]
        lines.append((line[: cut[0]], line[cut[0] : cut[1]], line[cut[1] :]))
        offset += len(line) + 1
    blocks = []
    for are_rows, group in groupby(lines, lambda parts: is_table_row("".join(parts))):
        found = list(group)
        is_below_columns = bool(columns) and len(table_cells(columns)) == len(table_cells("".join(found[0])))
        if are_rows and (len(found) > 1 or is_below_columns):
            blocks.append(_draw_table(found, style, columns))
        else:
            blocks.append("  \n".join(_draw_line(parts, style) for parts in found).strip())
    return "\n\n".join(block for block in blocks if block)


_LineParts = tuple[str, str, str]  # before, in and after the highlighted text


def _draw_line(parts: _LineParts, style: str) -> str:
    before, found, after = parts
    if not found.strip():
        line = _escape("".join(parts).strip())
        return style.format(line) if line else ""
    seam = WORD_JOINER if before.endswith(":") else ""  # of two colons Streamlit makes no directive
    return f"{_escape(before.lstrip())}{seam}{_HIGHLIGHT.format(_escape(found.strip()))}{_escape(after.rstrip())}"


def _draw_table(lines: Sequence[_LineParts], style: str, columns: str) -> str:
    """Return rows as a table, below their header or `columns` if these fit; rules between rows are left out."""
    rows = [(table_cells("".join(parts)), _HIGHLIGHT if parts[1].strip() else style) for parts in lines]
    has_header = find_header([cells for cells, _style in rows]) is not None
    rows = [(cells, around) for cells, around in rows if any(map(_LETTER.search, cells))]
    width = max((len(cells) for cells, _style in rows), default=0)
    drawn = [
        [around.format(_escape(cell)) if cell else "" for cell in cells] + [""] * (width - len(cells))
        for cells, around in rows
    ]
    rule = ["---"] * width
    names = [_escape(name) for name in table_cells(visible(columns))]
    if has_header:
        drawn.insert(1, rule)
    else:
        drawn = [names if len(names) == width and columns else [""] * width, rule, *drawn]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in drawn)


def escape_verbatim(text: str) -> str:
    """Escape a piece of untrusted text with its spaces and line breaks, to be joined with other pieces."""
    return "  \n".join(map(_escape, visible(text).split("\n")))


def sanitize_answer(
    text: str,
    citations: Mapping[int, Citation] | None = None,
    anchor: str = "",
    sentences: Sequence[Support] = (),
    sentence_citations: Sequence[Sequence[Citation]] = (),
) -> str:
    """Sanitize a model's Markdown: keep formatting, remove images, HTML, directives, formulas and foreign links.

    `[n]` becomes a link to `#cite-<anchor>-<n>` for each n in `citations`. Weakly supported and unsupported
    `sentences` get a badge. `sentence_citations` gives the citations of each sentence, with its own quotes; their
    links go to `#cite-<anchor>-<n>.<index of the sentence>`.
    """
    known = citations or {}

    def link(match: re.Match[str]) -> str:
        cited = known.get(int(match.group(1)))
        if cited is None:
            return match.group(0)
        index = _find_citing_sentence(match.string[: match.start()], cited.n, sentences)
        own = sentence_citations[index] if index is not None and sentence_citations else ()
        for exact in own:
            if exact.n == cited.n:
                return citation_link(exact, anchor, f"\\[{exact.n}\\]", f"{exact.n}.{index}")
        return citation_link(cited, anchor, f"\\[{cited.n}\\]")

    parts = _CODE.split(mark_unsupported_sentences(text, sentences))
    drawn = [
        neutralize_markdown(part) if index % 2 else _sanitize_prose(part, link) for index, part in enumerate(parts)
    ]
    done = "".join(drawn)
    for strength, mark in SUPPORT_MARKS.items():
        sign = STRENGTH_BADGES[strength]
        done = done.replace(mark, f" :{sign.colour}-badge[:material/{sign.icon}: {sign.word}]")
    return done


def escape_sentence(text: str, max_length: int = _LABEL_LENGTH) -> str:
    """Escape a sentence of an answer, without list marker, bold marks and citations, cut at `max_length` characters."""
    return escape_line(_CITATION_MARK.sub("", _LIST_MARKER.sub("", strip_bold(text))), max_length)


def escape_place(title: str, locator: str, length: int = _LABEL_LENGTH) -> str:
    """Escape a title and where in the document as one line of at most `length` characters.

    A long title is shortened in the middle, since titles often differ only at the end; a long locator, at its end.
    """
    name, where = (" ".join(visible(text).split()) for text in (title, locator))
    if len(where) > length // 2:
        where = f"{where[: length // 2 - 1].rstrip()}…"
    room = length - len(format_place(" ", where)) + 1
    if len(name) > room:
        kept = (room - 1) // 2
        name = f"{name[:kept].rstrip()}…{name[-kept:].lstrip()}"
    return _escape(format_place(name, where))


def escape_page_and_title(passage: Passage) -> str:
    """Escape page and title of a passage as one line, for lists that cut long lines at the end."""
    return escape_line(format_place(passage.title, passage.locator, locator_first=True), 120)


def citation_link(cited: Citation, anchor: str, text: str, number: str = "") -> str:
    """Return a link that opens the source; its tooltip shows title, page, file or address, and quote.

    `text` must be safe Markdown.

    `number` identifies the citation within the answer; by default it is the one of the source.
    """
    shown = escape_line(format_place(cited.title, cited.locator), 120)
    if (name := format_location(cited.location)) not in ("", cited.title):
        shown = f"{shown} · {escape_line(name, 120)}"
    if cited.quote:
        shown = f"{shown}: “{escape_line(cited.readable_quote, _TOOLTIP_LENGTH)}”"
    return f'[{text}](#cite-{anchor}-{number or cited.n} "{shown}")'


def _find_citing_sentence(before: str, n: int, sentences: Sequence[Support]) -> int | None:
    """Return the index of the sentence that cites source `n` right after the text `before`."""
    written = _letters(before[-_TEXT_BEFORE_CITATION:])
    for index, one in enumerate(sentences):
        cited_end = _letters(one.sentence.partition(f"[{n}]")[0])[-_COMPARED_LETTERS:]
        if n in one.citations and cited_end and written.endswith(cited_end):
            return index
    return None


def _letters(text: str) -> str:
    return "".join(sign for sign in _CITATION_MARK.sub("", text) if sign.isalnum())


def _escape(line: str) -> str:
    broken = _ACTIVE_SEQUENCE.sub(lambda match: f"{match.group(0)}{WORD_JOINER}", line)
    return _PUNCTUATION.sub(r"\\\1", broken)


def _sanitize_prose(text: str, link: Callable[[re.Match[str]], str]) -> str:
    dead = _DIRECTIVE.sub(_escape_colon, neutralize_markdown(text))
    return _CITATION.sub(link, _FORMULA_OR_STRIKE.sub(r"\\\g<0>", dead))


def _escape_colon(match: re.Match[str]) -> str:
    """Escape a colon that starts no directive: Streamlit drops the `[label]` behind unknown directive names."""
    slashes = match.group(1)
    return f"{slashes}:" if len(slashes) % 2 else f"{slashes}\\:"
