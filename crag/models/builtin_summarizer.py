"""Summary without a language model: the most central sentence of each section, quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from crag.cancellation import Cancellation
from crag.protocols import Embedder, PromptFit, ReadingProgress, ReplyPiece, SummarySources
from crag.text.citation_marks import escape_brackets
from crag.text.language import (
    breaks_off,
    detect_written_language,
    has_axis,
    is_cjk,
    is_table_row,
    strip_list_mark,
)
from crag.text.patterns import lazy_regex
from crag.text.routes import SummaryRequest, parse_summary_request
from crag.text.sanitization import to_one_line
from crag.text.sections import Unit, is_numbered, names_section, path_to, read_units
from crag.types import Passage, Usage, Vectors, WrittenLanguage

_MAX_SECTIONS = 12  # of one document in an outline; of several documents, fewer each
_MAX_CHAPTERS = 40  # of a single document whose highest headings are more than `_MAX_SECTIONS`
_PARTS_WITHOUT_HEADINGS = 5
_SHORTEST, _LONGEST = 40, 400  # characters of a sentence that can stand for a section
_SHORTEST_CJK = 15
_LEAD_BONUS = 0.08  # for the first sentence of a section, which often says what follows
_REPETITION_COST = 0.6
_FEW_SECTIONS, _SENTENCES_OF_FEW = 2, 4
_MAX_ASIDES = 0.5  # share of the sentences of a document
_COLUMNS: dict[WrittenLanguage, str] = {
    "en": "| Section | Main sentence |",
    "ko": "| 항목 | 핵심 문장 |",
    "zh": "| 章节 | 核心句 |",
    "zh-Hant": "| 章節 | 核心句 |",
}
_APPENDIX = lazy_regex(
    r"(?:references|notes|bibliography|external links|see also|further reading|sources|footnotes|acknowledge?ments?"
    r"|참고 ?문헌|각주|외부 ?링크|같이 ?보기|[参參]考文[献獻]|外部[链連][接結]|[参參][见見]|[注註][释釋])\W*",
    re.IGNORECASE,
)
_REFERENCE_ENTRY = lazy_regex(  # "[12] A. Gal …", "Worm, B, Barbier, E.B (2006), ‘…’"
    r"\[\d{1,3}\] [A-Z]|[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)?,? (?:[A-Z]\.?[ -]?){1,3}(?:,| and | & |\().*\b(?:19|20)\d\d\b"
)
_CAPTION = lazy_regex(r"(?:chart|fig(?:ure)?\.?|table|sources?|그림|표|[图圖]|表) ?\d*[:：]", re.IGNORECASE)
_REFERENCE_COST = 0.3  # of a sentence that begins by referring to another one
_REFERENCE = lazy_regex(
    r"(?:it|its|they|their|he|she|his|her|this|these|that|those|such|then|thus|therefore|however|moreover|also|but|and"
    r"|for example|for instance|in (?:addition|particular|contrast|this)|as (?:a result|such)|at this|on the other"
    r"|instead|otherwise|figure|table|here)\b|그|이것|이는|또한|그러나|따라서|하지만|[它他她其][们們]?|[这這那此]|因此|但是|然而|而且",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence that can stand for its section, with its score there."""

    passage: Passage
    text: str
    score: float


class _Line(NamedTuple):
    """A sentence, list item or row with its passage, the headings above that, and the nearest heading above itself."""

    path: list[str]
    title: str
    text: str
    passage: Passage


@dataclass(slots=True)
class _Section:
    """A part of a document under one title: passages, and the sentences of them that can stand for it.

    `central` are some of those sentences, the most central first, with their unit vectors.
    """

    title: str
    sentences: dict[str, Passage] = field(default_factory=dict)
    central: list[_Sentence] = field(default_factory=list)
    vectors: Vectors | None = None


