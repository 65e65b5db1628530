"""Built-in grader: a trained scorer on lexical features, with its reasons in words. Needs no model server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from crag.cancellation import Cancellation
from crag.grading.model_replies import shorten_reason
from crag.protocols import Embedder, Quotation
from crag.text import korean
from crag.text.coverage import (
    Gaps,
    find_context,
    find_gaps,
    is_complete,
)
from crag.text.formatting import quote_words
from crag.text.language import detect_language, extract_terms, is_heading_above, is_table_row, strip_list_mark
from crag.text.opening_hours import name_hours_asked_for
from crag.text.questions import (
    FRAME_TERMS,
    AnalyzedQuestion,
    TermStatistics,
    analyze_question,
    answer_type_score,
    states_directly,
)
from crag.text.relevance_features import TokenizedText, tokenize_text
from crag.text.relevance_scores import fitted_thresholds, score_passages, weights_fingerprint
from crag.text.stated_values import may_hold_value
from crag.text.tables import explains_code, label_table_rows, names_cell, table_cells
from crag.text.topics import find_topics, holds_topic
from crag.translation import N_
from crag.types import Grade, Passage, Thresholds, VerdictWord

_MAX_LISTED_WORDS = 4
_MAX_WORD_CHARS = 40  # characters
_WEAK_TERMS = FRAME_TERMS | frozenset(extract_terms("work contain include"))
"""Words that say nothing about what a passage lacks."""


def explain_grade(
    question: AnalyzedQuestion,
    passage: TokenizedText,
    verdict: VerdictWord,
    gaps: Gaps | None = None,
    heading: str = "",
) -> str:
    """Return a short sentence on what the passage covers and lacks.

    `gaps` is what the best sentence of a relevant passage lacks for a complete answer. `heading` may end with the
    names of columns.
    """
    every_topic = find_topics(question)
    asked = [topic for topic in every_topic if not _WEAK_TERMS.issuperset(topic[1])] or every_topic
    every = passage.around.union(*passage.terms)
    text = name_hours_asked_for(question.text, "\n".join([passage.title, *passage.sentences]))
    held = [word for word, parts in asked if holds_topic(question, word, parts, text, every)]
    missing = [word for word, _ in asked if word not in held]
    if not question.is_cjk:
        held, missing = _merge_phrases(question.text, held), _merge_phrases(question.text, missing)
    if not question.order:
        return N_("The question names nothing to look for.")
    if not held and verdict != "relevant":
        return N_("Does not mention {words}.").format(words=_list_words(missing or list(question.order), "or"))
    sentence = ""
    reason = N_("Mentions {held}, but not {missing}.") if missing else N_("Mentions {held}, but no answer was found.")
    if verdict == "relevant" or (verdict == "ambiguous" and not missing):
        statement = _find_statement(question, passage, heading)
        said = " — ".join(table_cells(statement.text)) if is_table_row(statement.text) else statement.text
        sentence = shorten_reason(strip_list_mark(said)).rstrip(".。")
        missing = _merge_phrases(question.text, [*gaps.names, *_name_words(gaps.words)]) if gaps else []
        is_open = gaps is not None and gaps.value and not may_hold_value(question, statement.text)
        reason = N_("Says “{sentence}”, but not what is asked.") if is_open else N_("Says “{sentence}”.")
        reason = N_("Says “{sentence}”, but does not mention {missing}.") if missing else reason
    return reason.format(held=_list_words(held, "and"), missing=_list_words(missing, "or"), sentence=sentence)


def _name_words(words: Sequence[str]) -> list[str]:
    """Return words as they are named, a Korean verb by its noun: 승인 for 승인하나요."""
    return [name for word in words for name in korean.find_content_words(word) or (word,)]


def _merge_phrases(text: str, words: Sequence[str]) -> list[str]:
    """Join words that follow each other in the question, as in “access card”, “PH-60” and “V60”."""
    phrases: list[str] = []
    for word in words:
        last = phrases[-1] if phrases else ""
        joined = [phrase for phrase in (f"{last} {word}", f"{last}-{word}", f"{last}{word}") if last and phrase in text]
        phrases[-1:] = joined or [*phrases[-1:], word]
    return phrases


def _find_statement(question: AnalyzedQuestion, passage: TokenizedText, heading: str) -> Quotation:
    """Return the sentence or row that lacks least of an answer; a heading or the names of columns state nothing."""
    lines = label_table_rows(passage.sentences, heading)
    stating = [at for at, (line, below) in enumerate(pairwise([*lines, ""])) if not is_heading_above(line, below)]

    def quote(at: int) -> Quotation:
        return Quotation(lines[at], find_context(lines, at, passage.title))

    def suits(at: int) -> tuple[float, ...]:
        said = strip_list_mark(lines[at])
        is_direct = names_cell(question.text, said) or states_directly(question, said)
        share = question.covered_share(extract_terms(said))
        return -find_gaps(question, quote(at), None).count, answer_type_score(question, said), is_direct, share

    return quote(max(stating or range(len(lines)), key=suits)) if lines else Quotation("", passage.title)


def _list_words(words: Sequence[str], conjunction: Literal["and", "or"]) -> str:
    """Return the first words in quotation marks, as in “built”, “Halden” and “lighthouse”."""
    return quote_words(list(dict.fromkeys(word[:_MAX_WORD_CHARS] for word in words))[:_MAX_LISTED_WORDS], conjunction)


class BuiltinGrader:
    """Scores a passage by the question's words, names and expected answer type, and by semantic similarity.

    Passages are graded together, because agreement between documents is evidence. Fitted with the built-in embedder;
    another embedder shifts the scores.
    """

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    @property
    def name(self) -> str:
        """Embedding model and coefficients, such as `builtin:wordllama@1f0a93c2`."""
        return f"builtin:{self._embedder.space.model}@{weights_fingerprint()}"

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds chosen when the scorer was fitted."""
        return fitted_thresholds()

    def grade(self, question: str, passages: Sequence[Passage], stop: Cancellation) -> Iterator[tuple[int, Grade]]:
        """Grade every passage in order. Raises `ModelFault` if embedding fails, `Stopped`."""
        stop.check()
        if not passages:
            return
        asked = analyze_question(question, self._statistics)
        around = [passage.subject for passage in passages]
        readings = [tokenize_text(each.text, over, question) for each, over in zip(passages, around, strict=True)]
        texts = [passage.text for passage in passages]
        sources = [passage.source_id or passage.location or str(passage.id) for passage in passages]
        scores = score_passages(asked, readings, self._embedder, sources)
        found = False
        for index, (score, reading) in enumerate(zip(scores, readings, strict=True)):
            stop.check()
            heading, complete = passages[index].heading, None
            if not found:  # one complete passage is enough
                complete = self._is_complete(asked, score, reading)
                score = max(score, self._least_score(asked, score, texts[index])) if complete else score
                complete = complete if score >= self.thresholds.upper else None
                found = complete is True
            if explains_code(question, texts[index]):
                score = max(score, self.thresholds.lower)
            gaps = self._find_gaps(asked, reading, heading) if complete is False else None
            reason = explain_grade(asked, reading, self.thresholds.verdict_for(score), gaps, heading)
            yield index, Grade(score, reason, complete=complete)

    def _is_complete(self, question: AnalyzedQuestion, score: float, passage: TokenizedText) -> bool:
        """Return whether a passage states everything, in spite of its score: a long one scores low, whatever it states.

        The lower the score, the stricter: a single sentence must do so in the question's own words.
        """
        enough = self.thresholds.lower if question.is_cjk else self.thresholds.upper
        return is_complete(question, passage, self._embedder if score >= enough else None)

    def _least_score(self, question: AnalyzedQuestion, score: float, text: str) -> float:
        """Return the least score of a complete passage; if Chinese characters may coincide, it is doubtful."""
        is_certain = score >= self.thresholds.lower or detect_language(question.text) != "zh"
        is_certain = is_certain or all(topic in text for topic, _ in find_topics(question))
        return self.thresholds.upper if is_certain else self.thresholds.lower

    def _find_gaps(self, question: AnalyzedQuestion, passage: TokenizedText, heading: str) -> Gaps | None:
        """Return what the sentence that lacks least lacks of an answer; None if nothing."""
        return find_gaps(question, _find_statement(question, passage, heading), self._embedder) or None
