"""Input and output of a parser: request, limits, blocks and the parsed document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from crag.errors import SourceRefused
from crag.translation import N_

BlockKind = Literal["heading", "paragraph", "item", "header", "row", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, paragraph, list item, table row (`a | b`), table header or piece of code.

    A header names the columns of the rows after it.

    `page` is the page or slide, counted from 1, or None where the format has no pages. `level` is 1 to 6 for headings,
    otherwise 0.
    """

    text: str
    kind: BlockKind = "paragraph"
    page: int | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document.

    `pages` is None where the format has no pages. `author` and `published` (YYYY-MM-DD) are empty where the document
    does not state them. `note` tells the user which parts are missing. A parser may leave `kind` empty: it is then the
    kind of its format.
    """

    title: str
    pages: int | None
    blocks: tuple[Block, ...]
    author: str = ""
    published: str = ""
    note: str = ""
    kind: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the document as plain lists and values, the inverse of `from_json`."""
        blocks = [[block.text, block.kind, block.page, block.level] for block in self.blocks]
        facts = {"title": self.title, "kind": self.kind, "pages": self.pages}
        return facts | {"blocks": blocks, "author": self.author, "published": self.published, "note": self.note}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Document:
        """Rebuild a document from the output of `as_json`."""
        return cls(**(value | {"blocks": tuple(Block(*block) for block in value["blocks"])}))


# Titles that programs give to every file: “untitled”, “Presentation1”, “Microsoft Word - lease.doc”, “lease.html”.
_GENERIC_TITLE = re.compile(
    r"""\(?(?:untitled(?:[ -](?:document|presentation|spreadsheet|page))?|no\ title|제목\ 없(?:음|는\ \w+)
     |(?:无标题|無標題|未命名)\w{0,4}|anonymous|unspecified|unknown|title)[ -]?\d*\)?
    |about:\S*
    |microsoft\ (?:office\ )?(?:word|powerpoint|excel|publisher|visio)\b.*
    |powerpoint[ -](?:presentation|präsentation|演示文稿|簡報|프레젠테이션|プレゼンテーション)
    |(?:présentation|presentación\ de)\ powerpoint
    |(?:new\ |새\ |新建\ ?|新增\ ?)?(?:microsoft\ (?:word|powerpoint)\ )?
     (?:document|presentation|dokument|präsentation|문서|프레젠테이션|文档|演示文稿|簡報)[ -]?\(?\d*\)?
    |(?:doc|book|workbook|sheet|slide|page|drawing|publication)[ -]?\d+
    |(?:슬라이드|통합\ 문서|幻灯片|投影片|文件|工作簿|活頁簿)\ ?\d+
    |.*\.(?:docx?|pdf|tex|dvi|indd|qxd|rtf|pp[st]x?|xlsx?|od[pst]|hwpx?|html?|txt|md)""",
    re.IGNORECASE | re.VERBOSE,
)


def is_generic_title(title: str) -> bool:
    """Return whether a title says nothing about its file."""
    return _GENERIC_TITLE.fullmatch(title.strip()) is not None


def choose_title(stated: str | None, blocks: Iterable[Block]) -> str:
    """Return the title that the file states, or else its first heading of level 1, unless that is generic, too."""
    titles = ((stated or "").strip(), *(block.text for block in blocks if block.level == 1))
    return next((title for title in titles if title and not is_generic_title(title)), "")


def describe_unread_pages(pages: int, reasons: Mapping[str, int]) -> str:
    """Return the user-facing note on pages that could not be read, with a count per reason."""
    return " ".join(N_(f"{n:,} of {pages:,} pages could not be read: {why}.") for why, n in reasons.items() if n)


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits for parsing one file.

    Sizes are in bytes, `characters` counts text, `pages` counts pages or slides. `seconds` bounds both wall-clock and
    processor time. With OCR a file may take longer: `ocr_page_seconds` for each OCR page, `ocr_seconds` in total.
    """

    size: int = 100 * 1024 * 1024
    inflated: int = 300 * 1024 * 1024
    memory: int = 1536 * 1024 * 1024
    pages: int = 5_000
    characters: int = 20_000_000
    seconds: float = 60.0
    ocr_page_seconds: float = 60.0
    ocr_seconds: float = 3600.0

    @property
    def reply_bytes(self) -> int:
        """The size of the longest reply of a child: every character may take eight bytes in JSON."""
        return 8 * self.characters + 1_000_000

    def seconds_with_ocr(self, pages: int) -> float:
        """Return the time limit in seconds for a file with this many OCR pages."""
        return min(self.seconds + pages * self.ocr_page_seconds, self.ocr_seconds)


def too_large_refusal(what: str) -> SourceRefused:
    """Build the refusal of a file over a limit; `what` is a sentence."""
    return SourceRefused("too_large", what, "Split it and add the parts.")


def too_much_text_refusal(limits: ParseLimits) -> SourceRefused:
    """Build the refusal of a file with more text than the limit."""
    return too_large_refusal(f"The file has more than {limits.characters:,} characters of text.")


def out_of_memory_refusal() -> SourceRefused:
    """Build the refusal of a file that cannot be parsed within the memory limit."""
    return too_large_refusal("Reading the file needs too much memory.")


def damaged_refusal(
    what: str = N_("The file is damaged and cannot be read."), remedy: str = N_("Open it, save it again, then add it.")
) -> SourceRefused:
    """Build the refusal of a damaged file; `what` is a sentence."""
    return SourceRefused("corrupt", what, remedy)


def password_refusal() -> SourceRefused:
    """Build the refusal of a file that only its password opens."""
    return SourceRefused(
        "encrypted", "Needs a password.", "Save it without one, then add it again. Nothing was stored."
    )


def refusal_message(refused: SourceRefused) -> dict[str, Any]:
    """Return the message that a child sends to its parent for a refused file."""
    return {"refused": [refused.code, refused.message, refused.remedy]}


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """One file to parse, with its declared name, type and encoding."""

    name: str
    content_type: str
    charset: str | None
    data: bytes
    limits: ParseLimits
    progress: Callable[[str, int, int], None]
    tesseract: str  # path of the Tesseract executable; empty if not installed
    rapidocr: str  # folder of RapidOCR's models; empty if not installed
    begin_ocr: Callable[[int], float]  # requests time for this many OCR pages; returns the total in seconds

    @property
    def can_read_scans(self) -> bool:
        """Whether there is a program for OCR."""
        return bool(self.tesseract or self.rapidocr)
