"""Suggested questions: starter questions from headings, follow-up questions from passages near the cited ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from sqlalchemy import Row, Select, false, or_, select

from crag.storage.engine import Database
from crag.storage.tables import passages, sources
from crag.text.language import detect_language, detect_written_language, extract_terms, is_cjk, split_sentences
from crag.types import HEADING_SEPARATOR, Passage, WrittenLanguage

_NEWEST_SOURCES = 12
_MIN_HEADING_CHARS, _MAX_HEADING_CHARS = 4, 70
_GENERIC_HEADING = re.compile(
    r"(?i)(?:abstract|introduction|overview|conclusions?|summary|references|citations?|bibliography|appendix.*"
    r"|acknowledge?ments?|contents|table of contents|index|notes|discussion|results?|methods?|background|faq"
    r"|see also|external links|(?:useful )?resources|further reading|related work|license|chapter \w+|section \w+)"
)
_HEADING_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*|[ivxIVX]+)[.)]?\s+|\s*[#¶]\s*$|^#+\s*")
_FILE_NAME = re.compile(r"(?a)[\w.()-]*[_\d][\w.()-]*")  # a meaningless title: scan_0012, Presentation1
_HANGUL = re.compile("[가-힣]")


def suggest_questions(database: Database, n: int) -> list[str]:
    """Return at most `n` different questions, from as many sources as possible."""
    by_source = [list(_heading_questions(headings)) for headings in _read_headings(database)]
    in_turns = chain.from_iterable(zip_longest(*by_source))
    return list(dict.fromkeys(question for question in in_turns if question))[:n]


def heading_to_question(heading: str, written: WrittenLanguage = "zh-Hant") -> str:
    """Turn a heading into a question, unless it is one already. `written` selects the Chinese script."""
    if heading.endswith(("?", "？")):
        return heading
    if is_cjk(heading):
        chinese = f"关于“{heading}”说了什么？" if written == "zh" else f"關於「{heading}」說了什麼？"
        return f"“{heading}”에 대해 알려주세요." if _HANGUL.search(heading) else chinese
    short = len(heading.split()) <= 2 and not re.search(r"\b(?:and|or|vs)\b|[:,;&/'’!]|ing ", heading)
    if short and not heading.endswith("s"):
        return f"What is {heading}?"
    return f"What do the documents say about “{heading}”?"


def _heading_questions(headings: Iterable[str]) -> Iterator[str]:
    for heading in headings:
        if bare := clean_heading(heading):
            yield heading_to_question(bare)


def clean_heading(heading: str) -> str:
    """Return the last part of a heading path without its number; empty if it is generic."""
    bare = _HEADING_NUMBER.sub("", heading.rpartition(HEADING_SEPARATOR)[2].strip()).strip(" .:")
    is_specific = _MIN_HEADING_CHARS <= len(bare) <= _MAX_HEADING_CHARS and not _GENERIC_HEADING.fullmatch(bare)
    return bare if is_specific else ""


def _read_headings(database: Database) -> list[list[str]]:
    """Return the headings of the newest sources in reading order; the title for a source without headings."""
    newest = select(sources.c.id, sources.c.title).order_by(sources.c.added_at.desc(), sources.c.id)
    with database.read() as connection:
        found = []
        for source_id, title in connection.execute(newest.limit(_NEWEST_SOURCES)).all():
            query = select(passages.c.heading).where(passages.c.source_id == source_id, passages.c.heading != "")
            headings = connection.scalars(query.order_by(passages.c.ordinal).limit(200)).all()
            found.append(list(dict.fromkeys(headings)) or _heading_from_title(title))
    return found


def _heading_from_title(title: str) -> list[str]:
    """Return the title without its file extension; nothing if it is only a file name."""
    bare = re.sub(r"\.\w{2,8}$", "", title)
    return [] if _FILE_NAME.fullmatch(bare) else [bare]


_MIN_MENTIONS, _MAX_ITEM_WORDS, _MAX_TOPIC_CHARS = 2, 3, 48
_PROPER_NAME = re.compile(r"^[\w-]*(?:[A-Z]{2}|[a-z][A-Z]|[A-Z]\w*-?\d)|^[A-Z][\w-]+(?: [A-Z][\w-]+)+$")
_REFERRING_WORDS = frozenset(  # refers to something mentioned before, so it names nothing by itself
    """a an the this that these those it its he she they we you i his her their our your my one some many most all each
    any both every such another other others same much most several few there here what which who when where while if
    although however moreover furthermore then thus therefore also finally later first second next instead note given
    assume let for in
    on at by from with to as and or but so because since after before during under over only even not no yes fig figure
    table section chapter example examples see recall similarly additionally specifically may once sometimes
    how changing make variation nothing everything people way ways lot""".split()  # noqa: SIM905
)
_DEFINES = r"(?:is|are) (?:a|an|the|one)\b|(?:refers?|means?)\b"
_VERB = (
    r"(?:is|are|was|were|can|has|have|had|does|uses?|used|provides?|allows?|consists?|refers?|means?|works?|proposed?s?"
    r"|introduce[sd]?|defines?d?|generates?|combines?|adds?|enables?|aims?|involves?|requires?|contains?|includes?"
    r"|follow(?:s|ed)|became|began|won|received|served|led|trains?|learns?|shows?|focus(?:es|ed)?|extends?|improve[sd]?)"
)
_LIST_ITEM = re.compile(r"^\s*[-*+•]\s+(?P<name>[A-Z][^:.,;()]{2,44}?)(?: \([^)]{1,30}\))?:\s+\S")
_SUBJECT = re.compile(
    r"^(?:[-*+•]\s+)?(?P<article>(?:The|A|An) )?(?P<name>[A-Za-z][\w’'-]*(?: [\w’'-]+){0,4}?)"
    rf"(?: ?\([^)]{{1,60}}\)){{0,2}},? (?P<verb>{_VERB})\b"
)
_DEFINITION = re.compile(_DEFINES)
_KOREAN_SUBJECT = re.compile(
    r"^[\"'“‘]?(?P<name>[^\s,.()「」\"'“”‘’]{2,}(?: [^\s,.()「」\"'“”‘’]+){0,2}?)[\"'”’]?(?:\([^)]{1,40}\))?(?:은|는) "
)
_KOREAN_REFERRING = re.compile(
    r"^(?:그|이|저|그녀|그들|그들의|이들|이들이|이것|이것이|그것|또한|하지만|그러나|그러자|그래서|따라서|결국|대개|때때로|이러한|이와|반면에|오늘날"
    r"|현재|당시|여기|우리|나|것|이후|한편|또|다른|대부분|일부|가장|모든|첫째|둘째|셋째|\d+년\S*)(?:\s|$)|(?:에|서|하|되|있|없|으로|부터|까지|라)$"
)
_CHINESE_SUBJECT = re.compile(
    r"^(?P<name>[^\s，。、；：？！的是了在於于與与和及他她它其這这此該该又也而但並并年月日\d]{2,12}?)(?:（[^）]{1,30}）)?"
    r"(?:一直|曾經|曾经|曾|就|也|都|通常|主要|則|则)?(?P<verb>是|為|为|位於|位于|指)"
)
_CHINESE_PERSON = re.compile(  # for a person the question would be "who"
    r"^[^，。]*[家人者員员師师將将王帝手星后妃][，。]"
)
_CHINESE_TITLE = re.compile(r"[《「](?P<name>[^》」]{2,16})[》」]")


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject of a text; `question` asks what it is and is empty if the text does not say."""

    name: str
    question: str = ""


