"""The built-in engine's answer: which sentences and lists are quoted, and in which order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from crag.text.citation_marks import escape_brackets
from crag.text.coverage import Gaps
from crag.text.definitions import defines, find_term
from crag.text.language import (
    continues_item,
    extract_terms,
    extract_words,
    is_heading,
    is_heading_above,
    is_list_item,
    is_table_row,
    read_mark_style,
    restricts_previous,
    strip_list_mark,
)
from crag.text.opening_hours import names_day_itself
from crag.text.patterns import lazy_regex
from crag.text.questions import FRAME_TERMS, SINGLE_VALUE_TYPES, AnalyzedQuestion, announces_more, states_directly
from crag.text.tables import names_cell, trim_row
from crag.text.topics import find_labelled_values, is_line_asked_for
from crag.text.word_forms import find_synonyms

MAX_SENTENCES = 4
MAX_ITEMS = 12
_SIMILAR_SCORE_SHARE = 0.85
"""Share of the best score from which another sentence supports an answer about as well."""
_COMPLETING_SCORE_SHARE = 0.5
_LEAD_SCORE_SHARE = 0.7
_COMPLETE_SCORE_SHARE = 0.5
"""Share of the best score from which a sentence that lacks nothing is preferred to better ones that do."""
_PRONOUN = lazy_regex(r"\W*(?:it|its|he|his|she|her|they|their|this|these|those)\b", re.IGNORECASE)
_FREE_CORNER = lazy_regex(r"\|\s*\|")
_MAX_LEAD_IN_UNITS = 3
_MAX_FOLLOWING_SENTENCES = 3
_MAX_BOLD_VALUE = 40  # characters


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """One sentence, heading, list item or table row of a piece of knowledge, with its score."""

    n: int
    place: int
    text: str
    score: float


GapFinder = Callable[[Sequence[ScoredUnit]], Gaps]
"""Returns the gaps that the units leave in an answer."""


def compose_answer(question: AnalyzedQuestion, texts: Sequence[Sequence[ScoredUnit]], find_gaps: GapFinder) -> str:
    """Compose the Markdown answer with `[n]` after every quotation; empty when there is nothing to quote."""
    every = [unit for text in texts for unit in text]
    heads = {unit for text in texts for unit in _table_heads(text)}
    prose = [
        unit for text in texts for unit in text if not (unit in heads or _is_heading(unit, text) or _asks(unit))
    ] or every
    if not prose:
        return ""
    for text in texts:
        labelled = [text[at] for at in find_labelled_values(question, [unit.text for unit in text])]
        if labelled and not find_gaps(labelled):
            return _write_units(labelled)
    ranked = sorted(prose, key=lambda unit: -unit.score)
    ranked = _find_named_lines(question, ranked, find_gaps) or _find_definitions(question, ranked, texts) or ranked

    def introduce(units: Sequence[ScoredUnit]) -> list[ScoredUnit]:
        return list(dict.fromkeys(each for unit in units for each in _with_announcement(unit, texts)))

    def find_left(units: Sequence[ScoredUnit]) -> Gaps:
        return find_gaps(introduce(units) if question.is_cjk else units)

    lead = _find_lead(question, ranked, find_left)
    if question.answer_type == "list" and (block := _find_asked_list(texts, lead, find_gaps)):
        return _write_list(block)
    if block := _find_list_of_heading(question, texts, lead):
        return _write_list(block)
    chosen = _choose_units(question, ranked, lead, find_left)
    if find_left(chosen).is_smaller_than(find_gaps(chosen)):
        return _write_units(introduce(chosen))
    return _write_units(_with_neighbours(chosen, {unit.n: text for text in texts for unit in text[:1]}))


def trim_rows(answer: str, question: str, rows: Sequence[tuple[int, str]]) -> str:
    """Return an answer whose rows have only the columns that the question asks for, a single value in bold.

    `rows` are those of the sources, with their numbers.
    """
    for n, row in rows:
        if cells := trim_row(row, question):
            label, *values = map(escape_brackets, cells)
            new = [at for at, value in enumerate(values) if not _is_named(value, question)]
            name, separator, value = values[new[0]].rpartition(": ") if len(new) == 1 else ("", "", "")
            if 0 < len(value) <= _MAX_BOLD_VALUE:
                values[new[0]] = f"{name}{separator}**{value}**"
            quoted = f"{escape_brackets(_strip_item_marks(row)).strip()} [{n}]"
            answer = answer.replace(quoted, f"{' — '.join([label, *values])} [{n}]")
    return answer


def _is_named(cell: str, question: str) -> bool:
    return set(extract_terms(cell.rpartition(": ")[2])) <= set(extract_terms(question))


def _find_definitions(
    question: AnalyzedQuestion, ranked: Sequence[ScoredUnit], texts: Sequence[Sequence[ScoredUnit]]
) -> list[ScoredUnit]:
    """Return the units that define the term that a question asks about, or else those right below it as a heading."""
    if not (term := find_term(question.text)):
        return []
    near = [unit for unit in ranked if unit.score >= _COMPLETING_SCORE_SHARE * ranked[0].score]
    wanted = extract_terms(term)
    same = [wanted, *map(extract_terms, find_synonyms(term))]
    headings = {
        (unit.n, unit.place) for text in texts for unit in text if extract_terms(strip_list_mark(unit.text)) in same
    }
    return [unit for unit in near if defines(term, unit.text)] or [
        unit for unit in ranked if (unit.n, unit.place - 1) in headings
    ]


def _find_named_lines(
    question: AnalyzedQuestion, ranked: Sequence[ScoredUnit], find_gaps: GapFinder
) -> list[ScoredUnit]:
    """Return the Korean line whose label is the noun asked for: "준비물: 도시락"; nothing if several have it."""
    lines = [unit for unit in ranked if is_line_asked_for(question, unit.text) and not find_gaps([unit])]
    return lines if len(lines) == 1 else []


def _asks(unit: ScoredUnit) -> bool:
    return unit.text.rstrip().endswith(("?", "？"))


def _is_heading(unit: ScoredUnit, text: Sequence[ScoredUnit]) -> bool:
    below = next((other.text for other in text if other.place == unit.place + 1), "")
    return is_heading_above(unit.text, below)


def _find_lead(question: AnalyzedQuestion, ranked: Sequence[ScoredUnit], find_gaps: GapFinder) -> ScoredUnit:
    """Return the best unit with a value of the kind asked for, or else the one to explain it, if about as good as any.

    An explanation lacks nothing; of two, the one that begins with a name of the question is about it. Of two values,
    the one beside the very words of the question is: "founded in 1975", not "a founding member since 2011".
    """
    near = [unit for unit in ranked if unit.score >= _LEAD_SCORE_SHARE * ranked[0].score][:MAX_SENTENCES]
    if all(find_gaps([unit]) for unit in near):
        others = (unit for unit in ranked if unit.score >= _COMPLETE_SCORE_SHARE * ranked[0].score)
        complete = next((unit for unit in others if not find_gaps([unit])), None)
        near = [complete] if complete else near

    def lacks(unit: ScoredUnit) -> tuple[bool, ...]:
        gaps = find_gaps([unit])
        is_indirect = not states_directly(question, unit.text)
        if question.answer_type in SINGLE_VALUE_TYPES:
            is_general = not names_day_itself(question.text, unit.text)
            return gaps.value, bool(gaps), is_general, is_indirect, not _repeats_words(question, unit)
        is_aside = question.names.isdisjoint(extract_terms(unit.text)[:1])
        is_other_cell = not names_cell(question.text, unit.text)
        return gaps.count > gaps.value, gaps.value, is_other_cell, is_indirect, is_aside

    return min(near, key=lacks)


def _choose_units(
    question: AnalyzedQuestion, ranked: Sequence[ScoredUnit], lead: ScoredUnit, find_gaps: GapFinder
) -> list[ScoredUnit]:
    """Choose the units that complete the lead, then those that support the answer as well; stop where support drops."""
    chosen, gaps = [lead], find_gaps([lead])
    after = [unit for unit in ranked if (unit.n, unit.place) == (lead.n, lead.place + 1) and not question.is_cjk]
    if gaps.value and after and not find_gaps(after):  # "The ferry was sold in 2011. It had become too small."
        return [lead, *after]
    for unit in ranked:
        if not gaps.count or len(chosen) == MAX_SENTENCES or unit.score < _COMPLETING_SCORE_SHARE * lead.score:
            break
        if unit is lead:
            continue
        if (left := find_gaps([*chosen, unit])).is_smaller_than(gaps):
            chosen.append(unit)
            gaps = left
    chosen = _drop_needless(chosen, find_gaps)
    covered = set(extract_terms(" ".join(unit.text for unit in chosen)))
    is_exact = not gaps and _repeats_words(question, lead)
    is_direct = not gaps and states_directly(question, lead.text)
    names_day = names_day_itself(question.text, lead.text)
    for unit in ranked:
        if len(chosen) == MAX_SENTENCES or unit.score < _SIMILAR_SCORE_SHARE * lead.score:
            break
        terms = set(extract_terms(unit.text))
        is_weaker = (
            (is_direct and not states_directly(question, unit.text))
            or (names_day and not names_day_itself(question.text, unit.text))
            or (not gaps and bool(find_gaps([unit]).names))
            or (
                question.answer_type in SINGLE_VALUE_TYPES
                and bool(find_gaps([unit]) or (is_exact and not _repeats_words(question, unit)))
            )
        )
        if unit not in chosen and not (is_weaker or terms <= covered or terms.isdisjoint(question.weights)):
            chosen.append(unit)
            covered |= terms
    return chosen


def _drop_needless(chosen: Sequence[ScoredUnit], find_gaps: GapFinder) -> list[ScoredUnit]:
    """Return the units without those that fill no gap which the others leave; the one before another stays.

    What follows may refer to it: "These men …".
    """
    needed, gaps = list(chosen), find_gaps(chosen)
    for unit in chosen:
        others = [other for other in needed if other is not unit]
        is_before = any((other.n, other.place) == (unit.n, unit.place + 1) for other in others)
        if others and not is_before and not gaps.is_smaller_than(find_gaps(others)):
            needed = others
    return needed


def _repeats_words(question: AnalyzedQuestion, unit: ScoredUnit) -> bool:
    """Return whether a unit holds the key words of the question in the same form."""
    words = {word.casefold() for word, _ in extract_words(unit.text)}
    return all(word.casefold() in words for word, _ in question.words)


def _with_neighbours(chosen: Sequence[ScoredUnit], texts: dict[int, Sequence[ScoredUnit]]) -> list[ScoredUnit]:
    """Return the chosen units, each one with what it refers to or announces and with the exceptions that follow it."""
    found: list[ScoredUnit] = []
    for unit in chosen:
        after = texts[unit.n][unit.place + 1 :]
        announced = _announced_units(unit, after)
        together = (*_antecedent(unit, texts[unit.n]), unit, *announced, *_restrictions(after[len(announced) :]))
        found += [each for each in together if each not in found]
    return found


def _antecedent(unit: ScoredUnit, text: Sequence[ScoredUnit]) -> tuple[ScoredUnit, ...]:
    """Return the sentence before one that begins with "It" or "These", which is hard to understand alone.

    A score of 0 says that it has nothing to do with the question, or was quoted before.
    """
    if not _PRONOUN.match(unit.text):
        return ()
    before = (other for other in text if other.place == unit.place - 1 and other.score)
    return tuple(other for other in before if not (is_list_item(other.text) or _is_heading(other, text)))


def _announced_units(unit: ScoredUnit, after: Sequence[ScoredUnit]) -> Sequence[ScoredUnit]:
    if not announces_more(unit.text):
        return ()
    listed = bool(after) and is_list_item(after[0].text)
    most = MAX_ITEMS if listed else _MAX_FOLLOWING_SENTENCES
    mark = read_mark_style(unit.text)
    ends = (
        is_heading(each.text) or is_list_item(each.text) != listed or (mark and read_mark_style(each.text) == mark)
        for each in after
    )
    end = next((at for at, is_end in enumerate(ends) if is_end), most)
    return after[: min(end, most)]


def _with_announcement(item: ScoredUnit, texts: Sequence[Sequence[ScoredUnit]]) -> list[ScoredUnit]:
    """Return an item after the sentence that announces its list, without which it says little; else it alone."""
    if not is_list_item(item.text) or is_table_row(item.text):
        return [item]
    before = reversed([unit for text in texts for unit in text if unit.n == item.n and unit.place < item.place])
    mark = read_mark_style(item.text)
    above = next((unit for unit in before if read_mark_style(unit.text) != mark), None)
    return [above, item] if above and announces_more(above.text) else [item]


def _restrictions(after: Sequence[ScoredUnit]) -> tuple[ScoredUnit, ...]:
    """Return the sentences that limit what is said before them: without these an answer may be false."""
    return tuple(takewhile(lambda unit: restricts_previous(unit.text), after))


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list or table with the sentences that introduce it."""

    lead: tuple[ScoredUnit, ...]
    items: tuple[ScoredUnit, ...]

    @property
    def units(self) -> tuple[ScoredUnit, ...]:
        """The introduction and the items."""
        return self.lead + self.items

    @property
    def score(self) -> float:
        """The best score of a unit."""
        return max(unit.score for unit in self.units)


