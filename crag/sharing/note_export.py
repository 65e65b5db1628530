"""Export of notes as Markdown and as a Word document."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crag.sharing.markdown import close_code_fence, escape_line, write_source_item
from crag.sharing.notes import Note
from crag.text.formatting import format_date, format_place
from crag.text.sanitization import clean_text, has_web_scheme, neutralize_markdown, strip_invisible, to_one_line
from crag.translation import _

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph
    from markdown_it.token import Token

_DEEPEST_LIST = 3  # levels for which Word's template has a style


def write_notes_markdown(notes: Sequence[Note]) -> str:
    """Render the notes as Markdown: title, date, text and sources."""
    parts = [_("# Notes")]
    for note in notes:
        parts += [f"## {escape_line(note.title)}", format_date(note.created_at)]
        parts.append(close_code_fence(neutralize_markdown(strip_invisible(note.text)).replace("$", r"\$")))
        if note.sources:
            parts += [_("**Sources**"), "\n".join(map(write_source_item, note.sources))]
    return "\n\n".join(parts) + "\n"


def write_notes_word(notes: Sequence[Note]) -> bytes:
    """Render the notes as a Word document, in which web addresses are text, not links."""
    writer = _WordWriter()
    writer.add_paragraph(_("Notes"), "Title")
    for note in notes:
        writer.add_paragraph(_clean(note.title), "Heading 1")
        writer.add_paragraph(format_date(note.created_at))
        writer.write(note.text)
        if note.sources:
            writer.add_paragraph(_("Sources"), "Heading 2")
        for cited in note.sources:
            place = _clean(to_one_line(format_place(cited.title, cited.locator)))
            address = f"\n{_clean(to_one_line(cited.location))}" if has_web_scheme(cited.location) else ""
            writer.add_paragraph(f"[{cited.n}] {place}{address}")
            if cited.quote.strip():
                writer.add_paragraph(_clean(to_one_line(cited.readable_quote)), "Quote")
    return writer.save()


class _WordWriter:
    """Writes Markdown into a Word document: paragraphs, headings, lists, quotes, code, tables, bold and italic."""

    def __init__(self) -> None:
        import docx

        self._document = docx.Document()
        self._style_ids = {style.name: style.style_id for style in self._document.styles}
        self._end = self._document.add_paragraph()
        self._lists: list[str] = []
        self._quotes = 0
        self._rows: list[list[str]] = []
        self._heading = 0

    def add_paragraph(self, text: str = "", style: str = "Normal") -> Paragraph:
        """Append a paragraph.

        `Document.add_paragraph` reads every style and every paragraph before it: a minute for a note of headings.
        """
        paragraph = self._end.insert_paragraph_before(text)
        paragraph.paragraph_format.element.style = self._style_ids[style]
        return paragraph

    def write(self, text: str) -> None:
        """Append Markdown."""
        from markdown_it import MarkdownIt

        for token in MarkdownIt("commonmark", {"html": False}).enable("table").parse(text):
            self._write_token(token)

    def save(self) -> bytes:
        """Return the document, to which nothing can be added any more."""
        element = self._end.paragraph_format.element
        element.getparent().remove(element)
        written = io.BytesIO()
        self._document.save(written)
        return written.getvalue()

    def _write_token(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._lists.append("List Bullet" if token.type.startswith("bullet") else "List Number")
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
            case "blockquote_open":
                self._quotes += 1
            case "blockquote_close":
                self._quotes -= 1
            case "heading_open":
                self._heading = int(token.tag[1:])
            case "tr_open":
                self._rows.append([])
            case "table_close":
                self._write_table()
            case "fence" | "code_block":
                code = self.add_paragraph(style="No Spacing").add_run(_clean(token.content.rstrip()))
                code.font.name = "Consolas"
            case "inline":
                self._write_inline(token)

    def _write_inline(self, token: Token) -> None:
        if self._rows:
            self._rows[-1].append(_clean(token.content))
        elif self._heading:
            self.add_paragraph(_clean(token.content), f"Heading {min(self._heading + 2, 9)}")
            self._heading = 0
        else:
            _add_runs(self.add_paragraph(style=self._style()), token.children or [])

    def _style(self) -> str:
        if self._lists:
            level = min(len(self._lists), _DEEPEST_LIST)
            return self._lists[-1] if level == 1 else f"{self._lists[-1]} {level}"
        return "Quote" if self._quotes else "Normal"

    def _write_table(self) -> None:
        table = self._document.add_table(len(self._rows), max(map(len, self._rows)), "Table Grid")
        for row, cells in zip(table.rows, self._rows, strict=True):
            for cell, text in zip(row.cells, cells, strict=False):
                cell.text = text
        self._document.element.body.sectPr.addprevious(self._end.paragraph_format.element)
        self._rows = []


def _add_runs(paragraph: Paragraph, parts: Sequence[Token]) -> None:
    bold = italic = False
    for part in parts:
        match part.type:
            case "strong_open" | "strong_close":
                bold = part.type == "strong_open"
            case "em_open" | "em_close":
                italic = part.type == "em_open"
            case "hardbreak" | "softbreak":
                paragraph.add_run("\n")
            case _ if part.content:
                run = paragraph.add_run(_clean(part.content))
                run.bold, run.italic = bold, italic


def _clean(text: str) -> str:
    """Drop what XML cannot hold, and characters that nobody sees."""
    return clean_text(strip_invisible(text))
