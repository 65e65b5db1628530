"""Trained classifier of messages: which kind of question, or of small talk, a wording resembles.

`route_weights.json` holds two multinomial logistic regressions over runs of one to three words, pairs of words that
are apart, and runs of characters: one for the route, one for the kind of small talk. `benchmarks/train_routes.py` fits
them. Words that are not among their features, such as the subject of a question, all count as the same unknown word.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from crag.text.language import detect_language, find_tokens
from crag.types import Language, SmallTalk

WEIGHTS_FILE = Path(__file__).with_name("route_weights.json")
UNIT = 0.05
"""What a weight of 1 in the file adds to the log-odds of a label, before it is scaled by the number of features."""
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
_ASKS = re.compile(
    r"[?？吗嗎呢]\W*$|[什甚][么麼]|[几幾]|多少|怎|哪|谁|誰|(?:나요|까요?|가요|니|냐|지요|죠|나)\W*$|뭐|몇|언제|어디|어떻|어떤"
)
_REVISION = re.compile(  # wants the last answer in another form
    r"\b(?:shorter|longer|briefer|simpler|details?|detailed|table|bullets?|points?|list|sentences?|paragraphs?|words|summary"
    r"|english|korean|chinese|german|french)\b|짧게|길게|자세|표로|간단|요약|영어로|한국어로|중국어로|[简簡]短|[详詳][细細]|表格"
    r"|用[中英韩韓]文",
    re.IGNORECASE,
)
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
    marks, questions = len(_MARKS.findall(text)), text.count("?") + text.count("？")
    size = round(2 * math.log2(1 + len(text) / (2.5 if language == "en" else 1)))
    return found | {f"#{language}", f"#length {size}", f"#marks {min(marks, 3)}", f"#questions {min(questions, 2)}"}


def known_words(features: AbstractSet[str]) -> frozenset[str]:
    """Return the words that occur in features."""
    return frozenset(word for name in features if name[0] not in "#@" for word in name.removeprefix("&").split())


def _character_runs(text: str, language: Language) -> Iterator[str]:
    bare = re.sub(r"[0-9]+", "0", text.strip(" .?!~。？！～"))
    for piece in [f" {word} " for word in _WORD.findall(bare)] if language == "en" else [f"^{bare}$"]:
        yield from (f"@{piece[at : at + size]}" for size in _RUNS[language] for at in range(len(piece) - size + 1))


@dataclass(frozen=True, slots=True)
class _Model:
    labels: list[str]
    bias: list[float]
    weights: dict[str, list[int]]
    words: Sequence[str] = ()

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
    data = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    routes, talk = _Model(**data["route"]), _Model(**data["talk"])
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

    None, too, of a single English word, of a wish for another form of the last answer ("shorter"), and of a question
    that does not address the program. In English, None also if a word was never part of small talk, or two of a longer
    statement.
    """
    if classify_route(message).get("talk", 0.0) < least or _REVISION.search(message):
        return None
    if message.isascii() and len(message.split()) == 1:
        return None
    if _ASKS.search(message) and not _ADDRESS.search(message):
        return None
    _, talk, words = _load()
    said = {token for _, token in find_tokens(message.casefold()) if token.isascii() and token.isalpha()}
    if len(said - set(talk.words)) > ("?" not in message and len(message.split()) >= _MIN_STATEMENT_WORDS):
        return None
    kinds = talk.probabilities(extract_features(message, words))
    return cast("SmallTalk", max(kinds, key=lambda kind: kinds[kind]))
