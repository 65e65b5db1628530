"""Suggested questions: starter questions on the newest documents, follow-up questions from near the cited passages.

Each finds its own passage, which holds an answer by the rule that the question comes from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from sqlalchemy import Row, Select, false, or_, select

from crag.library.questions import chinese, english, korean
from crag.library.questions.surroundings import DerivedQuestion, Surroundings
from crag.storage.engine import Database
from crag.storage.row_security import visible_rows
from crag.storage.tables import passages, sources
from crag.text.language import detect_language, extract_terms, split_sentences
from crag.text.patterns import lazy_regex
from crag.types import HEADING_SEPARATOR, Language

_NEWEST_SOURCES = 12
_PASSAGES_READ = 80  # of each document, from its beginning
_PASSAGES_BEFORE, _PASSAGES_AFTER = 6, 24  # passages around a cited one
_MAX_CHECKED = 24

FindPassages = Callable[[str], Sequence[int]]
"""Searches with a question; returns the ids of the nearest passages."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question, its subject (`about`), and the passage that answers it."""

    question: str
    about: str
    passage_id: int


def suggest_questions(database: Database, find: FindPassages, n: int, user: str | None) -> list[str]:
    """Return at most `n` different questions, from as many of the newest sources of a user as possible."""
    newest = _read_newest_sources(database, user)
    by_source = [_offer_on_source(database, source.id, source.title) for source in newest]
    in_turns = (one for one in chain.from_iterable(zip_longest(*by_source)) if one)
    return _choose(in_turns, find, set(), n)


def suggest_follow_ups(
    database: Database,
    find: FindPassages,
    cited_ids: Sequence[int],
    answer: str,
    asked: Sequence[str],
    n: int,
    user: str | None,
) -> list[str]:
    """Suggest at most `n` questions about what `answer`, which cites the passages `cited_ids`, leaves out.

    They are about passages that the `user` may read. Each has a subject of its own that neither the answer nor the
    questions `asked` cover.
    """
    rows = sorted(_read_neighbours(database, cited_ids, user), key=lambda row: _distance_to_cited(row, cited_ids))
    return _choose(_offer(rows), find, set(extract_terms(" ".join([answer, *asked]))), n)


def _choose(offered: Iterable[Suggestion], find: FindPassages, covered: set[str], n: int) -> list[str]:
    """Return the first `n` questions with a subject that is not `covered` yet and that find their own passage."""
    found: list[str] = []
    checked = 0
    for one in offered:
        about = set(extract_terms(one.about))
        if about <= covered:
            continue
        checked += 1
        if one.passage_id in find(one.question):
            covered |= about
            found.append(one.question)
        if len(found) == n or checked == _MAX_CHECKED:
            break
    return found


def _offer_on_source(database: Database, source_id: str, title: str) -> Iterator[Suggestion]:
    query = select(passages).where(passages.c.source_id == source_id).order_by(passages.c.ordinal)
    with database.read() as connection:
        rows = connection.execute(query.limit(_PASSAGES_READ)).all()
    yield from _offer(rows, title)


def _offer(rows: Sequence[Row[Any]], title: str = "") -> Iterator[Suggestion]:
    """Yield the questions that these passages answer, in their order."""
    around = Surroundings("\n".join(row.text for row in rows), title)
    for row in rows:
        for one in find_questions(row.text, row.heading, around):
            yield Suggestion(one.question, one.about, row.id)


def _read_newest_sources(database: Database, user: str | None) -> Sequence[Row[Any]]:
    newest: Select[Any] = select(sources.c.id, sources.c.title).order_by(sources.c.added_at.desc(), sources.c.id)
    with database.read() as connection:
        return connection.execute(newest.where(visible_rows(sources, user)).limit(_NEWEST_SOURCES)).all()


def _read_neighbours(database: Database, cited_ids: Sequence[int], user: str | None) -> Sequence[Row[Any]]:
    """Read the neighbours of the cited passages: ids of one source are consecutive, so nearby ids are nearby text."""
    ranges = [passages.c.id.between(one - _PASSAGES_BEFORE, one + _PASSAGES_AFTER) for one in cited_ids]
    own = select(passages.c.source_id).where(passages.c.id.in_(cited_ids), visible_rows(passages, user))
    query: Select[Any] = select(passages).where(passages.c.source_id.in_(own), or_(false(), *ranges))
    with database.read() as connection:
        return connection.execute(query).all()


def _distance_to_cited(row: Row[Any], cited_ids: Sequence[int]) -> tuple[int, int]:
    """Return the distance to the nearest cited passage; following passages come before preceding ones."""
    return min((abs(row.id - one), int(row.id < one)) for one in cited_ids)