def _find_asked_list(texts: Sequence[Sequence[ScoredUnit]], lead: ScoredUnit, find_gaps: GapFinder) -> ListBlock | None:
    """Return the list that the question asks for: one that covers it as well as the best sentence does."""
    gaps = find_gaps([lead])
    blocks = sorted((block for text in texts for block in _find_lists(text)), key=lambda block: -block.score)
    return next(
        (
            block
            for block in blocks
            if block.score >= _LEAD_SCORE_SHARE * lead.score and not gaps.is_smaller_than(find_gaps(block.units))
        ),
        None,
    )


def _find_list_of_heading(
    question: AnalyzedQuestion, texts: Sequence[Sequence[ScoredUnit]], lead: ScoredUnit
) -> ListBlock | None:
    """Return the list that holds the lead if only its heading names what is asked about: "What is in the box?"."""
    if question.answer_type in SINGLE_VALUE_TYPES or not is_list_item(lead.text) or is_table_row(lead.text):
        return None
    asked = {term for _, parts in question.words for term in parts} - FRAME_TERMS
    block = next((block for text in texts for block in _find_lists(text) if lead in block.items), None)
    if block is None or not asked or not asked.isdisjoint(extract_terms(lead.text)):
        return None
    return block if asked <= set(extract_terms(" ".join(unit.text for unit in block.lead))) else None