class BuiltinSummarizer:
    """`Summarizer` that quotes the sentences nearest to the mean of all sentences of their section."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def summarize(
        self, question: str, passages: Sequence[Passage], stop: Cancellation
    ) -> Iterator[ReadingProgress | SummarySources | PromptFit | ReplyPiece]:
        """See `Summarizer`."""
        request = parse_summary_request(question) or SummaryRequest()
        documents = [list(group) for _, group in groupby(passages, key=lambda passage: passage.source_id)]
        limit = max(1, _MAX_SECTIONS // len(documents))
        places = {passage.id: at for at, passage in enumerate(passages, start=1)}
        sections = []
        for document in documents:
            lines = _read_lines(document, request.page, stop)
            sections.append(_find_chapters(lines, request) or _divide_into_sections(lines, limit))
            for section in sections[-1]:
                stop.check()
                self._rank_sentences(section)
                yield ReadingProgress(max(places[passage.id] for passage in section.sentences.values()))
        yield ReadingProgress(len(passages))
        lengths = _share_out(request.sentences, documents) if request.form == "sentences" else [0] * len(documents)
        chosen = [_choose(parts, length) for parts, length in zip(sections, lengths, strict=True) if length is not None]
        sources = tuple({one.passage.id: one.passage for lines in chosen for _, one in lines}.values())
        yield SummarySources(sources)
        yield PromptFit(0, 0, 0)
        numbers = {passage.id: n for n, passage in enumerate(sources, start=1)}
        columns = _COLUMNS[detect_written_language(question)]
        yield ReplyPiece(_write(chosen, request, numbers, columns), Usage(finish_reason="stop"))

    def _rank_sentences(self, section: _Section) -> None:
        """Rank the sentences of a section by their similarity to its mean."""
        import numpy as np

        if not section.sentences:
            return
        vectors = self._embedder.embed_documents(list(section.sentences))
        mean = vectors.mean(axis=0)
        scores = (vectors @ mean) / (float(np.linalg.norm(mean)) or 1.0)
        scores[0] += _LEAD_BONUS
        scores -= [_REFERENCE_COST * bool(_REFERENCE.match(text)) for text in section.sentences]
        order = np.argsort(-scores.round(4), kind="stable")[:_MAX_SECTIONS]
        sentences = list(section.sentences.items())
        section.central = [_Sentence(sentences[at][1], sentences[at][0], float(scores[at])) for at in order]
        section.vectors = vectors[order]


def _can_stand_alone(text: str) -> bool:
    """Return whether a unit is a sentence of prose rather than a table row, a label, an axis or a reference."""
    shortest = _SHORTEST_CJK if is_cjk(text) else _SHORTEST
    is_prose = not (is_table_row(text) or has_axis(text) or _REFERENCE_ENTRY.match(text))
    return shortest <= len(text) <= _LONGEST and is_prose


def _is_aside(unit: Unit) -> bool:
    """Return whether a unit is a note, a caption, or part of a sentence that a note or the end of a page broke off."""
    text = unit.text
    return unit.is_note or text[:1].islower() or breaks_off(text) or bool(_CAPTION.match(text))


def _read_lines(document: Sequence[Passage], page: int, stop: Cancellation) -> list[_Line]:
    """Return the units of a document below their headings; only those that begin on a page, unless it is 0.

    In a document with pages, whose headings are often not marked, a passage without one continues the section of the
    passage before. Asides are left out there, unless so many look like one that they are its text.
    """
    lines, asides, heading = list[_Line](), set[int](), ""
    for passage in document:
        stop.check()
        for unit in read_units(passage, heading):
            if unit.is_title:
                heading = unit.title if passage.page and not unit.text.endswith((":", "：")) else heading
            elif not page or passage.page_of(unit.text) == page:
                if passage.page and _is_aside(unit):
                    asides.add(len(lines))
                lines.append(_Line(path_to(unit.title, passage), unit.title, unit.text, passage))
    return (
        lines if len(asides) > _MAX_ASIDES * len(lines) else [line for at, line in enumerate(lines) if at not in asides]
    )


def _find_chapters(document: Sequence[_Line], request: SummaryRequest) -> list[_Section]:
    """Return the sections whose headings hold the words of the request; none if the title of the document does."""
    if request.chapter:
        return _find_numbered(document, request.chapter)
    if request.section:
        return _find_named(document, request.section)
    if not document or not request.scope or names_section(document[0].passage.title, request.scope):
        return []
    return _find_named(document, request.scope)


def _find_named(document: Sequence[_Line], name: str) -> list[_Section]:
    return [section for section in _divide_at_headings(document) if names_section(section.title, name)]


def _find_numbered(document: Sequence[_Line], number: str) -> list[_Section]:
    """Return the sections under headings with this number, or else the clauses that begin with it."""
    named = [one for one in _divide_at_headings(document) if is_numbered(one.title, number)]
    return named or _collect_sections(("", line) for line in document if is_numbered(line.text, number))


def _divide_at_headings(document: Sequence[_Line]) -> list[_Section]:
    return _collect_sections((line.title, line) for line in document)


def _divide_at_depth(document: Sequence[_Line], depth: int) -> list[_Section]:
    """Divide a document at the headings of so many levels."""
    return _collect_sections(((line.path[:depth] or [""])[-1], line) for line in document)


def _divide_into_sections(document: Sequence[_Line], limit: int) -> list[_Section]:
    """Divide a document at all its headings, or at those so high that at most `limit` sections result.

    A single document may have more if even its highest headings do, or if hardly any would result. Without headings it
    is divided into equal parts.
    """
    deepest = max((len(line.path) for line in document), default=0)
    by_depth = (_divide_at_depth(document, depth) for depth in range(deepest, 0, -1))
    divisions = [_divide_at_headings(document), *by_depth]
    most = _MAX_CHAPTERS if limit == _MAX_SECTIONS else limit
    fitting = [sections for sections in divisions if 1 < len(sections) <= limit]
    many = [sections for sections in divisions if 1 < len(sections) <= most]
    usable = [*fitting, *sorted(many, key=len)]
    if found := [sections for sections in usable if len(sections) > _FEW_SECTIONS] or usable:
        return found[0]
    size = max(1, -(-len(document) // min(limit, _PARTS_WITHOUT_HEADINGS)))
    parts = [document[at : at + size] for at in range(0, len(document), size)]
    return [section for part in parts for section in _collect_sections(("", line) for line in part)]


def _collect_sections(titled: Iterable[tuple[str, _Line]]) -> list[_Section]:
    """Collect consecutive sentences with the same title; those of lists of references are left out."""
    sections: list[_Section] = []
    for title, line in titled:
        if not _can_stand_alone(line.text) or _APPENDIX.fullmatch(title):
            continue
        if not sections or sections[-1].title != title:
            sections.append(_Section(title))
        sections[-1].sentences.setdefault(strip_list_mark(" ".join(line.text.split())), line.passage)
    return sections


def _share_out(sentences: int, documents: Sequence[Sequence[Passage]]) -> list[int | None]:
    """Return how many of the sentences each document gets, longer ones first; None for those that get none."""
    by_length = sorted(range(len(documents)), key=lambda at: -len(documents[at]))
    share, rest = divmod(sentences, len(documents))
    return [share + (by_length.index(at) < rest) or None for at in range(len(documents))]


def _choose(sections: Sequence[_Section], length: int) -> list[tuple[_Section, _Sentence]]:
    """Choose the sentences of one document, in its order: `length` of them, or one of each section if it is 0.

    A sentence much like one that was chosen before gives way to another.
    """
    chosen: list[tuple[_Section, _Sentence]] = []
    vectors: list[Vectors] = []
    if not length and len(sections) <= _FEW_SECTIONS:
        length = _SENTENCES_OF_FEW
    by_size = sorted(sections, key=lambda section: -len(section.sentences))
    rounds = -(-length // max(1, len(sections))) if length else 1
    for section in (by_size * rounds)[: length or None]:
        taken = {one.text for _, one in chosen}
        ranked = [
            (one.score - _REPETITION_COST * max((float(vector @ other) for other in vectors), default=0.0), -at)
            for at, (one, vector) in enumerate(zip(section.central, section.vectors, strict=True))  # type: ignore[arg-type]
            if one.text not in taken
        ]
        if ranked:
            at = -max(ranked)[1]
            chosen.append((section, section.central[at]))
            vectors.append(section.vectors[at])  # type: ignore[index]
    places = {id(section): list(section.sentences) for section in sections}
    return sorted(chosen, key=lambda pair: (sections.index(pair[0]), places[id(pair[0])].index(pair[1].text)))


def _write(
    documents: Sequence[Sequence[tuple[_Section, _Sentence]]],
    request: SummaryRequest,
    numbers: dict[int, int],
    columns: str,
) -> str:
    """Write the chosen sentences with their citations, below the title of each document if there are several."""
    blocks = []
    for lines in filter(None, documents):
        if len(documents) > 1:
            blocks.append(f"**{_plain(lines[0][1].passage.title)}**")
        quotes = [
            (_plain(section.title), f"{escape_brackets(one.text)} [{numbers[one.passage.id]}]")
            for section, one in lines
        ]
        titles = {title for title, _ in quotes}
        if len(titles) == 1 and len(quotes) > 1 and "" not in titles:
            blocks.append(f"**{titles.pop()}**")
            blocks.append("\n".join(f"- {quote}" for _, quote in quotes))
        elif request.form == "sentences":
            blocks.append("\n".join(f"- {quote}" for _, quote in quotes))
        elif request.form == "table" and any(title for title, _ in quotes):
            rows = [f"| {title.replace('|', '/')} | {quote.replace('|', '/')} |" for title, quote in quotes]
            blocks.append("\n".join([columns, "|---|---|", *rows]))
        else:
            blocks.append("\n".join(f"- **{title}**: {quote}" if title else f"- {quote}" for title, quote in quotes))
    return "\n\n".join(blocks)


def _plain(title: str) -> str:
    return to_one_line(title).replace("*", "")