_MAX_QUESTION_CHARS = 100
_MIN_SENTENCE_CHARS: dict[Language, int] = {"en": 25, "ko": 12, "zh": 10}
_MAX_SENTENCE_CHARS = 400
_MIN_SENTENCES = 2  # under a heading to ask about
_DETECTED_CHARS = 400


def find_questions(text: str, heading: str, around: Surroundings) -> Iterator[DerivedQuestion]:
    """Yield the questions that a passage under this heading path answers, in reading order."""
    if any(_BOILERPLATE_HEADING.fullmatch(part.strip()) for part in heading.split(HEADING_SEPARATOR)):
        return
    language = detect_language(text[:_DETECTED_CHARS])
    if language == "en" and not around.is_english:
        return
    by_heading, by_sentence = _RULES[language]
    shortest = _MIN_SENTENCE_CHARS[language]
    prose = [one for one in split_sentences(text) if len(one) >= shortest and is_prose(one)]
    for question in _deduplicate(_find_all(by_heading, by_sentence, heading, prose, around)):
        if len(question.question) <= _MAX_QUESTION_CHARS:
            yield question


def _find_all(
    by_heading: _HeadingRule, by_sentence: _SentenceRule, heading: str, prose: list[str], around: Surroundings
) -> Iterator[DerivedQuestion]:
    bare = _HEADING_NUMBER.sub("", heading.rpartition(HEADING_SEPARATOR)[2].strip()).strip(" .:：")
    if bare and len(prose) >= _MIN_SENTENCES and _says_something_about(bare, prose):
        yield from by_heading(bare, around)
    for sentence in prose:
        yield from by_sentence(sentence, bare, around)


def _deduplicate(found: Iterator[DerivedQuestion]) -> Iterator[DerivedQuestion]:
    """Yield each question once."""
    seen: set[str] = set()
    for one in found:
        if one.question not in seen:
            seen.add(one.question)
            yield one


_PROSE_END = lazy_regex(r"^To [^,]{5,60}, .*:$|[.!。！][”\"’')）」』]*$|다\.?$")
_NO_PROSE = lazy_regex(
    r"[|<>{}=\\@#↑^]|https?:|www\.|^\W*(?:Q|A|Question|Answer|User|Input|Output|Human|AI)\s*:", re.IGNORECASE
)


def is_prose(sentence: str) -> bool:
    """Return whether this is a whole sentence of running text, not a heading, table row, list item or code."""
    short = len(sentence) <= _MAX_SENTENCE_CHARS
    return short and bool(_PROSE_END.search(sentence)) and not _NO_PROSE.search(sentence)


def _says_something_about(heading: str, prose: list[str]) -> bool:
    """Return whether the sentences hold most of the heading's words: else the heading says little about the text."""
    asked, held = set(extract_terms(heading)), set(extract_terms(" ".join(prose)))
    return bool(asked) and 3 * len(asked & held) >= 2 * len(asked)


_BOILERPLATE_HEADING = lazy_regex(
    r"(?i)(?:\W*+\d[\d.]*+\W*+)?(?:(?:\w++ )?references|citations?|(?:\w++ )?bibliography|appendix\b.*"
    r"|acknowledge?ments?|(?:table of )?contents|index|see also"
    r"|external links|further reading|licen[sc]e|imprint|colophon|copyright|uncopyright|disclaimer|navigation|menu"
    r"|(?:end|foot)?notes|(?:works|literature) cited|about (?:the )?authors?|changelog"
    r"|참고\s?문헌|각주|목차|차례|같이 보기|외부 링크|출처|参考文献"
    r"|參考文獻|目录|目錄|参见|參見|外部链接|外部連結)"
)
_HEADING_NUMBER = lazy_regex(
    r"^(?:\d+(?:\.\d+)*[.):]?\s+|(?:[ivxIVX]+|[A-Z])[.):]\s+|제\s?\d+\s?[장절조]\s*|第[一二三四五六七八九十\d]+[章节節条條]\s*"
    r"|(?:Chapter|Section|Part|Article|Step|Component)\s+\w+\s*[:.–-]\s*)|\s*[#¶]\s*$|^#+\s*"
)


_SentenceRule = Callable[[str, str, Surroundings], Iterator[DerivedQuestion]]
_HeadingRule = Callable[[str, Surroundings], Iterator[DerivedQuestion]]
_RULES: dict[Language, tuple[_HeadingRule, _SentenceRule]] = {
    "en": (english.ask_about_heading, english.ask_about_sentence),
    "ko": (korean.ask_about_heading, korean.ask_about_sentence),
    "zh": (chinese.ask_about_heading, chinese.ask_about_sentence),
}
