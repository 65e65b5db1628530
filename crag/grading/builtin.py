"""Built-in grader: a trained scorer on lexical features, with its reasons in words. Needs no model server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from crag.cancellation import Cancellation
from crag.prompts import fill_template
from crag.protocols import Embedder
from crag.text.coverage import is_complete
from crag.text.language import detect_written_language, extract_key_words, join_sentences
from crag.text.questions import AnalyzedQuestion, TermStatistics, analyze_question, answer_type_score
from crag.text.relevance_features import TokenizedText, find_best_window, tokenize_text
from crag.text.relevance_scores import fitted_thresholds, score_passages, weights_fingerprint
from crag.types import Grade, Passage, Thresholds, WrittenLanguage

_MAX_LISTED_WORDS = 4
_MAX_WORD_CHARS = 40  # characters
_REASON_TEXTS: dict[WrittenLanguage, dict[str, str]] = {
    "en": {
        "no words": "The question names nothing to look for.",
        "nothing": "Does not mention $words.",
        "part": "Covers $held; does not mention $missing.",
        "apart": "Mentions $held, but not together.",
        "covered": "Covers $held.",
        "time": "Covers $held and gives a date.",
        "number": "Covers $held and gives a number.",
        "person": "Covers $held and names someone.",
        "no time": "Covers $held, but gives no date.",
        "no number": "Covers $held, but gives no number.",
        "no person": "Covers $held, but names nobody.",
        "quoted": "“$word”",
        "comma": ", ",
        "and": " and ",
        "or": " or ",
    },
    "ko": {
        "no words": "질문에 찾아볼 말이 없습니다.",
        "nothing": "$words에 대한 내용이 없습니다.",
        "part": "$held에 대한 내용은 있지만 $missing에 대한 내용은 없습니다.",
        "apart": "$held 모두 나오지만 한곳에서 함께 다루지 않습니다.",
        "covered": "$held에 대한 내용이 있습니다.",
        "time": "$held에 대한 내용과 날짜가 있습니다.",
        "number": "$held에 대한 내용과 숫자가 있습니다.",
        "no time": "$held에 대한 내용은 있지만 날짜가 없습니다.",
        "no number": "$held에 대한 내용은 있지만 숫자가 없습니다.",
        "quoted": "‘$word’",
        "comma": ", ",
        "and": ", ",
        "or": ", ",
    },
    "zh": {
        "no words": "问题中没有可以查找的词。",
        "nothing": "没有提到$words。",
        "part": "提到$held，没有提到$missing。",
        "apart": "提到$held，但不在一处。",
        "covered": "谈到$held。",
        "time": "谈到$held，并给出日期。",
        "number": "谈到$held，并给出数字。",
        "no time": "谈到$held，但没有给出日期。",
        "no number": "谈到$held，但没有给出数字。",
        "quoted": "“$word”",
        "comma": "、",
        "and": "和",
        "or": "和",
    },
    "zh-Hant": {
        "no words": "問題中沒有可以查找的詞。",
        "nothing": "沒有提到$words。",
        "part": "提到$held，沒有提到$missing。",
        "apart": "提到$held，但不在一處。",
        "covered": "談到$held。",
        "time": "談到$held，並給出日期。",
        "number": "談到$held，並給出數字。",
        "no time": "談到$held，但沒有給出日期。",
        "no number": "談到$held，但沒有給出數字。",
        "quoted": "「$word」",
        "comma": "、",
        "and": "和",
        "or": "和",
    },
}
_TIME_OF_DAY = re.compile(
    r"\b\d{1,2}:\d\d\b|\b\d{1,2} ?(?:am|pm|a\.m\.|p\.m\.)|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b",
    re.IGNORECASE,
)


def explain_grade(question: AnalyzedQuestion, passage: TokenizedText) -> str:
    """Return one short sentence on what the passage covers and lacks, in the question's language."""
    texts = _REASON_TEXTS[detect_written_language(question.text)]
    asked = extract_key_words(question.text)
    every = passage.around.union(*passage.terms)
    held = [word for word, parts in asked if _holds_most_terms(parts, every)]
    missing = [word for word, parts in asked if not _holds_most_terms(parts, every)]
    if not asked:
        return texts["no words"]
    if not held:
        return fill_template(texts["nothing"], words=_list_words(missing, texts, "or"))
    at, _ = find_best_window(question, passage)
    key = "part" if missing else _coverage_key(question, passage, at)
    return fill_template(
        texts.get(key, texts["covered"]),
        held=_list_words(held, texts, "and"),
        missing=_list_words(missing, texts, "or") if missing else "",
    )


def _coverage_key(question: AnalyzedQuestion, passage: TokenizedText, at: int) -> str:
    """Return whether the best sentences, from index `at`, hold every key word and the kind of answer asked for."""
    window = passage.windows()[at] if passage.terms else passage.around
    if not all(_holds_most_terms(parts, window) for _, parts in extract_key_words(question.text)):
        return "apart"
    text = join_sentences(passage.sentences[at : at + 2])
    fit = answer_type_score(question, text)
    if question.answer_type == "time" and fit < 0 and _TIME_OF_DAY.search(text):
        return "covered"  # opening hours answer “when”, too
    return question.answer_type if fit > 0 else f"no {question.answer_type}" if fit < 0 else "covered"


def _holds_most_terms(parts: Sequence[str], terms: frozenset[str]) -> bool:
    """Return whether half of a word's terms are present: Korean word endings vary with their grammatical role."""
    return 2 * sum(part in terms for part in parts) >= len(parts)


def _list_words(words: Sequence[str], texts: dict[str, str], joint: Literal["and", "or"]) -> str:
    """Return the first words in quotation marks, as in “built”, “Halden” and “lighthouse”."""
    listed = list(dict.fromkeys(word[:_MAX_WORD_CHARS] for word in words))[:_MAX_LISTED_WORDS]
    *others, last = (fill_template(texts["quoted"], word=word) for word in listed)
    return texts[joint].join([texts["comma"].join(others), last]) if others else last


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
        readings = [tokenize_text(passage.text, f"{passage.title} {passage.heading}") for passage in passages]
        texts = [passage.text for passage in passages]
        sources = [passage.source_id or passage.location or str(passage.id) for passage in passages]
        scores = score_passages(asked, list(zip(texts, readings, strict=True)), self._embedder, sources)
        found = False
        for index, (score, reading) in enumerate(zip(scores, readings, strict=True)):
            stop.check()
            complete = None
            if score >= self.thresholds.upper and not found:  # one complete passage is enough
                complete = found = is_complete(asked, reading, self._embedder)
            yield index, Grade(score, explain_grade(asked, reading), complete=complete)
