"""Derives the questions that a passage answers, by the rules of its language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from crag.library.questions import chinese, english, korean
from crag.library.questions.surroundings import DerivedQuestion, Surroundings
from crag.text.language import detect_language, extract_terms, split_sentences
from crag.text.patterns import lazy_regex
from crag.types import HEADING_SEPARATOR, Language

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