def find_topics(text: str, around: str = "") -> Iterator[Topic]:
    """Yield the subjects of a text in order: sentence subjects and names of list items, found by rules.

    A topic without a question must be written as a proper name or be mentioned again, in the text or in `around`.
    """
    for sentence in split_sentences(text):
        for topic in _sentence_topics(sentence, text):
            if topic.question or _PROPER_NAME.search(topic.name) or (around or text).count(topic.name) >= _MIN_MENTIONS:
                yield topic


def _sentence_topics(sentence: str, text: str) -> Iterator[Topic]:
    match detect_language(sentence):
        case "ko":
            return _korean_topics(sentence)
        case "zh":
            return _chinese_topics(sentence, text)
        case _:
            return _english_topics(sentence)


def _english_topics(sentence: str) -> Iterator[Topic]:
    if found := _LIST_ITEM.match(sentence):
        name = found["name"].strip()
        has_question = len(name.split()) <= _MAX_ITEM_WORDS
        are = name.endswith("s") and not name.endswith(("ss", "is", "us"))
    elif found := _SUBJECT.match(sentence):
        name = found["name"].strip()
        has_question = not found["article"] and bool(_DEFINITION.match(sentence, found.start("verb")))
        are = found["verb"] == "are"
    else:
        return
    words = name.lower().split()
    if not _REFERRING_WORDS & {words[0], words[-1]} and len(name) <= _MAX_TOPIC_CHARS and extract_terms(name):
        yield Topic(name, f"What {'are' if are else 'is'} {name}?" if has_question else "")