def _find_lists(text: Sequence[ScoredUnit]) -> list[ListBlock]:
    """Return every run of two or more items, with its introduction up to the heading above."""
    blocks: list[ListBlock] = []
    sentences = [unit.text for unit in text]
    start = 0
    while start < len(text):
        end = start
        while end < len(text) and (is_list_item(sentences[end]) or (end > start and continues_item(sentences, end))):
            end += 1
        if end - start >= 2:
            items = _drop_table_header(text[start:end])[:MAX_ITEMS]
            blocks.append(ListBlock(_lead_in(text[:start]), (*items, *_restrictions(text[end:]))))
        start = max(end, start + 1)
    return blocks


def _table_heads(text: Sequence[ScoredUnit]) -> Iterator[ScoredUnit]:
    """Yield the rows that only name the columns below them."""
    for is_row, run in groupby(text, key=lambda unit: is_table_row(unit.text)):
        rows = list(run)
        if is_row and len(_drop_table_header(rows)) < len(rows):
            yield rows[0]


def _drop_table_header(items: Sequence[ScoredUnit]) -> tuple[ScoredUnit, ...]:
    """Return the items without a table header: a first row under half as long as any other, or with a free corner."""
    first, *rest = items
    is_short = len(rest) > 1 and 2 * len(first.text) < min(len(unit.text) for unit in rest)
    is_header = is_table_row(first.text) and (is_short or (bool(rest) and _FREE_CORNER.match(first.text)))
    return tuple(rest if is_header else items)


