"""Extractive writer without a language model: quotes the sentences that answer the question, with sources."""

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
# A document's own [3] is not the third source of the answer.
_REFERENCE = re.compile(r"\s?\[\d{1,3}(?:\s*,\s*\d{1,3})*\]")


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence, heading, list item or table row of a piece of knowledge, with its score."""

    n: int
    place: int
    text: str
    score: float


class BuiltinWriter(Writer):
    """Extractive `Writer`. Lists and tables that the question asks for are quoted whole."""

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    def write(
        self,
        question: str,
        knowledge: Sequence[Knowledge],
        history: Sequence[Turn],  # noqa: ARG002 — already used to condense the question
        stop: Stop,
        *,
        begun: str = "",  # noqa: ARG002 — writing the whole answer is as fast as continuing it
    ) -> Iterator[PromptFit | Piece]:
        """Yield the answer word by word. Raises `Stopped`."""
        yield PromptFit(tokens=0, window=0, left_out=0)
        asked = read_question(what_is_asked(question), self._statistics)
        texts = [self._score(asked, held) for held in knowledge]
        stop.check()
        for piece in re.findall(r"\s*\S+|\s+$", answer(asked, texts)):
            stop.check()
            yield Piece(piece)
        yield Piece("", Usage(finish_reason="stop"))

    def _score(self, question: Question, held: Knowledge) -> list[Unit]:
        """Score each sentence, multiplied by the score of its passage."""
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
    """Return the units with content, without table headers and the rules below them."""
    rules = [is_row(unit) and not re.search(r"\w", unit) for unit in units]
    below = [*rules[1:], False]
    return [unit for unit, ruled in zip(units, below, strict=False) if re.search(r"\w", unit) and not ruled]


def answer(question: Question, texts: Sequence[Sequence[Unit]]) -> str:
    """Compose the Markdown answer with `[n]` after every quotation; empty when there is nothing to quote."""
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
    """Choose the best sentence, then somewhat weaker ones that cover more of the question, then similarly good ones."""
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
    """A list or table with the sentences that introduce it."""

    lead: tuple[Unit, ...]
    items: tuple[Unit, ...]


def _block_score(block: Block) -> float:
    return max(unit.score for unit in block.lead + block.items)


def _blocks(text: Sequence[Unit]) -> list[Block]:
    """Return every run of two or more items, with its introduction up to the heading above."""
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
    """Return the items without a table header: a first row less than half as long as any other."""
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
    """Return an item without its mark, or a row without its bars."""
    if is_row(item):
        return " — ".join(cell.strip() for cell in item.strip().strip("|").split("|") if cell.strip())
    return _MARK.sub("", item).strip()


def _write_prose(chosen: Sequence[Unit]) -> str:
    """Join the chosen sentences: best source first, each source in text order."""
    order = list(dict.fromkeys(unit.n for unit in chosen))
    reading = sorted(chosen, key=lambda unit: (order.index(unit.n), unit.place))
    return " ".join(_quote(_plain(unit.text) if is_item(unit.text) else unit.text, unit.n) for unit in reading)


def _quote(text: str, n: int) -> str:
    """Return the text with its source number, and without other numbers that would look like citations."""
    return f"{_REFERENCE.sub('', text).strip()} [{n}]"
