"""Citations of an answer: which exist, which sentence they belong to, what they quote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from crag.protocols import Quotation
from crag.text.citation_marks import CITATION, strip_bold, strip_brackets, strip_citations
from crag.text.coverage import find_context
from crag.text.language import (
    continues_item,
    extract_terms,
    is_list_item,
    is_table_row,
    split_sentences,
    strip_list_mark,
)
from crag.text.sections import path_to, title_units
from crag.text.tables import label_knowledge_rows, label_row, pair_knowledge_rows, table_cells
from crag.types import Citation, Knowledge, Passage, Support

_LEADING_CITATIONS = re.compile(rf"(?:{CITATION.pattern})+\s*")


def cited_numbers(text: str) -> list[int]:
    """Return the numbers cited in a text, without duplicates, in order of appearance."""
    found = (int(number) for group in CITATION.findall(text) for number in group.split(","))
    return list(dict.fromkeys(found))


def drop_invalid_citations(text: str, knowledge: Sequence[Knowledge]) -> str:
    """Remove citations of passages that do not exist; `[1, 2]` becomes `[1] [2]`.

    The numbers that a model wrote are not reassigned, so they may have gaps. Readers saw them while the answer
    streamed, and renumbering would change them at the end.
    """
    known = {item.n for item in knowledge}

    def keep_known(match: re.Match[str]) -> str:
        numbers = [int(number) for number in match.group(1).split(",")]
        kept = " ".join(f"[{number}]" for number in numbers if number in known)
        return f"{match.group(0)[: match.group(0).index('[')]}{kept}" if kept else ""

    return CITATION.sub(keep_known, text)


class CitationNumbering:
    """Numbers the citations of an answer in order of appearance while it is streamed."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def renumber(self, piece: str) -> str:
        """Return a piece of the answer, which contains citations `[n]` whole, with their final numbers."""
        return CITATION.sub(self._replace, piece)

    def reorder(self, knowledge: Sequence[Knowledge]) -> tuple[Knowledge, ...]:
        """Return the knowledge under the final numbers: what is cited first."""
        ordered = sorted(knowledge, key=lambda item: (self._numbers.get(item.n, len(knowledge) + 1), item.n))
        return tuple(replace(item, n=n) for n, item in enumerate(ordered, start=1))

    def _replace(self, match: re.Match[str]) -> str:
        def number(digits: re.Match[str]) -> str:
            return str(self._numbers.setdefault(int(digits[0]), len(self._numbers) + 1))

        return re.sub(r"\d+", number, match[0])


def answer_sentences(text: str) -> list[str]:
    """Split an answer into sentences, each with the citations after its full stop.

    Plain splitting would leave those at the start of the next sentence.
    """
    joined: list[str] = []
    for sentence in split_sentences(text):
        leading = _LEADING_CITATIONS.match(sentence)
        if joined and leading:
            joined[-1] += f" {leading.group().strip()}"
            sentence = sentence[leading.end() :]
        if is_table_row(sentence) and not sentence.strip(" |:-"):  # dashes: the row above was the table header
            del joined[-1:]
        elif sentence.strip(" .。"):
            joined.append(sentence)
    return joined


def collect_citations(
    text: str, knowledge: Sequence[Knowledge], support: Sequence[Support] = ()
) -> tuple[Citation, ...]:
    """Return the cited sources by number; the quote is the source sentence nearest to the citing one.

    For an answer that cites nothing, return the sources that `support` its sentences.
    """
    citing = _citing_sentences(text) or {n: one.sentence for one in support for n in one.citations}
    return tuple(_build_citation(item, citing[item.n]) for item in knowledge if item.n in citing)


def _citing_sentences(text: str) -> dict[int, str]:
    citing: dict[int, str] = {}
    for sentence in answer_sentences(text):
        for n in cited_numbers(sentence):
            citing[n] = f"{citing.get(n, '')} {sentence}"
    return citing


def _build_citation(item: Knowledge, citing: str) -> Citation:
    wanted = set(extract_terms(strip_bold(strip_citations(citing))))
    candidates = pair_knowledge_rows(item) or [(item.text, item.text)]
    quote, _ = max(candidates, key=lambda pair: _dice_coefficient(wanted, set(extract_terms(pair[1]))))
    return cite(item, quote)


def cite(item: Knowledge, quote: str) -> Citation:
    """Return the citation of a piece of knowledge for a sentence or row of its passage."""
    passage = item.passage
    return Citation(
        n=item.n,
        passage_id=passage.id,
        source_id=passage.source_id,
        title=passage.title,
        location=passage.location,
        page=passage.page_of(quote),
        sheet=passage.sheet,
        quote=quote,
        origin=passage.origin,
        row=label_row(quote, passage),
    )


def collect_quotations(text: str, used: Sequence[Knowledge]) -> list[Quotation]:
    """Return what an answer that quotes takes from its sources: each run of neighbouring sentences with its context."""
    quoted = {frozenset(extract_terms(quotation)): quotation for quotation in map(_plain_words, answer_sentences(text))}
    found = []
    for item in used:
        titles = {text: title for title, text in title_units(item.passage)}
        sentences = label_knowledge_rows(item)
        start, run, units = 0, list[str](), list[str]()
        for at, sentence in enumerate([*sentences, ""]):
            quotation = quoted.get(frozenset(extract_terms(_plain_words(strip_list_mark(sentence)))))
            if quotation or _is_row_quoted(sentence, quoted.values()):
                start = start if run else at
                run.append(quotation if quotation and not is_table_row(sentence) else sentence)
                units.append(sentence)
                continue
            if run:
                items = sum(is_list_item(each) for each in units)
                is_cut = _goes_on(units[-1], item.passage)
                path = path_to(titles.get(units[0], ""), item.passage)  # without names of columns
                around = " ".join([item.passage.names, *path])
                found.append(Quotation("\n".join(run), find_context(sentences, start, around), items, is_cut))
            run, units = [], []
    return found


def _is_row_quoted(row: str, quoted: Iterable[str]) -> bool:
    """Return whether a sentence quotes the label and other cells of a row: “Site: Odby — Staff: 58”."""
    if not is_table_row(row):
        return False
    label, *cells = (_plain_words(cell) for cell in table_cells(row))
    parts = (said.split(" — ") for said in quoted)
    return any(len(own) > 1 and own[0].strip() == label and {*map(str.strip, own[1:])} <= {*cells} for own in parts)


def _plain_words(sentence: str) -> str:
    return strip_bold(strip_brackets(sentence))


def _goes_on(last: str, passage: Passage) -> bool:
    """Return whether the list of a quoted item continues, or may continue beyond an excerpt of a web page.

    The context of a passage of the library ends with its section, or else holds the next passage.
    """
    if not is_list_item(last):
        return False
    around = split_sentences(passage.context or passage.text)
    after = max((at for at, sentence in enumerate(around) if sentence == last), default=len(around)) + 1
    if after >= len(around):
        return after > len(around) or passage.origin == "web"
    return not is_table_row(last) and (is_list_item(around[after]) or continues_item(around, after))


def _dice_coefficient(first: set[str], second: set[str]) -> float:
    """Return the Dice coefficient of two sets of terms."""
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0