def _korean_topics(sentence: str) -> Iterator[Topic]:
    found = _KOREAN_SUBJECT.match(sentence)
    if found and not _KOREAN_REFERRING.search(found["name"]):
        yield Topic(found["name"])


def _chinese_topics(sentence: str, text: str) -> Iterator[Topic]:
    if found := _CHINESE_SUBJECT.match(sentence):
        what = "什么" if detect_written_language(text) == "zh" else "什麼"
        defined = found["verb"] == "是" and not _CHINESE_PERSON.search(sentence)
        yield Topic(found["name"], f"{found['name']}是{what}？" if defined else "")
    yield from (Topic(found["name"]) for found in _CHINESE_TITLE.finditer(sentence))


_PASSAGES_BEFORE, _PASSAGES_AFTER = 3, 8  # passages around a cited one
_MAX_CHECKED = 8

SearchPassages = Callable[[str], Sequence[Passage]]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question, its subject (`about`), and the passages any of which answers it."""

    question: str
    about: str
    answered_by: frozenset[int]


def suggest_follow_ups(
    database: Database, search: SearchPassages, cited_ids: Sequence[int], answer: str, asked: Sequence[str], n: int
) -> list[str]:
    """Suggest at most `n` questions about what `answer`, which cites the passages `cited_ids`, leaves out.

    Each question finds its own passage by `search`, repeats none of those `asked`, and has a subject of its own.
    """
    found: list[str] = []
    covered_terms = set(extract_terms(" ".join([answer, *asked])))
    for one in list(_skip_covered(collect_follow_ups(database, cited_ids), covered_terms))[:_MAX_CHECKED]:
        if len(found) < n and not one.answered_by.isdisjoint(passage.id for passage in search(one.question)):
            found.append(one.question)
    return found


def collect_follow_ups(database: Database, cited_ids: Sequence[int]) -> list[FollowUp]:
    """Return all questions that the neighbours of these passages offer, nearest first, headings and topics in turn."""
    rows = sorted(_read_neighbours(database, cited_ids), key=lambda row: _distance_to_cited(row, cited_ids))
    return [
        one
        for one in chain.from_iterable(zip_longest(_heading_follow_ups(rows, cited_ids), _topic_follow_ups(rows)))
        if one
    ]


def _skip_covered(offered: Sequence[FollowUp], covered_terms: set[str]) -> Iterator[FollowUp]:
    """Yield the questions whose subject neither the answer nor an earlier question covers."""
    covered_terms = set(covered_terms)
    for one in offered:
        about = set(extract_terms(one.about))
        if about and not about <= covered_terms:
            covered_terms |= about
            yield one


def _read_neighbours(database: Database, cited_ids: Sequence[int]) -> Sequence[Row[Any]]:
    """Read the neighbours of the cited passages: ids of one source are consecutive, so nearby ids are nearby text."""
    ranges = [passages.c.id.between(one - _PASSAGES_BEFORE, one + _PASSAGES_AFTER) for one in cited_ids]
    own = select(passages.c.source_id).where(passages.c.id.in_(cited_ids))
    query: Select[Any] = select(passages).where(passages.c.source_id.in_(own), or_(false(), *ranges))
    with database.read() as connection:
        return connection.execute(query).all()


def _distance_to_cited(row: Row[Any], cited_ids: Sequence[int]) -> tuple[int, int]:
    """Return the distance to the nearest cited passage; following passages come before preceding ones."""
    return min((abs(row.id - one), int(row.id < one)) for one in cited_ids)


def _heading_follow_ups(rows: Sequence[Row[Any]], cited_ids: Sequence[int]) -> Iterator[FollowUp]:
    """Yield a question for each heading that covers no cited passage; any passage under it answers the question."""
    known = {row.heading for row in rows if row.id in cited_ids}
    for heading in dict.fromkeys(row.heading for row in rows if row.heading not in known):
        if bare := clean_heading(heading):
            under = [row for row in rows if row.heading == heading]
            question = heading_to_question(bare, detect_written_language(under[0].text))
            yield FollowUp(question, bare, frozenset(row.id for row in under))


def _topic_follow_ups(rows: Sequence[Row[Any]]) -> Iterator[FollowUp]:
    around = "\n".join(row.text for row in rows)
    for row in rows:
        for topic in find_topics(row.text, around):
            question = topic.question or heading_to_question(topic.name, detect_written_language(row.text))
            yield FollowUp(question, topic.name, frozenset({row.id}))
