"""Untrusted text made safe for any Markdown: nothing invisible, nothing that loads, links or runs.

Escaping alone is not enough for Markdown: URLs become links and `:name:` becomes an icon even when escaped. Such
sequences are therefore broken with a word joiner (U+2060), which has no width.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from crag.types import Strength, Support

JOINER = "\u2060"
MARKS: dict[Strength, str] = {"unsupported": "\ue000", "weak": "\ue001"}  # placeholders, absent from visible text
_MARKS_IN_A_ROW = 4
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_JOINERS_IN_WORDS = {"\u200c", "\u200d"}  # needed to write Persian, Hindi and joined emoji
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")
_END_OF_ROW = re.compile(r"\s*\|?$")
_BREAKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\](?=\\*[(\[:])"), rf"]{JOINER}"),  # links, images, references and their definitions
    (re.compile(r"<(?=[A-Za-z/!?])"), f"<{JOINER}"),  # HTML and <addresses>
    (re.compile(r":(?=\\*[^\s\d\\|-])"), f":{JOINER}"),  # http:, :red[…], :material/…:, :smile:; not |:-:|
    (re.compile(r"(?i:www)(?=\\*\.)"), rf"\g<0>{JOINER}"),
    (re.compile(r"@"), f"@{JOINER}"),
    (re.compile(r"&(?=[#A-Za-z])"), f"&{JOINER}"),  # entities, which could encode any of these
    (re.compile(r"\[\^"), f"[{JOINER}^"),
    (re.compile(r"!(?=\\*\[)"), f"!{JOINER}"),
)


def visible(text: str) -> str:
    """Remove control, direction and invisible characters, private-use characters, and stacks of combining marks."""
    if _PLAIN.fullmatch(text):
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks > _MARKS_IN_A_ROW or category in {"Co", "Cs", "Cn"}:
            continue
        if category in {"Cc", "Cf"} and character not in "\n\t" and character not in _JOINERS_IN_WORDS:
            continue
        kept.append(character)
    return "".join(kept)


def one_line(text: str) -> str:
    """Return the visible text on one line."""
    return " ".join(visible(text).split())


def is_web_address(location: str) -> bool:
    """Return whether `location` is an HTTP URL. The fetcher decides whether it may be fetched."""
    return bool(_ADDRESS.match(location))


def calm(text: str) -> str:
    """Break links, images, references, HTML and directives in Markdown, and keep its other formatting."""
    for pattern, replacement in _BREAKS:
        text = pattern.sub(replacement, text)
    return text


def mark_sentences(text: str, sentences: Iterable[Support]) -> str:
    """Return the visible text with a mark of `SUPPORT_MARKS` after each unsupported or weakly supported sentence."""
    marked = visible(text)
    for one in sentences:
        if one.strength in MARKS:
            marked = _mark_after(marked, visible(one.sentence), MARKS[one.strength])
    return marked


def _mark_after(text: str, sentence: str, mark: str) -> str:
    """Insert a mark after a sentence, ignoring differences in white space.

    In a table the mark goes before the end of the row.
    """
    spaced = r"\s*".join(map(re.escape, sentence.split()))
    found = re.search(spaced, text) if spaced else None
    if found is None:
        return text
    in_row = _END_OF_ROW.sub(lambda end: f"{mark}{end.group()}", found.group(), count=1)
    return text[: found.start()] + in_row + text[found.end() :]
