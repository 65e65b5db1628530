"""Trained classifier of messages: which kind of question, or of small talk, a wording resembles.

`route_weights.tsv` holds two multinomial logistic regressions over runs of one to three words, pairs of words that
are apart, and runs of characters: one for the route, one for the kind of small talk. `benchmarks/train_routes.py` fits
them. Words that are not among their features, such as the subject of a question, all count as the same unknown word.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from crag.text.language import detect_language, find_tokens
from crag.types import Language, SmallTalk

WEIGHTS_FILE = Path(__file__).with_name("route_weights.tsv")
UNIT = 0.2
"""What a weight of 1 in the file adds to the log-odds of a label, before it is scaled by the number of features."""
DIGITS = "".join(chr(code) for code in range(ord("#"), ord("~") + 1) if chr(code) != "\\")
"""How weights are written, a sign each: the lowest first, zero in the middle."""
LIMIT = len(DIGITS) // 2
"""The highest weight."""
_LONGEST = 300  # characters; a longer message brings its own text
_UNKNOWN, _MAX_GAP = "_", 5
_MIN_STATEMENT_WORDS = 5
_RUNS = {"en": range(3, 6), "ko": range(1, 5), "zh": range(1, 5)}  # characters; English ones stay within a word
_ADDRESS = re.compile(  # the program, the person, or what is loaded
    r"\b(?:you|u|your|yours|yourself|ya|i|me|my)\b"
    r"|너|넌|네가|당신|챗봇|로봇|프로그램|에이아이|앱|시스템|여기|이거|이건|저는|나는|내 |제 |제가|내가|파일|문서|자료"
    r"|업로드|올린|데이터"
    r"|[你您](?![们們])|系[统統]|程序|程式|机器人|機器人|助手|[这這][个個里裡]|我|文件|文[档檔]|上[传傳]|[资資]料|[数數][据據]",
    re.IGNORECASE,
)
_REVISION = re.compile(  # wants the last answer in another form
    r"\b(?:shorter|longer|briefer|simpler|details?|detailed|table|bullets?|points?|list|sentences?|paragraphs?|words|summary"
    r"|english|korean|chinese|german|french)\b|짧게|길게|자세|표로|간단|요약|영어로|한국어로|중국어로|[简簡]短|[详詳][细細]|表格"
    r"|用[中英韩韓]文",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[,.;?!，。；？！、]+|\s[-–—/+&]\s|\b(?:and|plus|also|then)\b|(?<=[가-힣][고며데]) |그리고"
    r"|[还還]有|另外|[顺順]便|以及"
)
_ASKING = re.compile(  # in a clause
    r"\b(?:who|whom|whose|what|when|where|why|how|which|whether)\b"
    r"|^\s*(?:(?:so|also|if so|if not|or) )*"
    r"(?:is|are|was|were|do|does|did|can|could|will|would|should|must|may|have|has|had)\b"
    r"|누구|누가|무엇|뭐|뭘|뭔|언제|어디|얼마|왜|어떻|어떤|어느|몇|무슨|(?:나요|까요?|가요|는지|은지|던가|냐|니)$"
    r"|[谁誰]|什[么麼]|[几幾]|多[少久长長大高远遠]|怎|哪|[为為]何|何[时時]|[吗嗎呢]|是否|能否|([\u4e00-\u9fff])[不没沒]\1|[没沒]有?$"
)
_PROGRAM = re.compile(  # what an English question to the program speaks of
    r"\b(?:you|u|your|yours|yourself|ya|here|ask(?:ing|ed)?|apps?|chats?|bots?|files?|documents?|pdfs?|upload\w*|data"
    r"|conversations?|history|models?|internet|web|offline|online|languages?|program|software|ai)\b",
    re.IGNORECASE,
)
_SURE_QUESTION = 0.8
_KOREAN_PREDICATE = re.compile(r"(?:요|다|까|지|네|죠|냐|니|군|라|자|어|아|해|게|줘|지마|ㅋ+|ㅎ+|ㅠ+|ㅜ+)(?:\W|$)")
_KOREAN_WISH = re.compile(r"(?:알려|설명해|찾아|보여)\s?(?:줘|주세요|줄래|주실)")
_CHINESE_ADDRESS = re.compile("[你您我吗嗎呢吧啊呀哈嗯哦了谢謝聊好再别別瞎]")
_MARKS = re.compile("[,;:，、；：]")
_WORD = re.compile(r"[\w'’]+|[^\w\s]")


def extract_features(message: str, words: AbstractSet[str] | None = None) -> set[str]:
    """Return the features of a message. Words that are not in `words` are unknown; with None, all are known."""
    text, shown = " ".join(message.casefold().split()), ["^"]
    for _, token in find_tokens(text):
        word = "0" if token[0].isdigit() else token if words is None or token in words else _UNKNOWN
        if not word == shown[-1] == _UNKNOWN:
            shown.append(word)
    shown.append("$")
    found = {" ".join(shown[at : at + size]) for size in (1, 2, 3) for at in range(len(shown) - size + 1)}
    known = [word for word in shown if word != _UNKNOWN]
    found.update(f"&{one} {other}" for at, one in enumerate(known) for other in known[at + 2 : at + 1 + _MAX_GAP])
    language = detect_language(text)
    found.update(_character_runs(text, language))
    size = round(2 * math.log2(1 + len(text) / (2.5 if language == "en" else 1)))
    return found | {f"#{language}", f"#length {size}", *_clause_features(text, shown.count(_UNKNOWN))}


def known_words(features: AbstractSet[str]) -> frozenset[str]:
    """Return the words that occur in features."""
    return frozenset(word for name in features if name[0] not in "#@" for word in name.removeprefix("&").split())


def _character_runs(text: str, language: Language) -> Iterator[str]:
    bare = re.sub(r"[0-9]+", "0", text.strip(" .?!~。？！～"))
    for piece in [f" {word} " for word in _WORD.findall(bare)] if language == "en" else [f"^{bare}$"]:
        yield from (f"@{piece[at : at + size]}" for size in _RUNS[language] for at in range(len(piece) - size + 1))


def _clause_features(text: str, unknown: int) -> Iterator[str]:
    """Yield how many clauses there are, how many of them ask, and whether the program or the person is named."""
    clauses = [clause for clause in _CLAUSE_END.split(text) if clause.strip()]
    asking = min(sum(bool(_ASKING.search(clause)) for clause in clauses), 3)
    whom = "you" if _ADDRESS.search(text) else "none"
    yield from (f"#asking {asking}", f"#asking {asking} {min(len(clauses), 4)}", f"#asking {asking} {whom}")
    yield from (f"#{whom}", f"#{whom} {min(unknown, 4)}", f"#marks {min(len(_MARKS.findall(text)), 3)}")
    yield f"#questions {min(text.count('?') + text.count('？'), 2)}"


@dataclass(frozen=True, slots=True)
class _Model:
    labels: list[str]
    bias: list[float]
    weights: dict[str, list[int]]
    words: frozenset[str]

    def probabilities(self, features: AbstractSet[str]) -> dict[str, float]:
        """Return the probability of each label; weights count less the more features there are."""
        rows = [row for name in features if (row := self.weights.get(name))]
        scale = UNIT / math.sqrt(max(len(rows), 1))
        sums = [sum(column) for column in zip(*rows, strict=True)] or [0] * len(self.bias)
        odds = [start + scale * value for start, value in zip(self.bias, sums, strict=True)]
        shares = [math.exp(value - max(odds)) for value in odds]
        return {label: share / sum(shares) for label, share in zip(self.labels, shares, strict=True)}


@cache
def _load() -> tuple[_Model, _Model, frozenset[str]]:
    head, *lines = WEIGHTS_FILE.read_text("utf-8").rstrip("\n").split("\n")
    value = {sign: number - LIMIT for number, sign in enumerate(DIGITS)}
    models = [_Model(one["labels"], one["bias"], {}, frozenset(one.get("words", ()))) for one in json.loads(head)]
    for line in lines:
        name, *rows = line.split("\t")
        for model, row in zip(models, rows, strict=False):
            model.weights[name] = [value[sign] for sign in row]
    routes, talk = models
    return routes, talk, known_words(routes.weights.keys())


@lru_cache(maxsize=1000)
def classify_route(message: str) -> dict[str, float]:
    """Return the probability of each route and of `talk`; of a long message, that it asks for a fact."""
    if not message.strip() or len(message) > _LONGEST:
        return {"fact": 1.0}
    routes, _, words = _load()
    return routes.probabilities(extract_features(message, words))


@lru_cache(maxsize=1000)
def classify_small_talk(message: str, least: float) -> SmallTalk | None:
    """Return the likeliest kind of small talk; None if its share is less than `least`.

    None, too, of a wish for another form of the last answer ("shorter"), and of English with a word that was never part
    of small talk, or two of a longer statement.
    """
    share = classify_route(message).get("talk", 0.0)
    if share < least or _REVISION.search(message) or _names_only(message):
        return None
    if message.rstrip().endswith(("?", "？")):
        whom = _PROGRAM if message.isascii() else _ADDRESS
        if not whom.search(message) and (message.isascii() or share < _SURE_QUESTION):
            return None
    _, talk, words = _load()
    said = {token for _, token in find_tokens(message.casefold()) if token.isascii() and token.isalpha()}
    if len(said - talk.words) > ("?" not in message and len(message.split()) >= _MIN_STATEMENT_WORDS):
        return None
    kinds = talk.probabilities(extract_features(message, words))
    return cast("SmallTalk", max(kinds, key=lambda kind: kinds[kind]))


def _names_only(message: str) -> bool:
    """Return whether a Korean or Chinese message has no verb, as in 볼펜 재고, or wishes to be told about something."""
    language = detect_language(message)
    if language == "ko":
        return not _KOREAN_PREDICATE.search(message) or bool(_KOREAN_WISH.search(message))
    return language == "zh" and not _CHINESE_ADDRESS.search(message)
