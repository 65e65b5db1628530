"""Built-in judge of sufficiency: by completeness, by names that no passage mentions, and by values that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from crag.cancellation import Cancellation
from crag.protocols import Embedder, Quotation
from crag.text.coverage import BuiltinCoverageCheck, find_context, find_gaps
from crag.text.formatting import quote_words
from crag.text.language import is_table_row, split_sentences
from crag.text.questions import AnalyzedQuestion, AnswerType, TermStatistics, analyze_question
from crag.text.stated_values import StatedValue, agree, find_values
from crag.text.tables import label_table_rows
from crag.translation import N_
from crag.types import Assessment, Grade, Passage, Statement, Turn

_MIN_DIGITS = 3  # smaller numbers may be written in words
_MIN_LETTERS = 5  # shorter names may be abbreviations
_MIN_SIMILARITY = 70  # rapidfuzz ratio of 100: the name may be misspelled, or have other accents
_COMPARED_TYPES = frozenset({"number", "time", "person"})
_UNKNOWN = N_("Comparing words cannot tell.")


class BuiltinJudge:
    """`SufficiencyJudge` by words, which mostly cannot tell.

    *Sufficient*: a sentence of a passage that the grader calls complete states everything. *Insufficient*: a name or
    figure of the question occurs in no passage. *Conflicting*: passages of two documents each state one value of what
    is asked, and the values differ.
    """

    def __init__(self, embedder: Embedder, statistics: TermStatistics) -> None:
        self._statistics = statistics
        self._coverage = BuiltinCoverageCheck(embedder, statistics)

    def judge(
        self,
        question: str,
        graded: Sequence[tuple[Passage, Grade]],
        stop: Cancellation,
        *,
        refine: bool = True,  # noqa: ARG002 — whole passages are compared anyway
        history: Sequence[Turn] = (),  # noqa: ARG002 — the question stands alone
    ) -> Assessment:
        """Return the assessment. Raises `ModelFault` if embedding fails, `Stopped`."""
        asked = analyze_question(question, self._statistics)
        complete = [passage for passage, grade in graded if grade.complete]
        if complete:
            if statements := self._find_disagreement(asked, [passage for passage, _ in graded], stop):
                return Assessment("conflicting", N_("Two documents state different values."), statements)
            return self._assess_coverage(question, complete)
        names = _find_unmentioned_names(asked, [Quotation(passage.text, passage.subject) for passage, _ in graded])
        if not names:
            return Assessment(None, _UNKNOWN)
        reason = N_("No passage mentions {names}.").format(names=quote_words(names, "or"))
        return Assessment("insufficient", reason)

    def _assess_coverage(self, question: str, passages: Sequence[Passage]) -> Assessment:
        """Return *sufficient* if a sentence states everything, alone or with the title, heading or columns above it."""
        sentences = [each for passage in passages for each in _separate_sentences(passage)]
        stating = [each for each in sentences if self._coverage.is_covered(question, [each])]
        if not stating:
            return Assessment(None, _UNKNOWN)
        alone = (replace(each, context="") for each in stating if not is_table_row(each.text))
        if any(self._coverage.is_covered(question, [each]) for each in alone):
            return Assessment("sufficient", N_("One sentence holds everything that the question names."))
        reason = N_("One sentence, together with what stands above it, holds everything that the question names.")
        return Assessment("sufficient", reason)

    def _find_disagreement(
        self, question: AnalyzedQuestion, passages: Sequence[Passage], stop: Cancellation
    ) -> tuple[Statement, ...]:
        """Return one sentence of each of two documents that state different values; none if all agree."""
        if question.answer_type not in _COMPARED_TYPES or len({passage.source_id for passage in passages}) < 2:
            return ()
        stated: list[tuple[str, Statement, StatedValue]] = []
        for passage in passages:
            stop.check()
            if (found := self._find_value(question, passage)) is None:
                continue
            statement, value = found
            for source_id, other, other_value in stated:
                if source_id == passage.source_id or agree(value, other_value) is not False:
                    continue
                if not _speak_of_different_things(question, other.sentence, statement.sentence):
                    return other, statement
            stated.append((passage.source_id, statement, value))
        return ()

    def _find_value(self, question: AnalyzedQuestion, passage: Passage) -> tuple[Statement, StatedValue] | None:
        """Return the only sentence that answers completely, with its only value; None if there is none."""
        found: list[tuple[Statement, frozenset[StatedValue]]] = []
        for sentence in _separate_sentences(passage):
            values = find_values(question, sentence.text)
            alone = Quotation(sentence.text, "")  # titles and headings tell too little of what a value is about
            if values and self._coverage.is_covered(question.text, [alone]):
                found.append((Statement(passage.id, sentence.text), values))
        if len(found) != 1 or len(found[0][1]) != 1:
            return None
        statement, (value,) = found[0]
        return statement, value


def _separate_sentences(passage: Passage) -> list[Quotation]:
    """Return each sentence with the text that it may refer to."""
    sentences = label_table_rows(split_sentences(passage.text))
    return [Quotation(text, find_context(sentences, at, passage.subject)) for at, text in enumerate(sentences)]


def _speak_of_different_things(question: AnalyzedQuestion, one: str, other: str) -> bool:
    """Return whether two sentences also state different dates or figures that are not asked for: version 2, in 2019."""
    kinds: tuple[AnswerType, ...] = ("time", "number")
    for kind in kinds:
        asked = replace(question, answer_type=kind)
        beside, beside_other = find_values(asked, one), find_values(asked, other)
        is_other = beside and beside_other and not any(agree(*pair) for pair in product(beside, beside_other))
        if kind != question.answer_type and is_other:
            return True
    return False


def _find_unmentioned_names(question: AnalyzedQuestion, passages: Sequence[Quotation]) -> tuple[str, ...]:
    """Return the names and figures that certainly occur in none of the passages, not even in another spelling.

    Korean and Chinese names are not recognized, only figures and names in Latin letters.
    """
    missing = [frozenset(find_gaps(question, passage, None).names) for passage in passages]
    if not missing or not (absent := frozenset.intersection(*missing)):
        return ()
    words = {word for passage in passages for word in _find_words(f"{passage.context} {passage.text}")}
    return tuple(name for name in sorted(absent, key=question.text.find) if not _may_occur(name, words))


def _find_words(text: str) -> Iterable[str]:
    return (re.sub(r"[.,·]", "", word) for word in re.findall(r"\w[\w.,·-]*", text.casefold()))


def _may_occur(name: str, words: Iterable[str]) -> bool:
    """Return whether a name may occur among the words in another form, or is too short to tell."""
    from rapidfuzz import fuzz

    if digits := re.sub(r"\D", "", name):
        return len(digits) < _MIN_DIGITS or any(digits in word for word in words)
    if len(name) < _MIN_LETTERS or name.isupper():  # an acronym may be spelt out
        return True
    low = name.casefold()
    return any(fuzz.ratio(low, word) >= _MIN_SIMILARITY or word.startswith(low) for word in words)
