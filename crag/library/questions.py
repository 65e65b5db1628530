"""Starter questions, made from questions and headings in the sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

from sqlalchemy import select

from crag.database import Database
from crag.database.tables import passages, sources
from crag.language import cjk
from crag.library.adding.split import HEADING_SEPARATOR
from crag.prompts.language import Written

_SOURCES_ASKED = 12
_SHORTEST, _LONGEST = 4, 70
_SAYS_NOTHING = re.compile(
    r"(?i)(?:abstract|introduction|overview|conclusions?|summary|references|citations?|bibliography|appendix.*"
    r"|acknowledge?ments?|contents|table of contents|index|notes|discussion|results?|methods?|background|faq"
    r"|see also|external links|(?:useful )?resources|further reading|related work|license|chapter \w+|section \w+)"
)
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*|[ivxIVX]+)[.)]?\s+|\s*[#¶]\s*$|^#+\s*")
_FILE_NAME = re.compile(r"(?a)[\w.()-]*[_\d][\w.()-]*")  # a meaningless title: scan_0012, Presentation1
_HANGUL = re.compile("[가-힣]")


def suggest_questions(database: Database, n: int) -> list[str]:
    """Return at most `n` different questions, from as many sources as possible."""
    by_source = [list(_questions(headings)) for headings in _headings(database)]
    in_turns = chain.from_iterable(zip_longest(*by_source))
    return list(dict.fromkeys(question for question in in_turns if question))[:n]


def as_question(heading: str, written: Written = "zh-Hant") -> str:
    """Turn a heading into a question; one that already asks stays as it is. `written` selects the Chinese script."""
    if heading.endswith(("?", "？")):
        return heading
    if cjk(heading):
        chinese = f"关于“{heading}”说了什么？" if written == "zh" else f"關於「{heading}」說了什麼？"
        return f"“{heading}”에 대해 알려주세요." if _HANGUL.search(heading) else chinese
    short = len(heading.split()) <= 2 and not re.search(r"\b(?:and|or|vs)\b|[:,;&/'’!]|ing ", heading)
    if short and not heading.endswith("s"):
        return f"What is {heading}?"
    return f"What do the documents say about “{heading}”?"


def _questions(headings: Iterable[str]) -> Iterator[str]:
    for heading in headings:
        if bare := bare_heading(heading):
            yield as_question(bare)


def bare_heading(heading: str) -> str:
    """Return the last part of a heading path without its number; empty if it is generic."""
    bare = _NUMBER.sub("", heading.rpartition(HEADING_SEPARATOR)[2].strip()).strip(" .:")
    is_specific = _SHORTEST <= len(bare) <= _LONGEST and not _SAYS_NOTHING.fullmatch(bare)
    return bare if is_specific else ""


def _headings(database: Database) -> list[list[str]]:
    """Return the headings of the newest sources in reading order; the title for a source without headings."""
    newest = select(sources.c.id, sources.c.title).order_by(sources.c.added_at.desc(), sources.c.id)
    with database.read() as connection:
        found = []
        for source_id, title in connection.execute(newest.limit(_SOURCES_ASKED)).all():
            query = select(passages.c.heading).where(passages.c.source_id == source_id, passages.c.heading != "")
            headings = connection.scalars(query.order_by(passages.c.ordinal).limit(200)).all()
            found.append(list(dict.fromkeys(headings)) or _told(title))
    return found


def _told(title: str) -> list[str]:
    """Return the title without its file extension; nothing if it is only a file name."""
    bare = re.sub(r"\.\w{2,8}$", "", title)
    return [] if _FILE_NAME.fullmatch(bare) else [bare]