def _lead_in(before: Sequence[ScoredUnit]) -> tuple[ScoredUnit, ...]:
    lead: list[ScoredUnit] = []
    for unit in reversed(before[-_MAX_LEAD_IN_UNITS:]):
        if is_list_item(unit.text):
            break
        lead.insert(0, unit)
        if is_heading(unit.text):
            break
    return tuple(lead)


def _write_list(block: ListBlock) -> str:
    lead = [unit for unit in block.lead if not is_heading(unit.text)][-1:]
    items = "".join(f"\n- {_quote(unit)}" if is_list_item(unit.text) else f" {_quote(unit)}" for unit in block.items)
    return "\n".join([*(_quote(unit) for unit in lead), *[""] * bool(lead), items.lstrip()])


def _write_units(chosen: Sequence[ScoredUnit]) -> str:
    """Join the chosen units, best source first, each source in text order; neighbouring list items make a list."""
    order = list(dict.fromkeys(unit.n for unit in chosen))
    reading = sorted(chosen, key=lambda unit: (order.index(unit.n), unit.place))
    blocks: list[list[ScoredUnit]] = []
    for unit in reading:
        last = blocks[-1] if blocks else []
        if last and _is_item_of_list(unit, reading) == _is_item_of_list(last[-1], reading):
            last.append(unit)
        else:
            blocks.append([unit])
    return "\n\n".join(
        "\n".join(f"- {_quote(unit)}" for unit in block)
        if _is_item_of_list(block[0], reading)
        else " ".join(_quote(unit) for unit in block)
        for block in blocks
    )


def _is_item_of_list(unit: ScoredUnit, reading: Sequence[ScoredUnit]) -> bool:
    """Return whether a unit is a row of a table, or a list item whose neighbour in the text is also in the answer."""
    if len(reading) > 1 and is_table_row(unit.text):
        return True
    beside = {(unit.n, unit.place - 1), (unit.n, unit.place + 1)}
    return is_list_item(unit.text) and any(
        (other.n, other.place) in beside and is_list_item(other.text) for other in reading
    )


def _quote(unit: ScoredUnit) -> str:
    """Return the text with its source number, and without the mark of a list item."""
    text = _strip_item_marks(unit.text) if is_list_item(unit.text) else unit.text
    return f"{escape_brackets(text).strip()} [{unit.n}]"


def _strip_item_marks(item: str) -> str:
    """Return an item without its mark, or a row without its bars."""
    if is_table_row(item):
        return " — ".join(cell.strip() for cell in item.strip().strip("|").split("|") if cell.strip())
    return strip_list_mark(item)
