"""Reasons for verdicts: one sentence in the question's language, quoting the passage."""

from __future__ import annotations

from crag.errors import ModelFault
from crag.language import sentences, terms
from crag.prompts.language import Language
from crag.questions import Question
from crag.types import Grade

_LONGEST_REASON = 200  # characters
_ALIKE = 85  # rapidfuzz ratio of 100 that tolerates a slip or two in a copied sentence
_UNREADABLE: dict[Language, str] = {
    "en": "The grader's reply could not be read; kept as ambiguous.",
    "ko": "채점 모델의 답을 읽을 수 없어 애매한 것으로 둡니다.",
    "zh": "无法读懂评分模型的回复，暂按不确定处理。",
}
_SURE: dict[Language, tuple[str, str]] = {
    "en": ("{percent} % sure that this answers", "{percent} % sure that this does not answer; nearest"),
    "ko": ("답이 들어 있다고 {percent}% 확신", "답이 없다고 {percent}% 확신, 가장 가까운 문장"),
    "zh": ("有 {percent}% 的把握认为含有答案", "有 {percent}% 的把握认为不含答案；最接近的句子"),
}
_POINTS: dict[Language, str] = {
    "en": "{points} of 9 points; nearest",
    "ko": "9점 만점에 {points}점, 가장 가까운 문장",
    "zh": "9 分中得 {points} 分；最接近的句子",
}


def unreadable(language: Language) -> Grade:
    """Return the grade for a model whose reply was unreadable twice."""
    return Grade(None, _UNREADABLE[language])


def unjudged(fault: ModelFault) -> Grade:
    """Return the grade after a transient model fault. Raises any other fault."""
    raise_unless_passing(fault)
    return Grade(None, f"Could not be judged: {fault.message}")


def raise_unless_passing(fault: ModelFault) -> None:
    """Raise a fault that requires the user to act; a transient one costs a verdict, not the run."""
    if fault.fault != "passing":
        raise fault


def certainty(score: float, language: Language, sentence: str) -> str:
    """Return a reason with the model's confidence in yes or no, and the sentence nearest to the question."""
    words = _SURE[language][score < 0.5].format(percent=round(100 * max(score, 1 - score)))
    return quoted(words, sentence)


def points(score: float, language: Language, sentence: str) -> str:
    """Return a reason with the points given, and the sentence nearest to the question."""
    return quoted(_POINTS[language].format(points=round(9 * score)), sentence)


def quoted(words: str, sentence: str) -> str:
    """Append the sentence that the reason rests on, if any."""
    return f"{words.rstrip('.。')}: “{shortened(sentence)}”" if sentence else words


def shortened(text: str) -> str:
    """Return the text on one line of at most 200 characters.

    Lone surrogates and NUL are removed: no database stores them.
    """
    line = " ".join(text.encode("utf-8", "ignore").decode().replace("\x00", "").split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1].rsplit(" ", 1)[0] + "…"


def nearest_sentence(question: Question, text: str) -> str:
    """Return the sentence that covers most of the question; empty if there is none."""
    return max(sentences(text), key=lambda sentence: question.covered(terms(sentence)), default="")


def find_sentence(claimed: str, text: str) -> str:
    """Return the sentence of `text` that a model meant to copy, as written in the text; empty if none is similar."""
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(
        claimed, sentences(text), scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=_ALIKE
    )
    return str(found[0]) if found else _find_part(claimed, text)


def _find_part(claimed: str, text: str) -> str:
    """Return a sentence that was partly copied, at least a third of it."""
    from rapidfuzz import fuzz, utils

    for sentence in sentences(text):
        enough = len(sentence) <= 3 * len(claimed) and len(claimed) <= 3 * len(sentence)
        if enough and fuzz.partial_ratio(claimed, sentence, processor=utils.default_process) >= _ALIKE:
            return sentence
    return ""
