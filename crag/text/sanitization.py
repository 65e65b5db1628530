"""Untrusted text made safe for storage, the terminal, spreadsheets and Markdown.

Escaping alone is not enough for Markdown: URLs become links and `:name:` becomes an icon even when escaped. Such
sequences are therefore broken with a word joiner (U+2060), which has no width.
"""

from __future__ import annotations

import csv
import io
import logging
import re
import traceback
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from crag.errors import BadRequest
from crag.types import Support, SupportStrength, strip_unstorable

WORD_JOINER = "\u2060"
SUPPORT_MARKS: dict[SupportStrength, str] = {
    "unsupported": "\ue000",
    "weak": "\ue001",
}  # placeholders, absent from visible text
_MAX_COMBINING_MARKS = 4
_WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_ALLOWED_JOINERS = {"\u200c", "\u200d"}  # needed to write Persian, Hindi and joined emoji
_PLAIN_ASCII = re.compile(r"[\n\t\x20-\x7e]*")
_MARKDOWN_BREAKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\](?=\\*[(\[:])"), rf"]{WORD_JOINER}"),  # links, images, references and their definitions
    (re.compile(r"<(?=[A-Za-z/!?])"), f"<{WORD_JOINER}"),  # HTML and <addresses>
    (re.compile(r":(?=\\*[^\s\d\\|-])"), f":{WORD_JOINER}"),  # http:, :red[…], :material/…:, :smile:; not |:-:|
    (re.compile(r"(?i:www)(?=\\*\.)"), rf"\g<0>{WORD_JOINER}"),
    (re.compile(r"@"), f"@{WORD_JOINER}"),
    (re.compile(r"&(?=[#A-Za-z])"), f"&{WORD_JOINER}"),  # entities, which could encode any of these
    (re.compile(r"\[\^"), f"[{WORD_JOINER}^"),
    (re.compile(r"!(?=\\*\[)"), f"!{WORD_JOINER}"),
)


def strip_invisible(text: str) -> str:
    """Remove control, direction and invisible characters, private-use characters, and stacks of combining marks."""
    if _PLAIN_ASCII.fullmatch(text):
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks > _MAX_COMBINING_MARKS or category in {"Co", "Cs", "Cn"}:
            continue
        if category in {"Cc", "Cf"} and character not in "\n\t" and character not in _ALLOWED_JOINERS:
            continue
        kept.append(character)
    return "".join(kept)


def to_one_line(text: str) -> str:
    """Return the visible text on one line."""
    return " ".join(strip_invisible(text).split())


def has_web_scheme(location: str) -> bool:
    """Return whether a location is an HTTP URL, and not the path of a file. The fetcher decides whether to fetch it."""
    return bool(_WEB_ADDRESS.match(location))


def neutralize_markdown(text: str) -> str:
    """Break links, images, references, HTML and directives in Markdown, and keep its other formatting."""
    for pattern, replacement in _MARKDOWN_BREAKS:
        text = pattern.sub(replacement, text)
    return text


CsvCell = str | int | float | None
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")  # spreadsheets evaluate such cells (OWASP, CSV injection)


def escape_formula(cell: CsvCell) -> CsvCell:
    """Put an apostrophe before text that a spreadsheet would evaluate as a formula."""
    if not isinstance(cell, str):
        return cell
    text = strip_invisible(cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def write_csv(rows: Iterable[Iterable[CsvCell]]) -> bytes:
    """Return a file that spreadsheets open as UTF-8, in which no cell is a formula."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(map(escape_formula, row) for row in rows)
    return written.getvalue().encode("utf-8-sig")


def mark_unsupported_sentences(text: str, sentences: Iterable[Support]) -> str:
    """Return the visible text with a mark of `SUPPORT_MARKS` after each unsupported or weakly supported sentence."""
    marked = strip_invisible(text)
    for one in sentences:
        if one.strength in SUPPORT_MARKS:
            marked = _insert_mark_after(marked, strip_invisible(one.sentence), SUPPORT_MARKS[one.strength])
    return marked


def _insert_mark_after(text: str, sentence: str, mark: str) -> str:
    """Insert a mark after a sentence, ignoring differences in white space.

    In a table the mark goes before the end of the row.
    """
    spaced = r"\s*".join(map(re.escape, sentence.split()))
    found = re.search(spaced, text) if spaced else None
    if found is None:
        return text
    end = found.start() + len(found.group().removesuffix("|").rstrip())
    return text[:end] + mark + text[end:]


_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 except tab and line feed
_DIRECTIONS = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
TERMINAL_CONTROLS = re.compile(f"[{_CONTROLS}{_DIRECTIONS}]")
"""Characters that control a terminal or hide text: escape codes, control and direction characters."""
# Besides controls: surrogates, non-characters, tag characters.
_FORBIDDEN_CHARACTERS = re.compile(f"[{_CONTROLS}\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff\U000e0000-\U000e007f]")
_INVISIBLE_CHARACTERS = re.compile(f"[{_DIRECTIONS}\u00ad\u061c\u200b-\u200d\u2060-\u2065]")
_MAX_DISPLAY_NAME_LENGTH = 200


def clean_text(text: str) -> str:
    """Return `text` in NFC with plain line feeds, without control characters, surrogates, NUL and non-characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\x85", "\n")
    return unicodedata.normalize("NFC", _FORBIDDEN_CHARACTERS.sub("", text))


def clean_display_name(name: str) -> str:
    """Return a display form of a user-supplied name: its last path component, at most 200 characters.

    Never use it as a path.
    """
    last = re.split(r"[/\\]", name.replace("\0", ""))[-1]
    shown = " ".join(_INVISIBLE_CHARACTERS.sub("", clean_text(last)).split())
    return shown[:_MAX_DISPLAY_NAME_LENGTH].strip() or "untitled"


MAX_QUESTION_LENGTH = 200_000  # characters


def normalize_user_text(text: str) -> str:
    """Strip surrounding white space and remove characters that the database cannot store."""
    return strip_unstorable(text).strip()


def normalize_question(text: str) -> str:
    """Normalize a question. Raises `BadRequest` if nothing of it is visible or if it is too long."""
    question = normalize_user_text(text)
    if not strip_invisible(question).strip():
        raise BadRequest("The question is empty.", "Write one, then send it.")
    if len(question) > MAX_QUESTION_LENGTH:
        raise BadRequest(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION_LENGTH:,} can be asked.",
            "Shorten it, or add the long part as a document and ask about it.",
        )
    return question


class PlainLogFormatter(logging.Formatter):
    """Logs an exception by its kind and location only: its message and traceback may contain paths or keys."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record without the characters that control a terminal."""
        return TERMINAL_CONTROLS.sub("", super().format(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 — the name of the base class
        """Return the kind of an exception and the line that raised it, where known."""
        kind, _, trace = ei
        places = traceback.extract_tb(trace)[-1:]
        raised_in = "".join(f" in {Path(place.filename).name}, line {place.lineno}" for place in places)
        return f"{kind.__name__}{raised_in}" if kind else ""
