"""Why a verdict is what it is, in one sentence of the question's language, with the passage's own words."""

from __future__ import annotations

from crag.errors import ModelFault
from crag.language import sentences, terms
from crag.prompts.language import Language
from crag.questions import Question
from crag.types import Grade

_LONGEST_REASON = 200  # characters
_ALIKE = 85  # of 100: a copied sentence with a slip or two, as rapidfuzz measures it
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
    """What is said where a model kept to no form, twice."""
    return Grade(None, _UNREADABLE[language])


def unjudged(fault: ModelFault) -> Grade:
    """What is said where a model failed in a way that may pass. Raises the fault where it will not."""
    raise_unless_passing(fault)
    return Grade(None, f"Could not be judged: {fault.message}")


def raise_unless_passing(fault: ModelFault) -> None:
    """Raises the fault where the person must act; others cost one passage its verdict, not the run."""
    if fault.fault != "passing":
        raise fault


def certainty(score: float, language: Language, sentence: str) -> str:
    """How sure a model is of yes or of no, and the sentence nearest to the question."""
    words = _SURE[language][score < 0.5].format(percent=round(100 * max(score, 1 - score)))
    return quoted(words, sentence)


def points(score: float, language: Language, sentence: str) -> str:
    """How many of nine points a model gave, and the sentence nearest to the question."""
    return quoted(_POINTS[language].format(points=round(9 * score)), sentence)


def quoted(words: str, sentence: str) -> str:
    """A reason and the sentence it rests on, where there is one."""
    return f"{words.rstrip('.。')}: “{shortened(sentence)}”" if sentence else words


def shortened(text: str) -> str:
    """A text on one line, of at most 200 characters, without half surrogates and NUL, which no database can hold."""
    line = " ".join(text.encode("utf-8", "ignore").decode().replace("\x00", "").split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1].rsplit(" ", 1)[0] + "…"


def nearest_sentence(question: Question, text: str) -> str:
    """The sentence of a text that covers most of the question; empty where there is none."""
    return max(sentences(text), key=lambda sentence: question.covered(terms(sentence)), default="")


def find_sentence(claimed: str, text: str) -> str:
    """The sentence of `text` that a model meant to copy, as the text has it; empty when there is none like it."""
    from rapidfuzz import fuzz, process, utils

    found = process.extractOne(
        claimed, sentences(text), scorer=fuzz.ratio, processor=utils.default_process, score_cutoff=_ALIKE
    )
    return str(found[0]) if found else _find_part(claimed, text)


def _find_part(claimed: str, text: str) -> str:
    """A sentence that was copied in part, at least a third of it."""
    from rapidfuzz import fuzz, utils

    for sentence in sentences(text):
        enough = len(sentence) <= 3 * len(claimed) and len(claimed) <= 3 * len(sentence)
        if enough and fuzz.partial_ratio(claimed, sentence, processor=utils.default_process) >= _ALIKE:
            return sentence
    return ""
