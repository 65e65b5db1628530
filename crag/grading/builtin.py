"""Built-in grader: a trained scorer on lexical features, with its reasons in words. Needs no model server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crag.cancellation import Cancellation
from crag.prompts import fill_template
from crag.protocols import Embedder
from crag.text.language import detect_written_language, extract_key_words, join_sentences
from crag.text.questions import AnalyzedQuestion, AnswerType, TermStatistics, analyze_question, answer_type_score
from crag.text.relevance_features import TokenizedText, find_best_window, tokenize_text
from crag.text.relevance_scores import fitted_thresholds, score_passages, weights_fingerprint
from crag.types import Grade, Passage, Thresholds, WrittenLanguage

_MAX_LISTED_WORDS = 4
_MAX_WORD_CHARS = 40  # characters
_REASON_TEXTS: dict[WrittenLanguage, dict[str, str]] = {
    "en": {
        "no words": "The question has no key words to look for.",
        "nothing": "Says nothing of $words.",
        "held": "Names $words; best sentences cover $count of $total key words",
        "lacking": "$reason; nothing of $words.",
        "time": "$reason, but gives no date.",
        "number": "$reason, but gives no number.",
        "person": "$reason, but names nobody else.",
        "end": "$reason.",
        "comma": ", ",
        "and": " and ",
    },
    "ko": {
        "no words": "질문에 찾아볼 핵심어가 없습니다.",
        "nothing": "핵심어 $words에 대한 내용이 없습니다.",
        "held": "핵심어 $words 언급, 가장 알맞은 문장에 핵심어 $total개 중 $count개",
        "lacking": "$reason, $words에 대한 내용은 없음.",
        "time": "$reason, 그러나 날짜가 없음.",
        "number": "$reason, 그러나 숫자가 없음.",
        "end": "$reason.",
        "comma": ", ",
        "and": ", ",
    },
    "zh": {
        "no words": "问题中没有可以查找的关键词。",
        "nothing": "没有提到$words。",
        "held": "提到$words；最相关的句子含有$total个关键词中的$count个",
        "lacking": "$reason，没有提到$words。",
        "time": "$reason，但没有给出日期。",
        "number": "$reason，但没有给出数字。",
        "end": "$reason。",
        "comma": "、",
        "and": "和",
    },
    "zh-Hant": {
        "no words": "問題中沒有可以查找的關鍵詞。",
        "nothing": "沒有提到$words。",
        "held": "提到$words；最相關的句子含有$total個關鍵詞中的$count個",
        "lacking": "$reason，沒有提到$words。",
        "time": "$reason，但沒有給出日期。",
        "number": "$reason，但沒有給出數字。",
        "end": "$reason。",
        "comma": "、",
        "and": "和",
    },
}


def explain_grade(question: AnalyzedQuestion, passage: TokenizedText) -> str:
    """Return one short sentence on what the passage covers and lacks, in the question's language."""
    texts = _REASON_TEXTS[detect_written_language(question.text)]
    asked = extract_key_words(question.text)
    every = passage.around.union(*passage.terms)
    held = [word for word, parts in asked if _holds_most_terms(parts, every)]
    lacking = [word for word, parts in asked if not _holds_most_terms(parts, every)]
    if not asked:
        return texts["no words"]
    if not held:
        return fill_template(texts["nothing"], words=_list_words(lacking, texts))
    at, _ = find_best_window(question, passage)
    window = passage.windows()[at] if passage.terms else passage.around
    count = sum(_holds_most_terms(parts, window) for _, parts in asked)
    reason = fill_template(texts["held"], words=_list_words(held, texts), count=str(count), total=str(len(asked)))
    if lacking:
        return fill_template(texts["lacking"], reason=reason, words=_list_words(lacking, texts))
    unfit = answer_type_score(question, join_sentences(passage.sentences[at : at + 2])) < 0
    return fill_template(texts[_lacking_key(question.answer_type, texts) if unfit else "end"], reason=reason)


def _lacking_key(kind: AnswerType, texts: dict[str, str]) -> str:
    return kind if kind in texts else "end"


def _holds_most_terms(parts: Sequence[str], terms: frozenset[str]) -> bool:
    """Return whether half of a word's terms are present: Korean word endings vary with their grammatical role."""
    return 2 * sum(part in terms for part in parts) >= len(parts)


def _list_words(words: Sequence[str], texts: dict[str, str]) -> str:
    *others, last = list(dict.fromkeys(word[:_MAX_WORD_CHARS] for word in words))[:_MAX_LISTED_WORDS]
    return texts["and"].join([texts["comma"].join(others), last]) if others else last


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
        for index, (score, reading) in enumerate(zip(scores, readings, strict=True)):
            stop.check()
            yield index, Grade(score, explain_grade(asked, reading))
