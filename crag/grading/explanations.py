"""Reasons of the built-in grader, in the language of the question."""

from __future__ import annotations

from collections.abc import Sequence

from crag.candidates import fitting
from crag.features import Reading, best_window
from crag.language import join, key_words
from crag.prompts import fill
from crag.prompts.language import Written, detect_written
from crag.questions import Kind, Question

_MOST_WORDS = 4
_LONGEST_WORD = 40  # characters
_TEXTS: dict[Written, dict[str, str]] = {
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


def explain(question: Question, reading: Reading) -> str:
    """Return one short sentence on what the passage covers and lacks, in the question's language."""
    texts = _TEXTS[detect_written(question.text)]
    asked = key_words(question.text)
    every = reading.around.union(*reading.terms)
    held = [word for word, parts in asked if _mostly(parts, every)]
    lacking = [word for word, parts in asked if not _mostly(parts, every)]
    if not asked:
        return texts["no words"]
    if not held:
        return fill(texts["nothing"], words=_listed(lacking, texts))
    at, _ = best_window(question, reading)
    window = reading.windows()[at] if reading.terms else reading.around
    count = sum(_mostly(parts, window) for _, parts in asked)
    reason = fill(texts["held"], words=_listed(held, texts), count=str(count), total=str(len(asked)))
    if lacking:
        return fill(texts["lacking"], reason=reason, words=_listed(lacking, texts))
    unfit = fitting(question, join(reading.sentences[at : at + 2])) < 0
    return fill(texts[_lack(question.kind, texts) if unfit else "end"], reason=reason)


def _lack(kind: Kind, texts: dict[str, str]) -> str:
    return kind if kind in texts else "end"


def _mostly(parts: Sequence[str], held: frozenset[str]) -> bool:
    """Return whether half of a word's terms are present: Korean word endings vary with their grammatical role."""
    return 2 * sum(part in held for part in parts) >= len(parts)


def _listed(words: Sequence[str], texts: dict[str, str]) -> str:
    *others, last = list(dict.fromkeys(word[:_LONGEST_WORD] for word in words))[:_MOST_WORDS]
    return texts["and"].join([texts["comma"].join(others), last]) if others else last
