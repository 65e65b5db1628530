"""Extractive answer writer, without a language model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from crag.cancellation import Cancellation
from crag.models.builtin_rewriter import asks_for_more, is_new_in, names_no_subject
from crag.models.quoted_answer import GapFinder, ScoredUnit, compose_answer, trim_rows
from crag.protocols import OFF_TOPIC, Embedder, PromptFit, Quotation, ReplyPiece, Writer
from crag.text.citation_marks import CITATION, strip_brackets
from crag.text.coverage import Gaps, find_context, find_gaps, is_off_topic
from crag.text.language import is_heading_above, split_sentences
from crag.text.opening_hours import tells_other_opening
from crag.text.question_parts import separate_questions, split_question
from crag.text.questions import (
    SINGLE_VALUE_TYPES,
    AnalyzedQuestion,
    TermStatistics,
    analyze_question,
    can_recognize_candidates,
    extract_asking_sentences,
    matches_answer_type,
)
from crag.text.relevance_features import tokenize_sentences, tokenize_text
from crag.text.relevance_scores import score_passages, score_sentences
from crag.text.stated_values import find_value_spans
from crag.text.tables import find_rows_of_others, label_knowledge_rows
from crag.types import Knowledge, Turn, Usage

_MORE_SCORE_SHARE = 0.5  # of the best sentence's score


class BuiltinWriter(Writer):
    """Extractive `Writer`. Lists and tables that the question asks for are quoted whole."""

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._embedder = embedder
        self._statistics = statistics

    def write(
        self,
        question: str,
        knowledge: Sequence[Knowledge],
        history: Sequence[Turn],
        stop: Cancellation,
        *,
        partial_answer: str = "",  # noqa: ARG002 — writing the whole answer is as fast as continuing it
    ) -> Iterator[PromptFit | ReplyPiece]:
        """Yield the answer word by word; nothing if it would only repeat earlier ones. Raises `Stopped`."""
        yield PromptFit(tokens=0, window=0, left_out=0)
        asked = analyze_question(extract_asking_sentences(question), self._statistics)
        earlier = "\n".join(turn.text for turn in history if turn.role == "assistant")
        known = earlier if asks_for_more(question) else ""
        drafts: dict[str, list[AnalyzedQuestion]] = {}
        for part in separate_questions(asked):
            draft = self._compose(part, knowledge, known)
            stop.check()
            if draft:
                drafts.setdefault(next((other for other in drafts if draft in other), draft), []).append(part)
        written = "\n\n".join(drafts)
        answer = "\n\n".join(
            text
            for text, parts in drafts.items()
            if not all(self._is_off_topic(part, text, knowledge) for part in parts)
        )
        is_repeated = bool(written) and self._repeats(asked, question, written, earlier)
        if is_repeated and not names_no_subject(question):  # earlier answers may hide what is asked now
            answer = self._compose(asked, knowledge, earlier, least_share=0.0)
            is_repeated = is_new_in(question, answer) or self._is_off_topic(asked, answer, knowledge)
        is_spent = bool(known) and not written
        answer = "" if is_repeated else answer
        finish_reason = "stop" if answer or is_spent or (is_repeated and names_no_subject(question)) else OFF_TOPIC
        rows = [(held.n, row) for held in _find_used(answer, knowledge) for row in label_knowledge_rows(held)]
        trimmed = trim_rows(answer, asked.text, rows)
        shown = trimmed if trimmed != answer else self._emphasize_value(asked, answer, knowledge)
        for piece in re.findall(r"\s*\S+|\s+$", shown):
            stop.check()
            yield ReplyPiece(piece)
        yield ReplyPiece("", Usage(finish_reason=finish_reason))

    def _compose(
        self,
        question: AnalyzedQuestion,
        knowledge: Sequence[Knowledge],
        known: str,
        least_share: float = _MORE_SCORE_SHARE,
    ) -> str:
        """Return the answer without what is already `known`; empty if nothing else is left.

        What scores less than `least_share` of the best sentence adds nothing to what is known.
        """
        texts = self._score(question, knowledge)
        if known:
            texts = _without_said(texts, known, least_share)
        is_spent = not any(unit.score for text in texts for unit in text)
        return "" if is_spent else compose_answer(question, texts, self._gap_finder(question, knowledge, texts))

    def _repeats(self, asked: AnalyzedQuestion, question: str, answer: str, said: str) -> bool:
        """Return whether an answer to a follow-up repeats an earlier one without the value asked for."""
        is_repeated = is_new_in(question, answer) and _is_said(answer, said)
        return is_repeated and not self._states_value(asked, question, answer)

    def _states_value(self, asked: AnalyzedQuestion, question: str, answer: str) -> bool:
        """Return whether an answer holds the value that a follow-up asks for, and the subject that it names."""
        if asked.answer_type not in SINGLE_VALUE_TYPES or (
            is_new_in(question, answer) and not names_no_subject(question)
        ):
            return False
        if can_recognize_candidates(asked):
            return matches_answer_type(asked, answer)
        return not find_gaps(asked, Quotation(answer, ""), self._embedder).value

    def _is_off_topic(self, question: AnalyzedQuestion, answer: str, knowledge: Sequence[Knowledge]) -> bool:
        """Return whether the answer shares hardly anything with the question; never if its source is trusted."""
        used = _find_used(answer, knowledge)
        if any(held.is_trusted for held in used):
            return False
        around = [text for held in used for text in _find_surroundings(held, answer)]
        quoted = Quotation(strip_brackets(answer), " ".join(around))
        return is_off_topic(question, find_gaps(question, quoted, self._embedder))

    def _emphasize_value(self, question: AnalyzedQuestion, answer: str, knowledge: Sequence[Knowledge]) -> str:
        """Return an answer with the value asked for in bold, if its complete sentences hold only one of that kind."""
        if question.answer_type not in SINGLE_VALUE_TYPES or len(split_question(question)) > 1:
            return answer
        around = " ".join(text for held in _find_used(answer, knowledge) for text in _find_surroundings(held, answer))
        found: dict[str, tuple[int, int]] = {}
        start = 0
        for mark in CITATION.finditer(answer):
            quoted = answer[start : mark.start()]
            if not find_gaps(question, Quotation(quoted, around), self._embedder):
                spans = ((start + first, start + last) for first, last in find_value_spans(question, quoted))
                found = {answer[slice(*span)]: span for span in spans} | found
            start = mark.end()
        return _set_bold(answer, *found.popitem()[1]) if len(found) == 1 else answer

    def _score(self, question: AnalyzedQuestion, knowledge: Sequence[Knowledge]) -> list[list[ScoredUnit]]:
        """Score each sentence of each piece of knowledge, multiplied by the score of its passage."""
        passages = [held.passage for held in knowledge]
        around = [passage.subject for passage in passages]
        wholes = score_passages(
            question,
            [tokenize_text(passage.text, over, question.text) for passage, over in zip(passages, around, strict=True)],
            self._embedder,
            [passage.source_id or passage.location or str(passage.id) for passage in passages],
        )
        readable = [
            [unit for unit in label_knowledge_rows(held) if re.search(r"\w", unit) and unit != held.passage.title]
            for held in knowledge
        ]
        of_others = find_rows_of_others(question.text, frozenset(question.weights), list(chain.from_iterable(readable)))
        scored = []
        for held, sentences, over, whole in zip(knowledge, readable, around, wholes, strict=True):
            reading = tokenize_sentences(sentences, over, question.text)
            scores = score_sentences(question, reading, self._embedder)
            fits = [not (tells_other_opening(question.text, text) or text in of_others) for text in sentences]
            units = enumerate(zip(reading.sentences, scores, fits, strict=True))
            scored.append([ScoredUnit(held.n, place, text, score * whole * fit) for place, (text, score, fit) in units])
        return scored

    def _gap_finder(
        self, question: AnalyzedQuestion, knowledge: Sequence[Knowledge], texts: Sequence[Sequence[ScoredUnit]]
    ) -> GapFinder:
        around = {held.n: held.passage.subject for held in knowledge}
        sentences = {held.n: [unit.text for unit in text] for held, text in zip(knowledge, texts, strict=True)}

        def find(chosen: Sequence[ScoredUnit]) -> Gaps:
            context = " ".join(find_context(sentences[unit.n], unit.place, around[unit.n]) for unit in chosen)
            return find_gaps(question, Quotation(" ".join(unit.text for unit in chosen), context), self._embedder)

        return find


def _find_used(answer: str, knowledge: Sequence[Knowledge]) -> list[Knowledge]:
    return [held for held in knowledge if f"[{held.n}]" in answer]


def _set_bold(answer: str, start: int, end: int) -> str:
    """Return an answer with a span in bold, where Markdown allows it and it is not all that a sentence says."""
    before, after = answer[:start], answer[end:]
    is_whole = not re.search(r"\w[^\n]*$", before) and not re.match(r"[^\n\[]*\w", after)
    joins_sign = (re.search(r"[\w*]$", before) and not answer[start].isalnum()) or (
        re.match(r"[\w*]", after) and not answer[end - 1].isalnum()
    )
    return answer if is_whole or joins_sign else f"{before}**{answer[start:end]}**{after}"


def _find_surroundings(held: Knowledge, answer: str) -> list[str]:
    """Return title and headings of a source, and what the sentences that an answer quotes from it refer to."""
    sentences = split_sentences(held.passage.text)
    quoted = (at for at, sentence in enumerate(sentences) if _is_said(sentence, answer))
    headings = (line for line, below in pairwise([*sentences, ""]) if is_heading_above(line, below))
    return [held.passage.subject, *headings, *(find_context(sentences, at, "") for at in quoted)]


def _without_said(texts: Sequence[Sequence[ScoredUnit]], said: str, least_share: float) -> list[list[ScoredUnit]]:
    """Return the sentences with the score 0 for those that an earlier answer quotes and for much weaker ones."""
    known = _bare_text(said)
    enough = least_share * max((unit.score for text in texts for unit in text), default=0.0)
    return [
        [replace(unit, score=0.0) if unit.score < enough or _bare_text(unit.text) in known else unit for unit in text]
        for text in texts
    ]


def _is_said(answer: str, said: str) -> bool:
    known = _bare_text(said)
    return all(_bare_text(sentence) in known for sentence in split_sentences(answer))


def _bare_text(text: str) -> str:
    """Return the letters and digits of a text, without citations and numbers in brackets."""
    return re.sub(r"[\W_]+", "", strip_brackets(text)).casefold()
