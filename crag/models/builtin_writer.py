"""Extractive answer writer and rule-based question rewriter, without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crag.cancellation import Cancellation
from crag.models.quoted_answer import GapFinder, ScoredUnit, compose_answer
from crag.options import RunOptions
from crag.protocols import MAX_QUERY_LENGTH, Embedder, PromptFit, Quotation, ReplyPiece, Rewriter, Writer
from crag.text.coverage import Gaps, find_gaps, refers_back
from crag.text.language import extract_key_words, is_cjk, split_sentences
from crag.text.questions import (
    AnalyzedQuestion,
    TermStatistics,
    analyze_question,
    extract_asking_sentences,
    find_name_terms,
)
from crag.text.relevance_features import tokenize_sentences, tokenize_text
from crag.text.relevance_scores import score_passages, score_sentences
from crag.text.small_talk import detect_small_talk
from crag.text.tables import label_table_rows
from crag.types import Knowledge, Turn, Usage


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
        texts = self._score(asked, knowledge)
        stop.check()
        answer = compose_answer(asked, texts, self._gap_finder(asked, knowledge, texts))
        for piece in re.findall(r"\s*\S+|\s+$", answer):
            stop.check()
            yield ReplyPiece(piece)
        yield ReplyPiece("", Usage(finish_reason="stop"))

    def _score(self, question: AnalyzedQuestion, knowledge: Sequence[Knowledge]) -> list[list[ScoredUnit]]:
        """Score each sentence of each piece of knowledge, multiplied by the score of its passage."""
        passages = [held.passage for held in knowledge]
        around = [f"{passage.title} {passage.heading}" for passage in passages]
        wholes = score_passages(
            question,
            [(passage.text, tokenize_text(passage.text, over)) for passage, over in zip(passages, around, strict=True)],
            self._embedder,
            [passage.source_id or passage.location or str(passage.id) for passage in passages],
        )
        scored = []
        for held, over, whole in zip(knowledge, around, wholes, strict=True):
            readable = (unit for unit in label_table_rows(split_sentences(held.text)) if re.search(r"\w", unit))
            reading = tokenize_sentences(readable, over)
            scores = score_sentences(question, reading, self._embedder)
            units = enumerate(zip(reading.sentences, scores, strict=True))
            scored.append([ScoredUnit(held.n, place, text, score * whole) for place, (text, score) in units])
        return scored

    def _gap_finder(
        self, question: AnalyzedQuestion, knowledge: Sequence[Knowledge], texts: Sequence[Sequence[ScoredUnit]]
    ) -> GapFinder:
        around = {held.n: f"{held.passage.title} {held.passage.heading}" for held in knowledge}
        units = {held.n: text for held, text in zip(knowledge, texts, strict=True)}

        def find(chosen: Sequence[ScoredUnit]) -> Gaps:
            before = " ".join(
                units[unit.n][unit.place - 1].text for unit in chosen if unit.place and refers_back(unit.text)
            )
            quoted = Quotation(" ".join(unit.text for unit in chosen), f"{around[chosen[0].n]} {before}")
            return find_gaps(question, quoted, self._embedder)

        return find


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
_TOPIC_QUESTION = re.compile(  # one word that is the topic itself: "What is TraceMonkey?", "What is a mutex?"
    r"^(?:what|who|where|how|why|when)(?:['’]s| is| are| was| were| does| do| did) (?:an? |the )?(?-i:[A-Z])[\w’'-]+"
    r"(?: (?:do|mean))?\W*$"
    r"|^what(?:['’]s| is| are) (?:an? )?(?!(?:new|next|different|wrong|missing|left|best|worst|important)\b)"
    r"(?![\w-]+ed\b)[a-z][\w’'-]+\W*$"
    r"|^[가-힣]+란 (?:무엇|뭐|뭔)",
    re.IGNORECASE,
)
_SECOND_QUESTION = re.compile(
    r",? (?:and|but|or) (?=(?:how|what|when|where|who|why|which|is|are|was|were|does|do|did|has|have|can)\b)",
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
        if _stands_alone(question) or len(question) >= MAX_QUERY_LENGTH:
            return question
        own = {part for _, parts in extract_key_words(question) for part in parts}
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


def _stands_alone(question: str) -> bool:
    """Return whether a question names its topic and does not refer back.

    "it" in a second question means the topic of the first: "What is a mutex and how does it work?"
    """
    first, *second = _SECOND_QUESTION.split(question, maxsplit=1)
    if second and (_names_topic(first) or find_name_terms(first)) and not _ANAPHORA.search(first):
        return True
    return (_names_topic(question) or _has_enough_key_words(extract_key_words(question))) and not _ANAPHORA.search(
        question
    )


def _names_topic(question: str) -> bool:
    return bool(_TOPIC_QUESTION.search(question)) and bool(extract_key_words(question))


def _has_enough_key_words(found: Sequence[KeyWord]) -> bool:
    """Return whether a question has two key words; in Chinese, two characters count as a word."""
    return sum(-(-len(word) // 2) if is_cjk(word) else 1 for word, _ in found) >= _MIN_KEY_WORDS


def _earlier_key_words(history: Sequence[Turn]) -> list[KeyWord]:
    """Return the key words of the last question that had enough or named its topic, and of the ones after it."""
    found: list[KeyWord] = []
    for turn in reversed(history):
        if turn.role == "user" and not detect_small_talk(turn.text):
            found = extract_key_words(turn.text) + found
            if _has_enough_key_words(found) or _names_topic(turn.text):
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
