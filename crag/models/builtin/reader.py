"""The writer that needs no language model: quotes the sentences that answer the question, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crag.features import read_text, read_units
from crag.language import is_heading, is_item, is_row, sentences, terms
from crag.protocols import Embedder, Piece, PromptFit, TermStatistics, Writer
from crag.questions import Question, read_question, what_is_asked
from crag.scoring import score_passages, score_sentences
from crag.stopping import Stop
from crag.types import Knowledge, Turn, Usage

MOST_SENTENCES = 4
MOST_ITEMS = 12
NEARLY_AS_GOOD = 0.6
ADDS_SOMETHING = 0.5
_LEAD_IN = 3
_MARK = re.compile(r"^\s*(?:[-*+•·‣▪–]|\(?\d{1,2}[.)]|[①-⑳])\s+")
# What a document calls [3] is another source than the third one of the answer.
_REFERENCE = re.compile(r"\s?\[\d{1,3}(?:\s*,\s*\d{1,3})*\]")


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence, heading, list item or table row of one piece of knowledge, and how well it answers."""

    n: int
    place: int
    text: str
    score: float


class BuiltinWriter(Writer):
    """Answers by quoting. Lists and tables that the question asks for are quoted whole."""

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    def write(
        self,
        question: str,
        knowledge: Sequence[Knowledge],
        history: Sequence[Turn],  # noqa: ARG002 — it has done its part when the question was condensed
        stop: Stop,
        *,
        begun: str = "",  # noqa: ARG002 — the whole answer takes no longer than the rest of it
    ) -> Iterator[PromptFit | Piece]:
        """The answer word by word. Raises `Stopped`."""
        yield PromptFit(tokens=0, window=0, left_out=0)
        asked = read_question(what_is_asked(question), self._statistics)
        texts = [self._score(asked, held) for held in knowledge]
        stop.check()
        for piece in re.findall(r"\s*\S+|\s+$", answer(asked, texts)):
            stop.check()
            yield Piece(piece)
        yield Piece("", Usage(finish_reason="stop"))

    def _score(self, question: Question, held: Knowledge) -> list[Unit]:
        """Each sentence's own score times that of the whole passage."""
        around = f"{held.passage.title} {held.passage.heading}"
        reading = read_units(_readable(sentences(held.text)), around)
        if not reading.sentences:
            return []
        whole = score_passages(question, [(held.passage.text, read_text(held.passage.text, around))], self._embedder)[0]
        scores = score_sentences(question, reading, self._embedder)
        return [
            Unit(held.n, place, text, score * whole)
            for place, (text, score) in enumerate(zip(reading.sentences, scores, strict=True))
        ]


def _readable(units: Sequence[str]) -> list[str]:
    """The units that say something: neither the head of a table nor the rule below it."""
    rules = [is_row(unit) and not re.search(r"\w", unit) for unit in units]
    below = [*rules[1:], False]
    return [unit for unit, ruled in zip(units, below, strict=False) if re.search(r"\w", unit) and not ruled]


def answer(question: Question, texts: Sequence[Sequence[Unit]]) -> str:
    """The answer in Markdown, with `[n]` behind everything that is quoted; empty when there is nothing to quote."""
    every = [unit for text in texts for unit in text]
    prose = [unit for unit in every if not is_heading(unit.text)] or every
    if not prose:
        return ""
    best = max(unit.score for unit in prose)
    if question.kind == "list":
        listed = max((block for text in texts for block in _blocks(text)), key=_block_score, default=None)
        if listed and _block_score(listed) >= NEARLY_AS_GOOD * best:
            return _write_list(listed)
    return _write_prose(_choose(question, prose))


def _choose(question: Question, prose: Sequence[Unit]) -> list[Unit]:
    """The best sentence; then what covers more of the question, somewhat weaker too; then what is nearly as good."""
    ranked = sorted(prose, key=lambda unit: -unit.score)
    best, chosen = ranked[0].score, ranked[:1]
    covered = set(terms(ranked[0].text))
    for unit in ranked[1:]:
        more = (set(terms(unit.text)) & question.weights.keys()) - covered
        if more and unit.score >= ADDS_SOMETHING * best:
            chosen.append(unit)
            covered |= more
    chosen += [unit for unit in ranked if unit not in chosen and unit.score >= NEARLY_AS_GOOD * best]
    return chosen[:MOST_SENTENCES]


@dataclass(frozen=True, slots=True)
class Block:
    """A list or table with the sentences that lead into it."""

    lead: tuple[Unit, ...]
    items: tuple[Unit, ...]


def _block_score(block: Block) -> float:
    return max(unit.score for unit in block.lead + block.items)


def _blocks(text: Sequence[Unit]) -> list[Block]:
    """Every run of two or more items, with what leads into it up to the heading above."""
    blocks: list[Block] = []
    start = 0
    while start < len(text):
        end = start
        while end < len(text) and is_item(text[end].text):
            end += 1
        if end - start >= 2:
            blocks.append(Block(_lead(text[:start]), _without_head(text[start:end])[:MOST_ITEMS]))
        start = max(end, start + 1)
    return blocks


def _without_head(items: Sequence[Unit]) -> tuple[Unit, ...]:
    """The items without the head of a table: a first row less than half as long as any other."""
    first, *rest = items
    if len(rest) > 1 and is_row(first.text) and 2 * len(first.text) < min(len(unit.text) for unit in rest):
        return tuple(rest)
    return tuple(items)


def _lead(before: Sequence[Unit]) -> tuple[Unit, ...]:
    lead: list[Unit] = []
    for unit in reversed(before[-_LEAD_IN:]):
        if is_item(unit.text):
            break
        lead.insert(0, unit)
        if is_heading(unit.text):
            break
    return tuple(lead)


def _write_list(block: Block) -> str:
    lead = [unit for unit in block.lead if not is_heading(unit.text)][-1:]
    lines = [_quote(unit.text, unit.n) for unit in lead] + [""] * bool(lead)
    return "\n".join(lines + [f"- {_quote(_plain(unit.text), unit.n)}" for unit in block.items])


def _plain(item: str) -> str:
    """An item without its mark, a row without its bars."""
    if is_row(item):
        return " — ".join(cell.strip() for cell in item.strip().strip("|").split("|") if cell.strip())
    return _MARK.sub("", item).strip()


def _write_prose(chosen: Sequence[Unit]) -> str:
    """The chosen sentences, those of the best source first, each source in the order of its text."""
    order = list(dict.fromkeys(unit.n for unit in chosen))
    reading = sorted(chosen, key=lambda unit: (order.index(unit.n), unit.place))
    return " ".join(_quote(_plain(unit.text) if is_item(unit.text) else unit.text, unit.n) for unit in reading)


def _quote(text: str, n: int) -> str:
    """The words of a source with its number behind them, and no other number that would read as a citation."""
    return f"{_REFERENCE.sub('', text).strip()} [{n}]"
