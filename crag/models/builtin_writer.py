"""Extractive answer writer and rule-based question rewriter, without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crag.cancellation import Cancellation
from crag.options import RunOptions
from crag.protocols import MAX_QUERY_LENGTH, Embedder, PromptFit, ReplyPiece, Rewriter, Writer
from crag.text.language import (
    extract_key_words,
    extract_terms,
    is_cjk,
    is_heading,
    is_list_item,
    is_table_row,
    split_sentences,
)
from crag.text.questions import AnalyzedQuestion, TermStatistics, analyze_question, extract_asking_sentences
from crag.text.relevance_features import tokenize_sentences, tokenize_text
from crag.text.relevance_scores import score_passages, score_sentences
from crag.types import Knowledge, Turn, Usage

MAX_SENTENCES = 4
MAX_ITEMS = 12
SIMILAR_SCORE_SHARE = 0.6
NEW_TERM_SCORE_SHARE = 0.5
_MAX_LEAD_IN_UNITS = 3
_ITEM_MARK = re.compile(r"^\s*(?:[-*+•·‣▪–]|\(?\d{1,2}[.)]|[①-⑳])\s+")
# A document's own [3] is not the third source of the answer.
_BRACKETED_NUMBER = re.compile(r"\s?\[\d{1,3}(?:\s*,\s*\d{1,3})*\]")


@dataclass(frozen=True, slots=True)
class ScoredUnit:
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
        stop: Cancellation,
        *,
        partial_answer: str = "",  # noqa: ARG002 — writing the whole answer is as fast as continuing it
    ) -> Iterator[PromptFit | ReplyPiece]:
        """Yield the answer word by word. Raises `Stopped`."""
        yield PromptFit(tokens=0, window=0, left_out=0)
        asked = analyze_question(extract_asking_sentences(question), self._statistics)
        texts = [self._score(asked, held) for held in knowledge]
        stop.check()
        for piece in re.findall(r"\s*\S+|\s+$", compose_answer(asked, texts)):
            stop.check()
            yield ReplyPiece(piece)
        yield ReplyPiece("", Usage(finish_reason="stop"))

    def _score(self, question: AnalyzedQuestion, held: Knowledge) -> list[ScoredUnit]:
        """Score each sentence, multiplied by the score of its passage."""
        around = f"{held.passage.title} {held.passage.heading}"
        reading = tokenize_sentences(_readable_units(split_sentences(held.text)), around)
        if not reading.sentences:
            return []
        whole = score_passages(
            question, [(held.passage.text, tokenize_text(held.passage.text, around))], self._embedder
        )[0]
        scores = score_sentences(question, reading, self._embedder)
        return [
            ScoredUnit(held.n, place, text, score * whole)
            for place, (text, score) in enumerate(zip(reading.sentences, scores, strict=True))
        ]


def _readable_units(units: Sequence[str]) -> list[str]:
    """Return the units with content, without table headers and the rules below them."""
    rules = [is_table_row(unit) and not re.search(r"\w", unit) for unit in units]
    below = [*rules[1:], False]
    return [unit for unit, ruled in zip(units, below, strict=False) if re.search(r"\w", unit) and not ruled]


def compose_answer(question: AnalyzedQuestion, texts: Sequence[Sequence[ScoredUnit]]) -> str:
    """Compose the Markdown answer with `[n]` after every quotation; empty when there is nothing to quote."""
    every = [unit for text in texts for unit in text]
    prose = [unit for unit in every if not is_heading(unit.text)] or every
    if not prose:
        return ""
    best = max(unit.score for unit in prose)
    if question.answer_type == "list":
        listed = max((block for text in texts for block in _find_lists(text)), key=_block_score, default=None)
        if listed and _block_score(listed) >= SIMILAR_SCORE_SHARE * best:
            return _write_list(listed)
    return _write_prose(_choose_sentences(question, prose))


def _choose_sentences(question: AnalyzedQuestion, prose: Sequence[ScoredUnit]) -> list[ScoredUnit]:
    """Choose the best sentence, then somewhat weaker ones that cover more of the question, then similarly good ones."""
    ranked = sorted(prose, key=lambda unit: -unit.score)
    best, chosen = ranked[0].score, ranked[:1]
    covered = set(extract_terms(ranked[0].text))
    for unit in ranked[1:]:
        more = (set(extract_terms(unit.text)) & question.weights.keys()) - covered
        if more and unit.score >= NEW_TERM_SCORE_SHARE * best:
            chosen.append(unit)
            covered |= more
    chosen += [unit for unit in ranked if unit not in chosen and unit.score >= SIMILAR_SCORE_SHARE * best]
    return chosen[:MAX_SENTENCES]


@dataclass(frozen=True, slots=True)
class ListBlock:
    """A list or table with the sentences that introduce it."""

    lead: tuple[ScoredUnit, ...]
    items: tuple[ScoredUnit, ...]


def _block_score(block: ListBlock) -> float:
    return max(unit.score for unit in block.lead + block.items)


def _find_lists(text: Sequence[ScoredUnit]) -> list[ListBlock]:
    """Return every run of two or more items, with its introduction up to the heading above."""
    blocks: list[ListBlock] = []
    start = 0
    while start < len(text):
        end = start
        while end < len(text) and is_list_item(text[end].text):
            end += 1
        if end - start >= 2:
            blocks.append(ListBlock(_lead_in(text[:start]), _drop_table_header(text[start:end])[:MAX_ITEMS]))
        start = max(end, start + 1)
    return blocks


def _drop_table_header(items: Sequence[ScoredUnit]) -> tuple[ScoredUnit, ...]:
    """Return the items without a table header: a first row less than half as long as any other."""
    first, *rest = items
    if len(rest) > 1 and is_table_row(first.text) and 2 * len(first.text) < min(len(unit.text) for unit in rest):
        return tuple(rest)
    return tuple(items)


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
    lines = [_quote(unit.text, unit.n) for unit in lead] + [""] * bool(lead)
    return "\n".join(lines + [f"- {_quote(_strip_item_marks(unit.text), unit.n)}" for unit in block.items])


def _strip_item_marks(item: str) -> str:
    """Return an item without its mark, or a row without its bars."""
    if is_table_row(item):
        return " — ".join(cell.strip() for cell in item.strip().strip("|").split("|") if cell.strip())
    return _ITEM_MARK.sub("", item).strip()


def _write_prose(chosen: Sequence[ScoredUnit]) -> str:
    """Join the chosen sentences: best source first, each source in text order."""
    order = list(dict.fromkeys(unit.n for unit in chosen))
    reading = sorted(chosen, key=lambda unit: (order.index(unit.n), unit.place))
    return " ".join(
        _quote(_strip_item_marks(unit.text) if is_list_item(unit.text) else unit.text, unit.n) for unit in reading
    )


def _quote(text: str, n: int) -> str:
    """Return the text with its source number, and without other numbers that would look like citations."""
    return f"{_BRACKETED_NUMBER.sub('', text).strip()} [{n}]"


KeyWord = tuple[str, tuple[str, ...]]  # as written, with its terms

_MIN_KEY_WORDS = 2
_MAX_BORROWED_WORDS = 6
_MAX_KEYWORDS = 3
_ANAPHORA = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|there|former|latter|ones?|both)\b"
    r"|^(?:and|but|so|or|then|also|why|how so|how come|what about|how about)\b(?:\W*\w+){0,4}\W*$"
    r"|그것|그거|그건|그게|이것|이거|이건|이게|거기|여기|그는|그녀|그들|그의|그럼|그러면|그리고|(?:^|\s)[그이저]\s"
    r"|它|(?<![吉其])他|她|其(?![他她它實实餘余])|這|这|那",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|so|well|thanks|please)\b[\s,.!]*)*"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell|explain to|show|give) me\s+"
    r"|(?:please )?tell me\s+(?:about\s+)?|i(?: would|'d)? (?:like|want) to know\s+|do you know\s+|i wonder\s+)?"
    r"(?:if you know\s+)?"
    r"|[\s,]*(?:please|thanks|thank you)[\s.!?]*$"
    r"|^(?:[你您]好[，,！!\s]*)?(?:[请請][问問]|(?:[请請]|能不能|可以)?告[诉訴]我|我想知道)[，,\s]*"
    r"|[，,\s]*(?:[谢謝]{2})[。！!\s]*$"
    r"|^(?:안녕하세요[\s,.!]*)?혹시\s+|^안녕하세요[\s,.!]*"
    r"|\s*(?:알려 ?줘|알려 ?주세요|말해 ?줘|설명해 ?줘|설명해 ?주세요)[.!?\s]*$",
    re.IGNORECASE,
)


class BuiltinRewriter(Rewriter):
    """Rule-based `Rewriter` that uses the questions alone and keeps their language."""

    def condense(self, question: str, history: Sequence[Turn], stop: Cancellation) -> str:
        """Append key words of earlier questions if the question refers back or has too few of its own."""
        stop.check()
        asked = extract_key_words(question)
        own = {part for _, parts in asked for part in parts}
        is_self_contained = _has_enough_key_words(asked) and not _ANAPHORA.search(question)
        if is_self_contained or len(question) >= MAX_QUERY_LENGTH:
            return question
        borrowed = [word for word, parts in _earlier_key_words(history) if not own.issuperset(parts)][
            :_MAX_BORROWED_WORDS
        ]
        return _cut_to_query_limit(f"{question} ({' '.join(borrowed)})") if borrowed else question

    def rewrite(self, question: str, options: RunOptions, stop: Cancellation) -> str:
        """Return a web query: the question unchanged, without filler, or its three strongest key words."""
        stop.check()
        if options.rewrite == "none":
            return _cut_to_query_limit(question)
        cleaned = " ".join(_FILLER.sub("", question).split()) or question
        if options.rewrite == "question":
            return _cut_to_query_limit(cleaned)
        return _cut_to_query_limit(" ".join(pick_strongest_words(cleaned)) or cleaned)


def _has_enough_key_words(found: Sequence[KeyWord]) -> bool:
    """Return whether a question has two key words; in Chinese, two characters count as a word."""
    return sum(-(-len(word) // 2) if is_cjk(word) else 1 for word, _ in found) >= _MIN_KEY_WORDS


def _earlier_key_words(history: Sequence[Turn]) -> list[KeyWord]:
    """Return the key words of the last question that had enough, and of the ones after it."""
    found: list[KeyWord] = []
    for turn in reversed(history):
        if turn.role == "user":
            found = extract_key_words(turn.text) + found
            if _has_enough_key_words(found):
                break
    unique = {parts: word for word, parts in found}
    return [(word, parts) for parts, word in unique.items()]


def pick_strongest_words(question: str) -> list[str]:
    """Return the three strongest key words in question order: names and numbers first, then long words.

    Multi-word names are kept whole.
    """
    phrases = re.findall(r"[A-Z][\w’'-]*(?: (?:of |the )?[A-Z][\w’'-]*)+", question.partition(" ")[2])
    rest = question
    for phrase in phrases:
        rest = rest.replace(phrase, " ")
    candidates = phrases + [word for word, _ in extract_key_words(rest)]
    unique = list(dict.fromkeys(candidates))
    strongest = sorted(unique, key=lambda word: (not (word[0].isupper() or word[0].isdigit()), -len(word)))[
        :_MAX_KEYWORDS
    ]
    return sorted(strongest, key=question.find)


def _cut_to_query_limit(text: str) -> str:
    """Cut to `MAX_QUERY_LENGTH` characters, between words if possible."""
    if len(text) <= MAX_QUERY_LENGTH:
        return text
    return text[:MAX_QUERY_LENGTH].rsplit(" ", 1)[0]
